"""What claim tests share: claims and bundles as agents write them, and what must hold whatever was said."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from beliefd.kernel.approvals.state import BundleSubject, InformationSubject
from beliefd.kernel.canonical import canonical
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import Role, Tier
from beliefd.protocol.approvals import ApprovalCard
from beliefd.protocol.claims import JudgedBundle
from beliefd.steward.projections.inbox import all_rows
from beliefd.stores.projections import InboxRow
from beliefd.testing.world import AGENT, World, refused

GATE_NAMES = ("evidence", "uncertainty", "security", "adversarial", "human")
TIERS = tuple(tier.name for tier in Tier)


def alarmed(_: Sequence[tuple[str, str]], tier: int, trail: Sequence[int]) -> Threat:
    """A detector that always is."""
    return Threat(detector="alarmed", score=0.9)


PAPER = b"paper"
PAPER_HASH = hashlib.sha256(PAPER).hexdigest()
LIBRARY = Bringer(id="tool://library", role=Role.TOOL, at="2025-12-30T12:00:00.000000Z")


def stored(world: World) -> World:
    """The world with what pointers of these tests cite, brought by somebody else than who proposes."""
    world.run(lambda: world.store.put_content(PAPER_HASH, PAPER, LIBRARY))
    return world


def pointer(**changes: Any) -> dict[str, Any]:
    given = {
        "source": "https://example.org/paper",
        "source_confidence": 0.9,
        "evidence_hash": PAPER_HASH,
        "retrieved_at": "2025-12-31T12:00:00Z",
    }
    return {**given, **changes}


UNNAMED = "c1: the claim names no evidence"
"""What is told of a claim as these tests make it, unless it is a FACT."""
DECLARED = "c1: uncertainty is declared only: nobody has measured it"
"""What is told of every claim as these tests make it."""


def claim(
    tier: str = "READ_ONLY", kind: str = "INFERENCE", value: float = 0.1, **changes: Any
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
    """What the agent of the tests says: it speaks for itself."""
    return {"origin_agent": AGENT.id, "claims": list(claims) or [claim()], **changes}


def delete(**changes: Any) -> dict[str, Any]:
    return bundle(claim("DELETE"), **changes)


def inbox_is_the_fold_of_all_ledgers(world: World) -> None:
    """What the inbox says is what the ledgers say, folded from their first events."""

    async def folded() -> list[InboxRow]:
        found: list[InboxRow] = []
        for row in await world.store.sessions(None, 1_000):
            position = await world.steward.positions.at(row.session_id, row.head.seq)
            assert position is not None
            found += all_rows(position.session)
        return sorted(found, key=lambda row: row.approval_id)

    assert world.rows() == world.run(folded)


def hashed(content: dict[str, Any]) -> str:
    """A content hash by its definition, apart from the code under test."""
    named = {name: content[name] for name in ("claims", "id", "origin_agent", "timestamp")}
    return hashlib.sha256(canonical(named)).hexdigest()


def hash_of(answer: JudgedBundle) -> str:
    return hashed(msgspec.to_builtins(answer))


def nothing_happens(world: World, session: str, code: Code, act: Callable[[], object]) -> str:
    """The act is refused, recorded, and the state is what it was. Returns why."""
    before = world.hash(session)
    error = refused(code, act)
    assert world.hash(session) == before
    (last,) = world.entries(session)[-1:]
    assert (error.details or {})["audit_event_id"] == last.event_id
    inbox_is_the_fold_of_all_ledgers(world)
    return error.message


def bundle_of(card: ApprovalCard) -> str:
    """The id of the bundle that an item of the inbox is about."""
    assert isinstance(card.subject, BundleSubject | InformationSubject)
    return card.subject.bundle_id
