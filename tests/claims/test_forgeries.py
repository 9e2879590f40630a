"""Ledgers that a careful forger rewrote, hashes and all: deciding everything again finds each of them out."""

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.errors import Code
from beliefd.kernel.evolve import begin
from beliefd.ledger.chain import genesis_hash
from beliefd.testing.world import AGENT, World, policy, refused
from tests.claims.conftest import Build
from tests.claims.support import bundle, claim, inbox_is_the_fold_of_all_ledgers
from tests.ledger.ledgers import Envelope, joined, parts, relinked

Forge = Callable[[Envelope], None]


def story() -> bytes:
    """1 declared, 2 a DELETE waits, 3 its proposer is refused, 4 approved by another, 5 a second waits."""
    with World(policy=policy(approvals={"expires_seconds": 3600})) as house:
        session = house.session()
        waiting = house.agent.submit_claims(session, bundle(claim("DELETE")))
        refused(Code.FORBIDDEN, lambda: house.agent.approve(waiting))
        house.clock.advance(60)
        house.ann.approve(waiting)
        house.agent.submit_claims(session, bundle(claim("DELETE")))
        return house.root.export(session)


def set_in(*way: str, to: Any) -> Forge:
    def forge(entry: Envelope) -> None:
        inner: Any = entry
        for step in way[:-1]:
            inner = inner[step]
        inner[way[-1]] = to

    return forge


def published(entry: Envelope) -> None:
    """What waits, as if no gate had stopped it."""
    gated = entry["delta"]["gated"]
    gated["approval"] = None
    gated["bundle"]["decision"] = "PUBLISH"
    gated["bundle"]["required_approvals"] = []
    gated["bundle"]["audit_trail"]["gates_passed"].append("human")
    gated["bundle"]["audit_trail"]["gates_failed"] = []


def another_statement(entry: Envelope) -> None:
    entry["delta"]["gated"]["bundle"]["claims"][0]["statement"] = "drop everything"


FORGERIES: list[tuple[str, int, Forge]] = [
    ("a member that approvals do not have", 2, set_in("delta", "gated", "approval", "extra", to=1)),
    ("published without approval", 5, published),
    (
        "approved by the proposer",
        4,
        set_in("actor", to={"id": AGENT.id, "role": "approver", "tier": "PRIVILEGE"}),
    ),
    ("approved by a program", 4, set_in("actor", "role", to="agent")),
    ("approved for other content", 4, set_in("payload", "content_hash", to="0" * 64)),
    ("other content published", 4, another_statement),
    ("approved too late", 4, set_in("ts", to="2026-01-01T01:00:00.000000Z")),
    ("another kind of event", 3, set_in("delta", "kind", to="approval_closed")),
    (
        "a no turned into a yes",
        3,
        set_in("actor", to={"id": "human://ann", "role": "approver", "tier": "READ_ONLY"}),
    ),
    ("a rejection", 4, set_in("payload", "decision", to="REJECTED")),
    ("a lower tier claimed", 2, set_in("payload", "bundle", "claims", to=[claim("READ_ONLY")])),
    ("a speaker of a lower tier", 2, set_in("actor", "tier", to="READ_ONLY")),
    ("a threat that was found", 2, set_in("facts", "threat", "score", to=0.99)),
    ("no detector", 2, set_in("facts", to=None)),
    ("another approver", 4, set_in("delta", "approver", to="human://bob")),
    ("another word", 4, set_in("delta", "approval", "approvals", to=[])),
    (
        "a longer time",
        2,
        set_in("delta", "gated", "approval", "expires_at", to="2027-01-01T00:00:00.000000Z"),
    ),
    ("nobody asked", 2, set_in("delta", "gated", "approval", "rule", "required", to=2)),
    ("a gate's limit", 2, set_in("delta", "gated", "results", to=[])),
    ("a time that is none", 4, set_in("ts", to="yesterday")),
    ("a month that is none", 4, set_in("ts", to="2026-13-01T00:00:00.000000Z")),
    ("a tier that is none", 2, set_in("actor", "tier", to="ROOT")),
    ("a tier with a line end", 2, set_in("actor", "tier", to="PRIVILEGE\n")),
]


@pytest.fixture(scope="module")
def ledger() -> bytes:
    return story()


def test_the_story_itself_is_taken(ledger: bytes) -> None:
    with World() as house:
        assert house.root.import_ledger(ledger).events == 5


@pytest.mark.parametrize(("name", "seq", "forge"), FORGERIES, ids=[name for name, *_ in FORGERIES])
def test_a_forged_ledger_is_refused_at_the_forged_event(
    ledger: bytes, name: str, seq: int, forge: Forge
) -> None:
    header, entries = parts(ledger)
    forged = copy.deepcopy(entries)
    forge(forged[seq - 1])
    export = joined(*relinked(header, forged, seq))
    with World() as house:
        error = refused(Code.LEDGER_BROKEN, lambda: house.root.import_ledger(export))
        assert (error.details or {})["seq"] == seq
        assert house.rows() == []


def test_a_ledger_whose_submission_is_gone_is_refused(ledger: bytes) -> None:
    header, entries = parts(ledger)
    export = joined(*relinked(header, [entry for entry in entries if entry["seq"] != 2], 2))
    with World() as house:
        refused(Code.LEDGER_BROKEN, lambda: house.root.import_ledger(export))


def test_a_ledger_whose_approval_is_gone_leaves_the_bundle_waiting(ledger: bytes) -> None:
    header, entries = parts(ledger)
    export = joined(*relinked(header, [entry for entry in entries if entry["seq"] != 4], 4))
    with World() as house:
        house.root.import_ledger(export)
        assert len(house.ann.list_approvals().approvals) == 2


def test_a_foreign_ledger_cannot_take_over_what_waits_here(build: Build) -> None:
    """A copy under another session id, with the same event ids, in which the item is long decided."""
    house = build()
    session = house.session()
    waiting = house.agent.submit_claims(session, bundle(claim("DELETE")))
    house.state(session)
    before = house.root.export(session)
    with World() as forger:
        forger.root.import_ledger(before)
        forger.clock._ids = 1_000
        forger.ann.reject(waiting)
        header, entries = parts(forger.root.export(session))
    renamed = [{**entry, "session_id": "another"} for entry in entries]
    first = msgspec.convert(entries[0]["payload"], DeclareSession)
    renamed[0]["prev_hash"] = genesis_hash(begin("another", first))
    export = joined(*relinked({**header, "session_id": "another"}, renamed, 1))
    refused(Code.CONFLICT, lambda: house.root.import_ledger(export))
    (card,) = house.ann.list_approvals().approvals
    assert card.approval_id == waiting.approval_id
    assert house.ann.approve(card).outcome == "PUBLISH"
    inbox_is_the_fold_of_all_ledgers(house)
