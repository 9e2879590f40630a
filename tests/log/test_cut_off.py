"""Who writes past the server cannot take away or exchange events that the log of a store knows, unnoticed."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.errors import Code
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.notes import Checkpoint, Note, read_note
from beliefd.steward.effects import scrub as scrub_module
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.steward.log import Log
from beliefd.stores.log import KeptCheckpoint
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


def eliminate(world: World, session: str, observation: str) -> None:
    world.agent.eliminate(
        session, source_id="s", observation_id=observation, eliminated=["h1"], justification={}
    )


def take_leaves(world: World) -> None:
    world.run(Log(world.store).catch_up)


def say(world: World, session: str, *observations: str) -> None:
    for one in observations:
        eliminate(world, session, one)
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
        for one in ("other", "more", "still more"):
            eliminate(world, session, one)
        take_leaves(world)
        entries = world.entries(session)
        found = world.agent.verify(session).first_bad
        assert found is not None
        assert (found.seq, found.event_id) == (3, entries[2].event_id)
        error = refused(Code.LEDGER_BROKEN, lambda: world.agent.audit_proof(session, size=covered))
        assert "event 3" in error.message
        size = world.run(world.store.log_size)
        assert world.agent.audit_proof(session, size=size).seq == 5


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


# -- nothing is signed that the stored events contradict ----------------------------------------------------

CHANGED = "UPDATE audit_events SET record = replace(record, '\"o2\"', '\"o9\"') WHERE seq = 3"
GONE = "DELETE FROM audit_events WHERE seq = 2 AND session_id <> 'system'"


@pytest.mark.parametrize(
    ("damage", "named"), [(CHANGED, "event 3 "), (GONE, "event 2 (missing)"), (None, "event 3 (missing)")]
)
def test_what_is_new_is_not_signed_if_it_is_not_what_was_logged(
    tmp_path: Path, settings: LogSettings, damage: str | None, named: str
) -> None:
    path = tmp_path / "ledger.db"
    with World(path, log=settings) as world:
        session = world.session()
        world.root.sign_checkpoint()
        for one in ("o1", "o2"):
            eliminate(world, session, one)
        take_leaves(world)
    if damage is None:
        cut(path, session)
    else:
        rewrite(path, damage)
    with World(path, log=settings) as world:
        before = world.root.log_checkpoint()
        error = refused(Code.LEDGER_BROKEN, world.root.sign_checkpoint)
        assert named in error.message
        assert session in error.message
        assert world.root.log_checkpoint() == before, "nothing was signed"
        refused(Code.LEDGER_BROKEN, lambda: world.run(world.runtime.checkpoints.refuse_unsignable))


def test_what_was_put_in_the_place_of_signed_events_is_found_when_it_is_built_upon(
    tmp_path: Path, settings: LogSettings
) -> None:
    path = tmp_path / "ledger.db"
    with World(path, log=settings) as world:
        session = world.session()
        say(world, session, "a", "b")
    cut(path, session)
    with World(path, log=settings) as world:
        for one in ("other", "more"):
            eliminate(world, session, one)
        error = refused(Code.LEDGER_BROKEN, world.root.sign_checkpoint)
        assert "event 3 " in error.message


def test_a_checkpoint_that_somebody_wrote_into_the_store_spares_no_comparison(
    tmp_path: Path, settings: LogSettings
) -> None:
    path = tmp_path / "ledger.db"
    with World(path, log=settings) as world:
        session = world.session()
        say(world, session, "o1", "o2")
        eliminate(world, session, "o3")
        take_leaves(world)
        size = world.run(world.store.log_size)
        root = world.run(lambda: Log(world.store).root(size))
        (kept,) = world.run(lambda: world.store.checkpoints(1))
        origin = kept.note.split("\n", 1)[0]
        forged = Note(Checkpoint(origin, size, root).text).signed(read_note(kept.note).signatures)
        world.run(lambda: world.store.keep_checkpoint(KeptCheckpoint(size, str(forged), kept.made_at)))
    rewrite(path, CHANGED.replace("o2", "o3").replace("seq = 3", "seq = 4"))
    with World(path, log=settings) as world:
        refused(Code.CHECKPOINT_FORGED, world.root.sign_checkpoint)
    by_another = "UPDATE log_checkpoints SET note = replace(note, '— ', '— other-') WHERE size ="
    rewrite(path, f"{by_another} (SELECT max(size) FROM log_checkpoints)")
    with World(path, log=settings) as world:
        refused(Code.LEDGER_BROKEN, world.root.sign_checkpoint)


def test_the_cost_of_signing_is_that_of_what_is_new(
    settings: LogSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    with World(log=settings) as world:
        entries = world.store.entries

        async def counted(*asked: Any) -> list[Sealed]:
            found = await entries(*asked)
            read.append(len(found))
            return found

        monkeypatch.setattr(world.store, "entries", counted)
        for one in [world.session() for _ in range(3)]:
            for number in range(40):
                eliminate(world, one, str(number))
        session = world.session()
        world.root.sign_checkpoint()
        assert sum(read) > 120
        world.root.sign_checkpoint()  # the key was written down meanwhile
        for _ in range(2):
            eliminate(world, session, "once more")
            read.clear()
            world.root.sign_checkpoint()
            assert sum(read) == 2, "the new one, and the one before it"


def test_the_scrub_compares_the_log_and_nothing_is_signed_until_both_agree(
    tmp_path: Path, settings: LogSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SHARE", "LEAST_REST"):
        monkeypatch.setattr(scrub_module, name, 0)
    path, kept = tmp_path / "ledger.db", tmp_path / "kept.db"

    def scrubbed(world: World) -> None:
        scrub = scrub_module.Scrub(world.steward.positions.chains, None, settings.last)
        world.run(scrub.round)

    with World(path, log=settings) as world:
        session, other = world.session(), world.session()
        say(world, session, "a", "b")
        scrubbed(world)
        say(world, other, "a")
    shutil.copy(path, kept)
    cut(path, session)
    with World(path, log=settings) as world:
        scrubbed(world)
        eliminate(world, other, "b")
        error = refused(Code.LEDGER_BROKEN, world.root.sign_checkpoint)
        assert "beliefd log check" in error.message
        assert settings.last is not None
        assert "leads to no event" in settings.last.damage.read_text()
    shutil.copy(kept, path)
    with World(path, log=settings) as world:
        eliminate(world, other, "b")
        refused(Code.LEDGER_BROKEN, world.root.sign_checkpoint)
        scrubbed(world)
        world.root.sign_checkpoint()


def test_on_the_command_line_everything_is_compared_before_it_is_signed(tmp_path: Path) -> None:
    data, kept = tmp_path / "data", tmp_path / "kept.db"
    sessions = [str(answer("session", "declare", "a", "b", "--data", data)["session_id"]) for _ in range(2)]
    by = ("--source", "human://alice", "--observation")
    for one in sessions:
        answer("session", "eliminate", one, "a", *by, "o1", "--data", data)
    answer("log", "checkpoint", "--now", "--data", data)
    shutil.copy(data / "beliefd.db", kept)
    cut(data / "beliefd.db", sessions[0])
    for _ in range(2):
        told = beliefd("log", "checkpoint", "--now", "--data", data)
        assert told.exit_code == 5
        assert "LEDGER_BROKEN" in told.stderr
    shutil.copy(kept, data / "beliefd.db")
    assert beliefd("log", "checkpoint", "--now", "--data", data).exit_code == 0
