"""The HTTP application: the operations table first, Starlette for everything around it (belief-server 3)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from beliefd import __version__
from beliefd.http.direct import Verbs
from beliefd.http.draining import stopping
from beliefd.http.errors import (
    answer_or_error,
    defect,
    error_reply,
    no_such_path,
    not_offered,
    reply_to_failure,
)
from beliefd.http.guard import refuse_foreign_names
from beliefd.http.headers import read_headers
from beliefd.http.openapi import openapi_document
from beliefd.http.readiness import Readiness
from beliefd.http.replies import Answered, Reply
from beliefd.http.siblings import Siblings
from beliefd.http.surface import Surface
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import PROTOCOL
from beliefd.protocol.beliefs import Health
from beliefd.protocol.rights import Right
from beliefd.steward.bootstrap import Runtime

Chore = Callable[[], Awaitable[None]]
Page = Callable[[Request], Awaitable[Answered]]
Console = Callable[[Surface], Sequence[BaseRoute]]
"""The pages for people, of a server with this surface."""
_HEALTH = msgspec.json.encode(Health(version=__version__, protocol=PROTOCOL))


CLOSE_SECONDS: Final = 5.0
"""How long a store that does not answer may delay the end of the server."""


class Application(Starlette):
    """Answers the paths of operations itself; Starlette's router gets all others."""

    def __init__(
        self,
        runtime: Runtime,
        chores: Sequence[Chore],
        close_runtime: bool,
        console: Console | None,
        siblings: Siblings | None,
    ) -> None:
        self.siblings = siblings
        self.surface = Surface(runtime)
        self.verbs = Verbs(self.surface)
        self._readiness = Readiness(runtime.steward.store.ping)
        pages = {
            "/healthz": self._health,
            "/readyz": self._ready,
            "/metrics": self._metrics,
            "/openapi.json": self._openapi,
        }
        super().__init__(
            routes=[
                *(Route(path, self._page(page), methods=["GET"]) for path, page in pages.items()),
                *(() if console is None else console(self.surface)),
            ],
            lifespan=lambda _: _lifespan(runtime if close_runtime else None, chores),
            exception_handlers={HTTPException: self._misrouted, Exception: _defect},  # type: ignore[dict-item]
        )
        self.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if self.surface.draining.refuses(scope["path"]) and not self._has_others:
                await error_reply(stopping(), [(b"connection", b"close")])(scope, receive, send)
                return
            if await self.surface.answer(scope, receive, send):
                return
            try:
                await refuse_foreign_names(read_headers(scope["headers"]), self.surface.authenticator)
            except Exception as error:
                await reply_to_failure(error)(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    @property
    def _has_others(self) -> bool:
        """INVARIANT: a process that leaves to others answers what it could not hand over: a door has room for
        few at a time, and nobody need notice."""
        return self.siblings is not None and bool(self.siblings.others())

    def _page(self, page: Page) -> Page:
        async def endpoint(request: Request) -> Answered:
            return await answer_or_error(page(request))

        return endpoint

    async def _health(self, _: Request) -> Reply:
        return Reply(200, _HEALTH)

    async def _ready(self, _: Request) -> Reply:
        await self._readiness.check()
        return Reply(200, _HEALTH)

    async def _metrics(self, request: Request) -> Reply:
        # They count over all spaces: on a server with tokens they are for whoever may read all.
        if await self.surface.authenticator.configured():
            caller = await self.surface.caller_of(request.scope)
            if not caller.rights.everywhere(Right.READ):
                raise BeliefdError(Code.FORBIDDEN, "metrics take the right to `read` in every space")
        text = self.metrics()
        if self.siblings is not None:
            text = await self.siblings.all_metrics(text)
        return Reply(200, text, "text/plain; version=0.0.4")

    def metrics(self) -> bytes:
        """Those of this process."""
        return self.surface.metrics.render(
            self.surface.runtime.steward, self.surface.runtime.checkpoints.anchored
        )

    async def _openapi(self, _: Request) -> Reply:
        return Reply(200, _document())

    async def _misrouted(self, request: Request, error: HTTPException) -> Reply:
        reply = not_offered(request.method, ["GET"]) if error.status_code == 405 else no_such_path()
        self.surface.metrics.observe("none", reply.status_code, 0.0)
        return reply


def create_app(
    runtime: Runtime,
    chores: Sequence[Chore] = (),
    *,
    close_runtime: bool = True,
    console: Console | None = None,
    siblings: Siblings | None = None,
) -> Application:
    """`chores` run beside the requests for as long as the server does."""
    return Application(runtime, chores, close_runtime, console, siblings)


@asynccontextmanager
async def _lifespan(runtime: Runtime | None, chores: Sequence[Chore]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(chore()) for chore in chores]
    yield
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if runtime is not None:
        await runtime.close(CLOSE_SECONDS)


@cache
def _document() -> bytes:
    """Anybody may ask for it, and leave it untaken: it is in memory once."""
    return msgspec.json.encode(openapi_document())


async def _defect(_: Request, __: Exception) -> Reply:
    return defect()
