"""From a request of a browser to a page and back: who looks, own forms only, and strict headers."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from msgspec import Struct
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from beliefd.console.asking import Asker, Server
from beliefd.console.rendering import now, page
from beliefd.console.visits import Visits, cookie_of, set_cookie
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.statuses import STATUS
from beliefd.steward.failures import translated

log = logging.getLogger("beliefd.console")
HTML: Final = "text/html; charset=utf-8"
MAX_FORM: Final = 2 * 1024 * 1024
MAX_FIELDS: Final = 1_000
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


Page = Callable[[Visitor], Awaitable[Seen]]


class Console:
    """The pages of one server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.visits = Visits(server.authenticator)

    def routes(self, pages: Mapping[tuple[str, str], Page]) -> list[BaseRoute]:
        """`pages` by method and path; beside them what everybody may have."""
        return [
            Route("/static/{name}", self._asset, methods=["GET"]),
            Route("/sign-in", self._sign_in, methods=["GET", "POST"]),
            Route("/sign-out", self._sign_out, methods=["POST"]),
            Route("/live", self._live, methods=["GET"]),
            *(Route(path, self._shown(made), methods=[method]) for (method, path), made in pages.items()),
        ]

    def _shown(self, made: Page) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                form = await form_of(request) if request.method == "POST" else {}
                asker = await self._asker(request)
            except BeliefdError as error:
                return self._failed(error, None)
            if asker is None:
                return _elsewhere(f"/sign-in?next={quote(_own_place(request), safe='')}")
            visitor = Visitor(asker, dict(request.path_params), dict(request.query_params), form)
            return await self._rendered(made, visitor)

        return endpoint

    async def _rendered(self, made: Page, visitor: Visitor) -> Response:
        try:
            seen = await made(visitor)
        except ClientDisconnect:
            raise
        except Exception as error:
            known = translated(error)
            if not isinstance(known, BeliefdError):
                log.exception("a page could not be made")
                known = BeliefdError(Code.INTERNAL, "something went wrong; the server's log says what")
            return self._failed(known, visitor.asker)
        if seen.location:
            return _elsewhere(seen.location)
        return _page(seen.template, {**seen.values, **_about(visitor.asker)}, seen.status)

    def _failed(self, error: BeliefdError, asker: Asker | None) -> Response:
        if error.code is Code.UNAUTHORIZED:
            return _page("sign_in.html", {"problem": error.message, "next": "/inbox", **_about(None)}, 401)
        values = {"code": error.code.value, "message": error.message, "details": error.details or {}}
        return _page("problem.html", {**values, **_about(asker)}, STATUS[error.code])

    async def _asker(self, request: Request) -> Asker | None:
        caller = await self.visits.caller(cookie_of(request.headers.get("cookie")))
        return None if caller is None else Asker(self._server, caller)

    async def _asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in ASSETS:
            return self._failed(BeliefdError(Code.NOT_FOUND, "no such file"), None)
        headers = {**SAFE, "cache-control": "no-cache"}
        return Response(asset(name), media_type=ASSETS[name], headers=headers)

    async def _sign_in(self, request: Request) -> Response:
        """By the link that the server printed, or by a token; each gives a cookie."""
        wanted = request.query_params.get("next", "/inbox")
        place = wanted if wanted.startswith("/") and wanted[1:2] not in ("/", "\\") else "/inbox"
        problem = ""
        try:
            cookie = None
            if request.method == "POST":
                cookie = await self.visits.sign_in((await form_of(request)).get("token", ""))
            elif key := request.query_params.get("key"):
                cookie = await self.visits.sign_in_by_link(key)
                problem = "" if cookie else "This link was used before, or is too old."
            if cookie is not None:
                return _elsewhere(place, set_cookie(cookie, secure=_is_secure(request)))
        except BeliefdError as error:
            problem = error.message
        return _page(
            "sign_in.html", {"problem": problem, "next": place, **_about(None)}, 401 if problem else 200
        )

    async def _sign_out(self, request: Request) -> Response:
        try:
            await form_of(request)
        except BeliefdError as error:
            return self._failed(error, None)
        self.visits.end(cookie_of(request.headers.get("cookie")))
        return _elsewhere("/sign-in", set_cookie("", secure=_is_secure(request)))

    async def _live(self, request: Request) -> Response:
        """What changes in the inbox, as it changes."""
        try:
            asker = await self._asker(request)
            if asker is None:
                raise BeliefdError(Code.UNAUTHORIZED, "nobody is signed in")
            return StreamingResponse(
                asker.follow("follow_inbox"), media_type="text/event-stream", headers=SAFE
            )
        except BeliefdError as error:
            return self._failed(error, None)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form. INVARIANT: no page of another origin sends one."""
    _refuse_other_origins(request)
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM:
            raise BeliefdError(Code.PAYLOAD_TOO_LARGE, f"a form may hold {MAX_FORM} bytes at most")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise BeliefdError(Code.INVALID_REQUEST, "this is no form") from None
    return dict(pairs)


def _refuse_other_origins(request: Request) -> None:
    """Browsers say where a form comes from: by comparing scheme, host and port themselves, and by name."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None:
        same = site == "same-origin"
    elif origin is not None:
        same = (urlsplit(origin).scheme, urlsplit(origin).netloc) == (
            request.url.scheme,
            request.headers.get("host", ""),
        )
    else:
        same = False
    if origin is not None and urlsplit(origin).netloc != request.headers.get("host", ""):
        same = False
    if not same:
        raise BeliefdError(Code.FORBIDDEN, "forms are taken from this server's own pages only")


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"


def _own_place(request: Request) -> str:
    if request.method != "GET":
        return "/inbox"
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")


def asset(name: str) -> bytes:
    return (files("beliefd.console") / "static" / name).read_bytes()


def _about(asker: Asker | None) -> dict[str, Any]:
    return {"who": None if asker is None else asker.principal, "now": now()}


def _page(template: str, values: Mapping[str, Any], status: int) -> Response:
    return Response(page(template, values), status, SAFE, HTML)


def _elsewhere(location: str, cookie: str = "") -> Response:
    headers = {**SAFE, "location": location}
    return Response(b"", 303, headers | ({"set-cookie": cookie} if cookie else {}))
