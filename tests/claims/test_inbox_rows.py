"""Rows of the inbox that do not fit a ledger: they hide nothing, and nothing is recorded because of them."""

import sqlite3
from pathlib import Path

from beliefd.testing.world import World
from tests.claims.support import bundle, claim
from tests.cli.runner import beliefd

COLUMNS = "approval_id, session_id, status, opened_at, expires_at"
ROW = f"INSERT INTO inbox ({COLUMNS}) VALUES (?, ?, 'pending', ?, ?)"
FORGE = "UPDATE audit_events SET record = replace(record, 'DELETE', 'MODIFY') WHERE session_id = ?"
LONG_AGO = "2020-01-01T00:00:00.000000Z"


def waiting(world: World) -> tuple[str, str]:
    session = world.session()
    approval_id = world.agent.submit_claims(session, bundle(claim("DELETE"))).approval_id
    assert approval_id is not None
    return session, approval_id


def listed(world: World) -> list[str]:
    return [card.approval_id for card in world.ann.list_approvals().approvals]


def test_a_row_that_no_event_made_hides_nothing_and_leads_to_no_event(tmp_path: Path) -> None:
    with World(tmp_path / "beliefd.db") as world:
        session, approval_id = waiting(world)
        with sqlite3.connect(tmp_path / "beliefd.db") as connection:
            connection.execute(ROW, ("apr-made-up", session, LONG_AGO, LONG_AGO))
        length = len(world.entries(session))
        assert listed(world) == [approval_id]
        assert world.expire() == 0
        assert len(world.entries(session)) == length
        assert world.ann.approve(world.ann.show_approval(approval_id)).outcome == "PUBLISH"


def test_a_ledger_that_does_not_verify_does_not_hide_what_waits_in_others(tmp_path: Path) -> None:
    with World(tmp_path / "beliefd.db") as world:
        broken, _ = waiting(world)
        _, approval_id = waiting(world)
    with sqlite3.connect(tmp_path / "beliefd.db") as connection:
        connection.execute("DROP TRIGGER audit_events_keep_update")
        connection.execute(FORGE, (broken,))
    with World(tmp_path / "beliefd.db") as world:
        page = world.ann.list_approvals()
        assert [card.approval_id for card in page.approvals] == [approval_id]
        assert [one.session_id for one in page.broken] == [broken]
        assert world.expire() == 0
    shown = beliefd("inbox", "list", "--data", tmp_path)
    assert f"{broken} is broken at event 2" in shown.stdout
