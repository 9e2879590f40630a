"""Where the steward's tests keep their ledgers, and the few commands they speak."""

import os
from collections.abc import Iterable

from beliefd.kernel.beliefs.commands import DeclareSession, Eliminate, EnterObligation
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.replay import Position
from beliefd.ledger.state_hash import state_hash
from beliefd.protocol.snapshots import snapshot_of
from beliefd.steward.bootstrap import Runtime, bootstrap
from beliefd.steward.handlers.ledger import verify_session
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.steward import Steward
from beliefd.stores.base import Store
from beliefd.stores.memory import MemoryStore
from beliefd.stores.opening import MEMORY, open_store
from beliefd.testing.world import ONTOLOGY

ALICE = Principal(id="agent://alice", role=Role.AGENT)
BOB = Principal(id="agent://bob", role=Role.AGENT)


class Place:
    """One set of ledgers. Each `steward` has a store of its own on it, as another process would have."""

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self.target = target
        self.memory = MemoryStore()
        self.runtimes: list[Runtime] = []

    async def store(self) -> Store:
        return self.memory if self.target == MEMORY else await open_store(self.target)

    async def steward(self) -> Steward:
        runtime = bootstrap(await self.store())
        self.runtimes.append(runtime)
        return runtime.steward

    async def close(self) -> None:
        for runtime in self.runtimes:
            await runtime.close()


def names(count: int) -> tuple[str, ...]:
    return tuple(f"h{n:04}" for n in range(count))


def declaration(count: int = 8) -> DeclareSession:
    return DeclareSession(ontology=ONTOLOGY, hypotheses=names(count))


def eliminate(*eliminated: str, source: str = "oracle://x", observation: str = "o") -> Eliminate:
    return Eliminate(source_id=source, observation_id=observation, eliminated=eliminated, justification={})


def obligation(name: str, minimum: int = 1) -> EnterObligation:
    return EnterObligation(obligation_id=name, min_total_eliminations=minimum)


async def declared(steward: Steward, count: int = 8) -> str:
    return (await steward.declare(declaration(count), ALICE)).session.session_id


async def ledger_of(steward: Steward, session_id: str) -> list[Sealed]:
    """The stored entries, after the whole chain up to the promised head has been verified."""
    verified = await verify_session(steward.store, session_id)
    assert verified.ok, verified.first_bad
    entries = await steward.store.entries(session_id)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    assert verified.checked == len(entries)
    return entries


def applied(outcomes: Iterable[Outcome]) -> list[str]:
    return sorted(name for outcome in outcomes for name in outcome.event.eliminated)


def seen(it: Outcome | Position) -> tuple[object, ...]:
    """All that a caller can see of an outcome or a position, in a form that compares."""
    event = it.event if isinstance(it, Outcome) else None
    return event, it.head, state_hash(it.session), snapshot_of(it.session, it.head)
