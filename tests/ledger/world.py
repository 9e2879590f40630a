"""A steward on a memory store in a world that stands still, called without threads and without a wire."""

import asyncio
from collections.abc import Awaitable
from typing import Self, TypeVar

from beliefd.client.requests import Request
from beliefd.client.synchronous import Calls
from beliefd.embedded import send
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.commands import Command
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.ledger.envelope import Sealed
from beliefd.protocol.operation import A
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.write.turn import Outcome
from beliefd.stores.base import Store
from beliefd.stores.memory import MemoryStore
from beliefd.testing.frozen import frozen_outside

T = TypeVar("T")
AGENT = Principal(id="agent://a", role=Role.AGENT)
ADMIN = Principal(id="human://root", role=Role.ADMIN, tier=Tier.PRIVILEGE.name)
ONTOLOGY = {
    "hypothesis_space_id": "space",
    "hypothesis_version": "1",
    "causal_graph_ref": "graphstore://test",
    "causal_graph_version": "v1",
}


class World(Calls):
    """All client methods, as `principal`; and the steward itself for what they cannot say."""

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        store: Store | None = None,
        lane: int = 0,
        principal: Principal = ADMIN,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self.principal = principal
        environment = frozen_outside(lane=lane)
        self.runtime = bootstrap(store or MemoryStore(), policy, environment=environment)
        self.steward = self.runtime.steward

    def run(self, work: Awaitable[T]) -> T:
        async def wrapped() -> T:
            return await work

        return self._loop.run_until_complete(wrapped())

    def _send(self, request: Request[A]) -> A:
        return self.run(send(self.runtime, self.principal, request))

    def say(self, session_id: str, command: Command, principal: Principal | None = None) -> Outcome:
        """Put a command before the steward as it is; a refusal is an outcome, not an error."""

        async def submitted() -> Outcome:
            return await self.steward.submit(session_id, command, principal or self.principal)

        return self.run(submitted())

    def declare(self, command: DeclareSession) -> str:
        return self.run(self.steward.declare(command, self.principal)).session.session_id

    def entries(self, session_id: str) -> list[Sealed]:
        return self.run(self.steward.store.entries(session_id))

    def close(self) -> None:
        self.run(self.runtime.close())
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
