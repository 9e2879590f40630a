"""From a request of a browser to a page and back: who looks, own forms only, and strict headers."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from functools import partial
from importlib.resources import files
from typing import Any, Final

import msgspec
from msgspec import Struct
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from beliefd.console.asking import Asker, Server
from beliefd.console.forms import (
    MAX_FORM,
    MAX_SIGN_IN,
    asked_place,
    form_of,
    refuse_other_origins,
    sign_in_place,
)
from beliefd.console.questions import Questions, Reading
from beliefd.console.rendering import now, page
from beliefd.console.visits import Visits, begun_cookie, cookie_in, cookie_name, set_cookie
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Role
from beliefd.protocol.statuses import STATUS
from beliefd.protocol.wire import is_longer
from beliefd.steward.call import Caller
from beliefd.steward.failures import translated
from beliefd.steward.offload import offload
from beliefd.steward.signin.pages import ProviderPages
from beliefd.steward.signin.settings import Issuer

log = logging.getLogger("beliefd.console")
HTML: Final = "text/html; charset=utf-8"
CLIENT_GONE: Final = 499
SHOWN: Final = 200
"""Characters of an address that is repeated."""
LARGE: Final = 64 * 1024
"""Bytes. A page of more is rendered beside the event loop, so that others are answered meanwhile."""
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SAFE: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    # Not `no-referrer`: browsers would send forms of our own pages with the origin `null`.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
PLACES: Final = (
    ("Inbox", "/inbox", True),
    ("Sessions", "/sessions", True),
    ("Propositions", "/propositions", True),
    ("Policy", "/policy", True),
    ("Audit", "/audit", True),
    ("Access", "/access", False),
)
"""Where the navigation leads, and whether that is for everybody or for administrators."""
ASSETS: Final = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


class Seen(Struct, frozen=True):
    """What a page is made of: a template and its values, or another place to go to."""

    template: str = ""
    values: Mapping[str, Any] = {}
    status: int = 200
    location: str = ""


class Visitor(Struct, frozen=True):
    """A request by somebody who is signed in."""

    asker: Asker
    path: dict[str, str]
    query: dict[str, str]
    form: dict[str, str]
    questions: Questions = msgspec.field(default_factory=Questions)

    async def ask_at_length(
        self, name: str, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> Any | Reading:
        """What takes a whole ledger to answer: the answer, or how far it is."""
        asker = self.asker
        # With all rights: INVARIANT: who has lost one is not given what was begun with it.
        key = msgspec.json.encode([asker.caller, name, self.path, query, body], order="sorted")
        ask = partial(asker.ask, name, self.path, query, body)
        return await self.questions.of(asker.principal.id, key, ask)


API: Final = "/v1/"


class Mistyped(Route):
    """What no other route has, for browsers: programs are told in the one shape of errors, and so is whoever
    asks the API, whatever they accept."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        wanted = scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")
        reads = wanted and scope["method"] in ("GET", "HEAD") and not scope["path"].startswith(API)
        return super().matches(scope) if reads else (Match.NONE, {})


class Held(Struct, frozen=True):
    """An answer, and what is given back after its last byte."""

    answer: ASGIApp
    under_way: ExitStack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self.under_way:
            await self.answer(scope, receive, send)


Page = Callable[[Visitor], Awaitable[Seen]]
Answering = Callable[[Request, ExitStack], Awaitable[ASGIApp]]
Hold = Callable[[int], None]


class Console:
    """The pages of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.visits = Visits(server.authenticator)
        self._providers = ProviderPages()
        self._questions = Questions()

    def routes(self, pages: Mapping[tuple[str, str], Page]) -> list[BaseRoute]:
        """`pages` by method and path; beside them what everybody may have."""
        others: dict[tuple[str, str], Answering] = {
            ("GET", "/static/{name}"): self._asset,
            ("GET", "/sign-in"): self._sign_in,
            ("POST", "/sign-in"): self._sign_in,
            ("GET", "/sign-in/{name}"): self._to_provider,
            ("GET", "/sign-in/{name}/back"): self._from_provider,
            ("POST", "/sign-out"): self._sign_out,
            ("GET", "/live"): self._live,
            ("GET", "/sessions/{session_id}/live"): self._session_live,
            ("GET", "/sessions/{session_id}/export"): self._export,
        }
        made: dict[tuple[str, str], Answering] = {
            place: partial(self._shown, one) for place, one in pages.items()
        }
        return [
            *(
                Route(path, self._guarded(answering, path), methods=[method])
                for (method, path), answering in {**others, **made}.items()
            ),
            Mistyped("/{place:path}", self._guarded(self._mistyped, "/{place}"), methods=["GET"]),
        ]

    def _guarded(self, answering: Answering, path: str) -> Callable[[Request], Awaitable[Response]]:
        """Whatever fails is a page; of somebody who has left, nothing is told.

        Every request is observed under the pattern of its path: no id is in a label or in a line of a log.
        """

        async def endpoint(request: Request) -> Response:
            started = time.perf_counter()
            with ExitStack() as under_way:
                try:
                    answer = await answering(request, under_way)
                except ClientDisconnect:
                    answer = Response(status_code=CLIENT_GONE)
                except Exception as error:
                    answer = _failed(_known(error), None)
                status = getattr(answer, "status_code", 200)
                self._server.observe(f"{request.method} {path}", status, time.perf_counter() - started)
                return Held(answer, under_way.pop_all())  # type: ignore[return-value]

        return endpoint

    async def _shown(self, made: Page, request: Request, under_way: ExitStack) -> ASGIApp:
        if request.method == "POST":
            refuse_other_origins(request)
        # Nothing is read of a form before it is known whose it is.
        asker = await self._asker(request)
        if asker is None:
            return _elsewhere(sign_in_place(request))
        hold = under_way.enter_context(self._server.request_of(request.scope, asker.principal))
        try:
            form = await form_of(request, MAX_FORM, hold) if request.method == "POST" else {}
            asked = dict(request.path_params), dict(request.query_params), form
            visitor = Visitor(asker, *asked, self._questions)
            return await _rendered(await made(visitor), asker, hold)
        except ClientDisconnect:
            raise
        except Exception as error:
            return _failed(_known(error), asker)

    async def _asker(self, request: Request) -> Asker | None:
        caller = await self.visits.caller(_cookie(request))
        return None if caller is None else Asker(self._server, caller)

    async def _mistyped(self, request: Request, _: ExitStack) -> ASGIApp:
        error = BeliefdError(Code.NOT_FOUND, f"there is no page `{request.url.path[:SHOWN]}`")
        return _failed(error, await self._asker(request))

    async def _asset(self, request: Request, _: ExitStack) -> ASGIApp:
        name = request.path_params["name"]
        if name not in ASSETS:
            return _failed(BeliefdError(Code.NOT_FOUND, "no such file"), None)
        headers = {**SAFE, "cache-control": "no-cache"}
        return Response(asset(name), media_type=ASSETS[name], headers=headers)

    async def _sign_in(self, request: Request, _: ExitStack) -> ASGIApp:
        """By the link that the server printed, or by a token; each gives a cookie."""
        place, problem, cookie = asked_place(request), "", None
        try:
            if request.method == "POST":
                form = await form_of(request, MAX_SIGN_IN)
                cookie = await self.visits.sign_in(form.get("token", ""))
            elif request.method == "GET" and (key := request.query_params.get("key")):
                # A program that only looks whether a link works (HEAD) does not use it up.
                cookie = await self.visits.sign_in_by_link(key)
                if cookie is None and await self._asker(request) is not None:
                    return _elsewhere(place)
                problem = "" if cookie else "This link was used before, or is too old."
        except BeliefdError as error:
            if error.code is not Code.UNAUTHORIZED:
                raise
            problem = error.message
        if cookie is not None:
            return _elsewhere(place, _set_cookie(request, cookie))
        values = {"problem": problem, "next": place, "providers": sorted(self._with_pages())}
        return _page("sign_in.html", values, None, 401 if problem else 200)

    def _with_pages(self) -> dict[str, Issuer]:
        found = self._server.runtime.sign_in
        return {} if found is None else found.with_pages()

    async def _to_provider(self, request: Request, _: ExitStack) -> ASGIApp:
        """To the page of an identity provider, and from there back here."""
        name = request.path_params["name"]
        issuer = self._with_pages().get(name)
        if issuer is None:
            raise BeliefdError(Code.NOT_FOUND, "no such provider")
        back = f"{request.url.scheme}://{request.headers.get('host', '')}/sign-in/{name}/back"
        location, bound = await self._providers.begin(issuer, back, asked_place(request))
        cookie = begun_cookie(_begun_name(request), bound, secure=request.url.scheme == "https")
        return _elsewhere(location, cookie)

    async def _from_provider(self, request: Request, _: ExitStack) -> ASGIApp:
        """INVARIANT: a page, and no redirection: browsers send our cookie on ways that begin here only."""
        bound = cookie_in(request.headers.get("cookie", ""), _begun_name(request))
        token, place = await self._providers.finish(request.query_params, bound)
        cookie = await self.visits.sign_in(token)
        made = _page("signed_in.html", {"next": place}, None, 200)
        made.headers["set-cookie"] = _set_cookie(request, cookie)
        return made

    async def _sign_out(self, request: Request, _: ExitStack) -> ASGIApp:
        await form_of(request, MAX_SIGN_IN)
        self.visits.end(_cookie(request))
        return _elsewhere("/sign-in", _set_cookie(request, ""))

    async def _live(self, request: Request, under_way: ExitStack) -> ASGIApp:
        """What changes in the inbox, as it changes."""
        judge = partial(self._still, _cookie(request))
        asker = Asker(self._server, await judge())
        return await asker.follow("follow_inbox", request.scope, judge, under_way)

    async def _session_live(self, request: Request, under_way: ExitStack) -> ASGIApp:
        """What is appended to a ledger from now on."""
        judge = partial(self._still, _cookie(request))
        asker, path = Asker(self._server, await judge()), dict(request.path_params)
        now = await asker.ask("query_belief", path, {"survivors_limit": 0})
        return await asker.follow("events", request.scope, judge, under_way, path, str(now.seq))

    async def _export(self, request: Request, under_way: ExitStack) -> ASGIApp:
        """A ledger as a file, for any verifier."""
        judge = partial(self._still, _cookie(request))
        asker = Asker(self._server, await judge())
        return await asker.follow("export", request.scope, judge, under_way, dict(request.path_params))

    async def _still(self, cookie: str | None) -> Caller:
        """Whose visit it is. INVARIANT: what lasts is cut when the visit ends, or its token."""
        caller = await self.visits.caller(cookie)
        if caller is None:
            raise BeliefdError(Code.UNAUTHORIZED, "nobody is signed in")
        return caller


def _known(error: Exception) -> BeliefdError:
    known = translated(error)
    if isinstance(known, BeliefdError):
        return known
    log.error("a page could not be made", exc_info=error)
    return BeliefdError(Code.INTERNAL, "something went wrong; the server's log says what")


async def _rendered(seen: Seen, asker: Asker, hold: Hold) -> Response:
    if seen.location:
        return _elsewhere(seen.location)
    values = {**seen.values, **_about(asker)}
    # Who has decided is told so: one principal's share of this queue is never full.
    body = await offload(is_longer(values, LARGE), page, seen.template, values, kind="fold")
    if len(body) > LARGE:
        hold(len(body))
    return Response(body, seen.status, SAFE, HTML)


def _failed(error: BeliefdError, asker: Asker | None) -> Response:
    if error.code is Code.UNAUTHORIZED:
        values = {"problem": error.message, "next": "/inbox", "providers": []}
        return _page("sign_in.html", values, None, 401)
    details = error.details or {}
    told = {"code": error.code.value, "message": error.message, "details": details}
    made = _page("problem.html", told, asker, STATUS[error.code])
    if "retry_after" in details:
        made.headers["retry-after"] = str(details["retry_after"])
    return made


def _cookie(request: Request) -> str | None:
    return cookie_in(request.headers.get("cookie", ""), cookie_name(request.scope.get("server")))


def _set_cookie(request: Request, value: str) -> str:
    name = cookie_name(request.scope.get("server"))
    return set_cookie(name, value, secure=request.url.scheme == "https")


def _begun_name(request: Request) -> str:
    return f"{cookie_name(request.scope.get('server'))}_begun"


def asset(name: str) -> bytes:
    return (files("beliefd.console") / "static" / name).read_bytes()


def _about(asker: Asker | None) -> dict[str, Any]:
    who = None if asker is None else asker.principal
    shown = [(name, path) for name, path, for_all in PLACES if for_all or (who and who.role is Role.ADMIN)]
    return {"who": who, "now": now(), "places": shown}


def _page(template: str, values: Mapping[str, Any], asker: Asker | None, status: int) -> Response:
    return Response(page(template, {**values, **_about(asker)}), status, SAFE, HTML)


def _elsewhere(location: str, cookie: str = "") -> Response:
    headers = {**SAFE, "location": location}
    return Response(b"", 303, headers | ({"set-cookie": cookie} if cookie else {}))
