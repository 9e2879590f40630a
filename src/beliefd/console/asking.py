"""Operations for whoever looks at a page: the same rows, handlers, rights and limits as over HTTP."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace
from starlette.types import ASGIApp, Scope

from beliefd.kernel.values import DEFAULT_SPACE, Principal
from beliefd.protocol.operations import OPERATIONS, Operation
from beliefd.steward.bootstrap import Runtime
from beliefd.steward.call import Call, Caller
from beliefd.steward.dispatch import perform
from beliefd.steward.tokens import Authenticator

ROWS: Final[dict[str, Operation]] = {row.name: row for row in OPERATIONS}
Judge = Callable[[], Awaitable[Caller]]


class Server(Protocol):
    """What the console needs of the server that it is part of.

    `request_of` gives a request for a page its place among all others, and `feed` an answer that lasts;
    `observe` counts and logs what was answered.
    """

    @property
    def runtime(self) -> Runtime: ...
    @property
    def authenticator(self) -> Authenticator: ...
    def request_of(
        self, scope: Scope, principal: Principal
    ) -> AbstractContextManager[Callable[[int], None]]: ...
    def observe(self, operation: str, status: int, seconds: float) -> None: ...
    async def feed(
        self, scope: Scope, operation: Operation, call: Call, judge: Judge, under_way: ExitStack
    ) -> ASGIApp: ...


class Asker(Struct, frozen=True):
    """One person's questions. All that one page asks is one request, which has its place already."""

    server: Server
    caller: Caller

    @property
    def principal(self) -> Principal:
        return self.caller.principal

    async def ask(
        self,
        name: str,
        path: Mapping[str, str] | None = None,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
    ) -> Any:
        return await perform(self.server.runtime.handlers, ROWS[name], self._call(path, query, body))

    async def is_placed(self) -> bool:
        """Is there more than the default space to be seen? Who uses no spaces sees none."""
        return any(one.name != DEFAULT_SPACE for one in (await self.ask("list_spaces")).spaces)

    async def follow(
        self,
        name: str,
        scope: Scope,
        judge: Judge,
        under_way: ExitStack,
        path: Mapping[str, str] | None = None,
        last_event: str | None = None,
    ) -> ASGIApp:
        """An answer that lasts, for as long as `judge` says that it is still them."""
        call = replace(self._call(path, None, None), last_event=last_event)
        return await self.server.feed(scope, ROWS[name], call, judge, under_way)

    def _call(self, path: Mapping[str, str] | None, query: Mapping[str, Any] | None, body: Any) -> Call:
        asked = {key: str(value) for key, value in (query or {}).items() if value not in (None, "")}
        return Call(
            principal=self.principal,
            rights=self.caller.rights,
            path=dict(path or {}),
            query=asked,
            body=body,
        )
