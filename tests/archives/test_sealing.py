"""A sealed session takes nothing more but what unseals it, and who tried is on record elsewhere."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.system.events import RefusalNoted
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.transfers.commands import SealSession
from beliefd.testing.world import ROOT, World, policy, refused
from tests.claims.support import bundle, claim
from tests.conformance.node import verify_with_node


@pytest.fixture
def world() -> Iterator[World]:
    with World() as opened:
        yield opened


def eliminate(world: World, session: str, name: str = "h1") -> None:
    world.agent.eliminate(session, source_id="s", observation_id="o", eliminated=[name], justification={})


def test_nothing_is_written_after_a_seal_and_the_servers_own_ledger_says_who_tried(world: World) -> None:
    session = world.session()
    sealed = world.seal_session(session, "over").snapshot
    assert sealed.seal is not None
    assert (sealed.seal.by, sealed.seal.reason) == (ROOT.id, "over")
    before = world.entries(session)
    for _ in range(3):
        error = refused(Code.SESSION_SEALED, lambda: eliminate(world, session))
        assert session in error.message
    refused(Code.SESSION_SEALED, lambda: world.seal_session(session))
    refused(Code.SESSION_SEALED, lambda: world.agent.request_termination(session, context={"force": True}))
    assert world.entries(session) == before
    tried = [(one.by, one.tried) for one in world.deltas(SYSTEM) if isinstance(one, RefusalNoted)]
    assert tried == [
        (world.agent.principal.id, "ELIMINATE"),
        (ROOT.id, "SEAL_SESSION"),
        (world.agent.principal.id, "REQUEST_TERMINATION"),
    ]
    for name in (session, SYSTEM):
        world.check(name)
        assert verify_with_node(world.export(name)).code == 0


def test_only_admins_seal_and_unseal_and_what_goes_on_is_a_new_event(world: World) -> None:
    session = world.session()
    for who in (world.agent, world.ann):
        refused(Code.FORBIDDEN, lambda: who.seal_session(session))  # noqa: B023 - called at once
    outcome = world.submit(session, SealSession(), world.ann.principal).event
    assert outcome.code is Code.FORBIDDEN  # type: ignore[union-attr]
    refused(Code.CONFLICT, lambda: world.unseal_session(session))
    world.seal_session(session)
    refused(Code.FORBIDDEN, lambda: world.ann.unseal_session(session))
    assert world.unseal_session(session, "again").snapshot.seal is None
    eliminate(world, session)
    world.check(session)
    assert verify_with_node(world.export(session)).code == 0


def test_a_session_in_which_somebody_waits_is_not_sealed_unless_it_has_ended(world: World) -> None:
    session = world.session()
    card = world.agent.submit_claims(session, bundle(claim("DELETE")))
    error = refused(Code.CONFLICT, lambda: world.seal_session(session))
    assert f"approval `{card.approval_id}` waits" in error.message
    world.root.decide_approval(str(card.approval_id), "REJECTED", content_hash=card.content_hash, reason="no")
    assert world.seal_session(session).snapshot.seal is not None
    assert [row.expires_at for row in world.rows()] == [None]
    assert world.expire() == 0


def test_a_terminated_session_can_be_sealed(world: World) -> None:
    session = world.session()
    eliminate(world, session)
    assert world.agent.request_termination(session).approved
    assert world.seal_session(session).snapshot.status == "terminated"
    refused(Code.SESSION_SEALED, lambda: eliminate(world, session))
    world.unseal_session(session)
    refused(Code.SESSION_TERMINATED, lambda: eliminate(world, session))
    world.check(session)


def test_a_seal_that_was_taken_away_elsewhere_is_not_held_against_anybody(tmp_path: Path) -> None:
    with World(tmp_path / "ledger.db") as one, World(tmp_path / "ledger.db", policy()) as other:
        session = one.session()
        one.seal_session(session)
        refused(Code.SESSION_SEALED, lambda: eliminate(other, session))
        one.unseal_session(session)
        eliminate(other, session)
        one.seal_session(session)
        refused(Code.SESSION_SEALED, lambda: eliminate(other, session, "h2"))
