"""Who writes past the server cannot take away or exchange events that the log of a store knows, unnoticed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.errors import Code
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.steward.log import Log
from beliefd.testing.world import ROOT, World, refused
from tests.cli.runner import answer, beliefd


def rewrite(store: Path, *statements: str) -> None:
    """Past the server, and past the triggers that keep others from it."""
    with closing(sqlite3.connect(store)) as file, file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            file.execute(statement)


def cut(store: Path, session: str, events: int = 1) -> None:
    rewrite(
        store,
        *(
            f"DELETE FROM audit_events WHERE session_id = '{session}' AND seq ="
            f" (SELECT head_seq FROM sessions WHERE session_id = '{session}') - {number}"
            for number in range(events)
        ),
        "UPDATE sessions SET (head_seq, head_event_id, head_hash) = (SELECT seq, event_id, hash"
        f" FROM audit_events WHERE session_id = '{session}' ORDER BY seq DESC LIMIT 1)"
        f" WHERE session_id = '{session}'",
    )


def say(world: World, session: str, *observations: str) -> None:
    for one in observations:
        world.agent.eliminate(session, source_id="s", observation_id=one, eliminated=["h1"], justification={})
        world.root.sign_checkpoint()


@pytest.fixture
def settings(tmp_path: Path) -> LogSettings:
    return LogSettings(key=tmp_path / "log.key")


def test_an_end_that_was_cut_off_is_named_as_long_as_the_log_knows_of_it(
    tmp_path: Path, settings: LogSettings
) -> None:
    path = tmp_path / "ledger.db"
    with World(path, log=settings) as world:
        session, other = world.session(), world.session()
        say(world, session, "a", "b", "c")
        say(world, other, "a")
        assert world.agent.verify(session).ok
    cut(path, session, 2)
    with World(path, log=settings) as world:
        found = world.agent.verify(session)
        assert (found.ok, found.checked) == (False, 2)
        assert found.first_bad is not None
        assert (found.first_bad.seq, found.first_bad.event_id) == (3, None)
        assert "beliefd log check" in found.first_bad.reason
        assert world.agent.verify(other).ok
        error = refused(Code.LEDGER_BROKEN, lambda: world.agent.audit_proof(session))
        assert "event 4" in error.message


def test_other_events_in_the_place_of_those_that_were_cut_off_are_named(
    tmp_path: Path, settings: LogSettings
) -> None:
    path = tmp_path / "ledger.db"
    with World(path, log=settings) as world:
        session = world.session()
        say(world, session, "a", "b")
        covered = world.root.log_checkpoint().size
    cut(path, session)
    with World(path, log=settings) as world:
        say(world, session, "other", "more", "still more")
        entries = world.entries(session)
        found = world.agent.verify(session).first_bad
        assert found is not None
        assert (found.seq, found.event_id) == (3, entries[2].event_id)
        error = refused(Code.LEDGER_BROKEN, lambda: world.agent.audit_proof(session, size=covered))
        assert "event 3" in error.message
        assert world.agent.audit_proof(session).seq == 5


def test_what_is_appended_while_a_ledger_is_verified_is_no_end_that_was_cut_off(
    settings: LogSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = Eliminate(source_id="s", observation_id="late", eliminated=("h1",), justification={})
    with World(log=settings) as world:
        session, leaf_of = world.session(), world.store.leaf_of
        say(world, session, "a")

        async def appended_first(session_id: str, seq: int) -> int | None:
            await world.steward.submit(session_id, more, ROOT)
            await Log(world.store).add([session_id])
            return await leaf_of(session_id, seq)

        monkeypatch.setattr(world.store, "leaf_of", appended_first)
        found = world.agent.verify(session)
        assert (found.ok, found.checked) == (True, 2)
        assert len(world.entries(session)) == 3


def test_the_command_line_says_where_a_ledger_was_cut_off(tmp_path: Path) -> None:
    data, kept, key = tmp_path / "data", tmp_path / "kept.txt", tmp_path / "log.pub"
    session = str(answer("session", "declare", "a", "b", "--data", data)["session_id"])
    by = ("--source", "human://alice", "--observation")
    answer("session", "eliminate", session, "a", *by, "o1", "--data", data)
    answer("log", "checkpoint", "--now", "-o", kept, "--data", data)
    key.write_text(beliefd("log", "key", "show", "--data", data).stdout)
    cut(data / "beliefd.db", session)
    for which in (session, "--all"):
        told = beliefd("audit", "verify", which, "--data", data)
        assert told.exit_code == 5
        assert "broken: event 2 (missing)" in told.stdout
    covered = ("audit", "verify", session, "--checkpoint", kept, "--key", key)
    for call in (covered, ("log", "prove", session, "--checkpoint", kept)):
        told = beliefd(*call, "--data", data)
        assert told.exit_code == 5
        assert "LEDGER_BROKEN" in told.stderr
        assert "event 2 (missing)" in told.stderr
    assert beliefd("log", "check", "--data", data).exit_code == 5
