"""Operations for whoever looks at a page: the same rows, handlers, rights and limits as over HTTP."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, Final, Protocol

from msgspec import Struct

from beliefd.kernel.values import Principal
from beliefd.protocol.operations import OPERATIONS, Operation
from beliefd.steward.bootstrap import Runtime
from beliefd.steward.call import Call, Caller
from beliefd.steward.dispatch import perform, stream
from beliefd.steward.offload import asking
from beliefd.steward.tokens import Authenticator

ROWS: Final[dict[str, Operation]] = {row.name: row for row in OPERATIONS}


class Server(Protocol):
    """What the console needs of the server that it is part of."""

    @property
    def runtime(self) -> Runtime: ...
    @property
    def authenticator(self) -> Authenticator: ...
    def count_request(self, principal: Principal) -> None: ...


class Asker(Struct, frozen=True):
    """One person's questions."""

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
        self.server.count_request(self.principal)
        with asking(self.principal.id):
            return await perform(self.server.runtime.handlers, ROWS[name], self._call(path, query, body))

    def follow(self, name: str, query: Mapping[str, Any] | None = None) -> AsyncGenerator[bytes, None]:
        self.server.count_request(self.principal)
        return stream(self.server.runtime.handlers, ROWS[name], self._call(None, query, None))

    def _call(self, path: Mapping[str, str] | None, query: Mapping[str, Any] | None, body: Any) -> Call:
        asked = {key: str(value) for key, value in (query or {}).items() if value not in (None, "")}
        return Call(
            principal=self.principal,
            rights=self.caller.rights,
            path=dict(path or {}),
            query=asked,
            body=body,
        )
