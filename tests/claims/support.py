"""What claim tests share: people, bundles, a clock that stands still, and a steward with many callers."""

import asyncio
import hashlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from beliefd.client.requests import Request
from beliefd.client.synchronous import Calls
from beliefd.embedded import send
from beliefd.kernel.canonical import canonical
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.ledger.state_hash import state_hash
from beliefd.protocol.approvals import ApprovalCard, DecidedApproval
from beliefd.protocol.claims import JudgedBundle
from beliefd.protocol.operation import A
from beliefd.steward.bootstrap import Runtime, bootstrap
from beliefd.steward.environment import Environment
from beliefd.steward.facts.finder import Detector
from beliefd.steward.projections.inbox import all_rows
from beliefd.steward.write.steward import Steward
from beliefd.steward.write.turn import Outcome
from beliefd.stores.base import InboxRow, Store
from beliefd.stores.opening import open_store

T = TypeVar("T")
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = "2026-01-01T00:00:00.000000Z"
ONTOLOGY = {
    "hypothesis_space_id": "space",
    "hypothesis_version": "1",
    "causal_graph_ref": "graphstore://test",
    "causal_graph_version": "v1",
}
GATE_NAMES = ("evidence", "uncertainty", "security", "adversarial", "human")
TIERS = tuple(tier.name for tier in Tier)

AGENT = Principal(id="agent://writer", role=Role.AGENT, tier="PRIVILEGE")
OTHER_AGENT = Principal(id="agent://other", role=Role.AGENT, tier="PRIVILEGE")
ANN = Principal(id="human://ann", role=Role.APPROVER)
BOB = Principal(id="human://bob", role=Role.APPROVER)
ROOT = Principal(id="human://root", role=Role.ADMIN, tier="PRIVILEGE")


def quiet(_: Sequence[tuple[str, str]], tier: int, trail: Sequence[int]) -> Threat:
    """A detector that is never alarmed."""
    return Threat(detector="quiet")


def alarmed(_: Sequence[tuple[str, str]], tier: int, trail: Sequence[int]) -> Threat:
    """A detector that always is."""
    return Threat(detector="alarmed", score=0.9)


def pointer(**changes: Any) -> dict[str, Any]:
    given = {
        "source": "https://example.org/paper",
        "source_confidence": 0.9,
        "evidence_hash": hashlib.sha256(b"paper").hexdigest(),
        "retrieved_at": "2025-12-31T12:00:00Z",
    }
    return {**given, **changes}


def claim(
    tier: str = "READ_ONLY", kind: str = "DECISION", value: float = 0.1, **changes: Any
) -> dict[str, Any]:
    """One claim as an agent writes it. A FACT gets the evidence that it needs."""
    given = {
        "id": "c1",
        "statement": "rotate the log file",
        "claim_type": kind,
        "evidence_pointers": [pointer()] if kind == "FACT" else [],
        "uncertainty": {
            "method": "confidence_score",
            "value": value,
            "interpretation": "",
            "gate_recommendation": "EXECUTE",
        },
        "risk_tier": tier,
        "if_wrong_cost": "a gap in the logs",
    }
    return {**given, **changes}


def bundle(*claims: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"origin_agent": "agent://writer", "claims": list(claims) or [claim()], **changes}


def delete(**changes: Any) -> dict[str, Any]:
    return bundle(claim("DELETE"), **changes)


def policy(**sections: dict[str, Any]) -> Policy:
    """A policy from its JSON, defaults elsewhere."""
    return msgspec.convert(sections, Policy)


class Clock:
    """Time stands still until it is moved; ids count up, across restarts too."""

    def __init__(self) -> None:
        self._now = START
        self._ids = 0

    def now(self) -> str:
        return self._now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)

    def new_id(self) -> str:
        self._ids += 1
        return f"019b7600-0000-7000-8000-{self._ids:012x}"

    @property
    def outside(self) -> Environment:
        return Environment(now=self.now, new_id=self.new_id)


class Person(Calls):
    """The client's methods, spoken by one principal to a house."""

    def __init__(self, house: "House", principal: Principal) -> None:
        self.house = house
        self.principal = principal

    def _send(self, request: Request[A]) -> A:
        return self.house.run(lambda: send(self.house.runtime, self.principal, request))

    def close(self) -> None:
        return None

    def approve(self, card: "ApprovalCard | JudgedBundle", **more: Any) -> DecidedApproval:
        return self.decide(card, "APPROVED", **more)

    def reject(self, card: "ApprovalCard | JudgedBundle", **more: Any) -> DecidedApproval:
        return self.decide(card, "REJECTED", **more)

    def modify(
        self, card: "ApprovalCard | JudgedBundle", *claims: dict[str, Any], **more: Any
    ) -> DecidedApproval:
        return self.decide(card, "MODIFIED", claims=claims, **more)

    def decide(self, card: "ApprovalCard | JudgedBundle", decision: str, **more: Any) -> DecidedApproval:
        assert card.approval_id is not None
        given = {"content_hash": card.content_hash, **more}
        return self.decide_approval(card.approval_id, decision, **given)


class House:
    """One steward on one store, on an event loop of its own, for any number of principals and threads."""

    def __init__(
        self,
        target: str | Path = ":memory:",
        rules: Policy | None = None,
        detector: Detector | None = quiet,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or Clock()
        self._target = target
        self._detector = detector
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.runtime = self.run(lambda: self._open(rules))
        self.agent, self.ann, self.bob, self.root = (self.person(one) for one in (AGENT, ANN, BOB, ROOT))

    async def _open(self, rules: Policy | None) -> Runtime:
        store = await open_store(self._target)
        return bootstrap(store, rules, environment=self.clock.outside, detector=self._detector)

    @property
    def steward(self) -> Steward:
        return self.runtime.steward

    def person(self, principal: Principal) -> Person:
        return Person(self, principal)

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        async def wrapped() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(wrapped(), self._loop).result()

    @property
    def store(self) -> Store:
        return self.steward.store

    def session(self) -> str:
        declared = self.agent.declare_session(ontology=ONTOLOGY, hypotheses=["h1", "h2"])
        return declared.session_id

    def state(self, session_id: str) -> Session:
        return self.run(lambda: self.steward.positions.existing(session_id)).session

    def submit(self, session_id: str, command: Command, principal: Principal, **more: Any) -> Outcome:
        """Straight to the steward, past all handlers."""

        async def work() -> Outcome:
            return await self.steward.submit(session_id, command, principal, **more)

        return self.run(work)

    def expire(self) -> int:
        return self.run(self.runtime.expiry.expire_due)

    def rows(self) -> list[InboxRow]:
        return self.run(lambda: self.store.inbox(None, None, 10_000))

    def restarted(self, rules: Policy | None = None) -> "House":
        """The same store opened again by a new steward, which remembers nothing."""
        self.close()
        return House(self._target, rules or self.steward.in_force.policy, self._detector, self.clock)

    def close(self) -> None:
        if self._loop.is_running():
            self.run(self.runtime.close)
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def __enter__(self) -> "House":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def inbox_is_the_fold_of_all_ledgers(house: House) -> None:
    """What the inbox says is what the ledgers say, folded from their first events."""

    async def folded() -> list[InboxRow]:
        found: list[InboxRow] = []
        for row in await house.store.sessions(None, 1_000):
            position = await house.steward.positions.at(row.session_id, row.head.seq)
            assert position is not None
            found += all_rows(position.session)
        return sorted(found, key=lambda row: row.approval_id)

    assert house.rows() == house.run(folded)


def refused(code: Code, act: Callable[[], object]) -> BeliefdError:
    """The error that an act is answered with, which must have this code."""
    with pytest.raises(BeliefdError) as caught:
        act()
    assert caught.value.code is code, caught.value
    return caught.value


def hashed(content: dict[str, Any]) -> str:
    """A content hash by its definition, apart from the code under test."""
    named = {name: content[name] for name in ("claims", "id", "origin_agent", "timestamp")}
    return hashlib.sha256(canonical(named)).hexdigest()


def hash_of(answer: JudgedBundle) -> str:
    return hashed(msgspec.to_builtins(answer))


def nothing_happens(house: House, session: str, code: Code, act: Callable[[], object]) -> str:
    """The act is refused, recorded, and the state is what it was. Returns why."""
    before = house.state(session)
    error = refused(code, act)
    after = house.state(session)
    assert state_hash(after) == state_hash(before)
    (last,) = house.run(lambda: house.store.entries(session))[-1:]
    assert (error.details or {})["audit_event_id"] == last.event_id
    inbox_is_the_fold_of_all_ledgers(house)
    return error.message
