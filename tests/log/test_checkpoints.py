"""Checkpoints cover what was recorded, are signed by keys on record, and never sign two histories."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.system.events import KeyChanged
from beliefd.kernel.system.state import SYSTEM
from beliefd.ledger.checkpoints import (
    Trust,
    hashes_in,
    refuse_not_included,
    refuse_other_history,
    trusted_text,
)
from beliefd.ledger.notes import COSIGNATURE, Checkpoint, Note, SigningKey, read_key, read_note
from beliefd.protocol.log import CheckpointView
from beliefd.steward.effects.anchors import anchor_of
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.steward.log_repair import look, rebuild
from beliefd.stores.log import KeptCheckpoint
from beliefd.testing.world import World, refused
from tests.support.witness import Liar

WITNESS = SigningKey("witness.example/w", b"w" * 32, COSIGNATURE)


@pytest.fixture
def settings(tmp_path: Path) -> LogSettings:
    return LogSettings(key=tmp_path / "log.key")


@pytest.fixture
def world(tmp_path: Path, settings: LogSettings) -> Iterator[World]:
    with World(tmp_path / "ledger.db", log=settings) as made:
        yield made


def eliminate(world: World, session: str, observation: str = "o") -> None:
    world.agent.eliminate(
        session, source_id="s", observation_id=observation, eliminated=["h1"], justification={}
    )


def trust(world: World) -> Trust:
    return Trust(tuple(map(read_key, world.root.log_state().keys)))


def read(world: World, view: CheckpointView) -> Checkpoint:
    return trusted_text(view.note, trust(world))


def test_a_checkpoint_covers_every_event_of_every_session_and_each_has_a_proof(world: World) -> None:
    refused(Code.NOT_FOUND, world.root.log_checkpoint)
    sessions = [world.session(), world.session()]
    for session in sessions:
        eliminate(world, session)
    signed = world.root.sign_checkpoint()
    assert world.agent.log_checkpoint() == signed
    checkpoint = read(world, signed)
    covered = 0
    for session in (*sessions, SYSTEM):
        for entry in world.entries(session):
            proof = world.root.audit_proof(session, entry.event_id)
            assert (proof.hash, proof.checkpoint) == (entry.hash, signed.note)
            refuse_not_included(entry.hash, proof.index, proof.size, hashes_in(proof.path), checkpoint)
            covered += 1
    assert world.root.log_state().covered == checkpoint.size == covered
    # What comes later is said to be not covered, and the last that is covered is found without its name.
    last = world.entries(sessions[0])[-1]
    eliminate(world, sessions[0], "later")
    later = world.entries(sessions[0])[-1]
    told = refused(Code.NOT_COVERED, lambda: world.agent.audit_proof(sessions[0], later.event_id))
    assert "event 3" in told.message
    assert world.agent.audit_proof(sessions[0]).event_id == last.event_id
    new = world.session()
    refused(Code.NOT_COVERED, lambda: world.agent.audit_proof(new))
    refused(Code.INVALID_REQUEST, lambda: world.agent.audit_proof(new, "nobody"))
    refused(Code.SESSION_NOT_FOUND, lambda: world.agent.audit_proof("nobody"))


def test_a_later_checkpoint_keeps_what_an_earlier_one_covers(world: World) -> None:
    session = world.session()
    views = [world.root.sign_checkpoint()]
    for number in range(5):
        eliminate(world, session, f"o{number}")
        views.append(world.root.sign_checkpoint())
    assert world.root.sign_checkpoint() == views[-1]  # nothing came since
    kept = [read(world, view) for view in views]
    for earlier in kept:
        for later in kept[kept.index(earlier) :]:
            path = hashes_in(world.agent.log_consistency(earlier.size, later.size).path)
            refuse_other_history(earlier, later, path)
    # A proof for another size, and for an earlier checkpoint that was kept.
    path = hashes_in(world.agent.log_consistency(kept[0].size, kept[2].size).path)
    refused(Code.PROOF_INVALID, lambda: refuse_other_history(kept[0], kept[4], path[:1]))
    proof = world.agent.audit_proof(session, size=kept[1].size)
    refuse_not_included(proof.hash, proof.index, proof.size, hashes_in(proof.path), kept[1])
    refused(
        Code.PROOF_INVALID,
        lambda: refuse_not_included(proof.hash, proof.index, proof.size, hashes_in(proof.path), kept[2]),
    )
    refused(Code.LOG_ROLLED_BACK, lambda: world.agent.log_consistency(kept[0].size, 1_000))
    refused(Code.INVALID_REQUEST, lambda: world.agent.log_consistency(5, 4))


def test_split_views_and_forged_checkpoints_are_named(world: World) -> None:
    session = world.session()
    one = read(world, world.root.sign_checkpoint())
    other = replace(one, root=bytes(32))
    refused(Code.SPLIT_VIEW, lambda: refuse_other_history(one, other, []))
    eliminate(world, session)
    later = read(world, world.root.sign_checkpoint())
    path = hashes_in(world.agent.log_consistency(one.size, later.size).path)
    refused(Code.SPLIT_VIEW, lambda: refuse_other_history(other, later, path))
    refused(Code.LOG_ROLLED_BACK, lambda: refuse_other_history(later, one, []))
    refused(Code.PROOF_INVALID, lambda: refuse_other_history(replace(one, origin="another"), later, path))
    stranger = SigningKey(one.origin, b"s" * 32)
    forged = Note(other.text).signed([stranger.sign(other.text)])
    refused(Code.CHECKPOINT_FORGED, lambda: trusted_text(str(forged), trust(world)))
    signed = world.root.log_checkpoint().note
    changed = signed.replace(f"\n{later.size}\n", f"\n{later.size + 1}\n")
    refused(Code.CHECKPOINT_FORGED, lambda: trusted_text(changed, trust(world)))
    # A trusted key of another log signs nothing for this one.
    neighbour = SigningKey("neighbour", b"n" * 32)
    note = str(Note(later.text).signed([neighbour.sign(later.text)]))
    refused(Code.CHECKPOINT_FORGED, lambda: trusted_text(note, Trust((neighbour.verifier,))))


def test_the_first_key_is_made_private_and_stands_on_record(world: World, settings: LogSettings) -> None:
    assert settings.key is not None
    assert not settings.key.exists()
    world.root.sign_checkpoint()
    if os.name == "posix":
        assert stat.S_IMODE(settings.key.stat().st_mode) == 0o600
    (key,) = trust(world).keys
    (event,) = [one for one in world.deltas(SYSTEM) if isinstance(one, KeyChanged)]
    assert (event.name, event.fingerprint) == (f"log/{key.name}+{key.key_id.hex()}", key.public.hex())


def test_after_a_rotation_old_checkpoints_verify_and_who_trusts_the_old_key_can_go_on(world: World) -> None:
    world.session()
    before = world.root.sign_checkpoint()
    (old,) = trust(world).keys
    new = world.run(world.runtime.checkpoints.keys.rotate)
    after = world.root.sign_checkpoint()
    assert trust(world).keys == (old, new)
    for view in (before, after):
        trusted_text(view.note, Trust((old,)))
    trusted_text(after.note, Trust((new,)))
    refused(Code.CHECKPOINT_FORGED, lambda: trusted_text(before.note, Trust((new,))))
    world.run(lambda: world.runtime.checkpoints.keys.rotate(keep_old=False))
    world.session()
    last = world.root.sign_checkpoint()
    refused(Code.CHECKPOINT_FORGED, lambda: trusted_text(last.note, Trust((old, new))))
    trusted_text(last.note, trust(world))


def test_a_key_that_is_lost_or_exchanged_is_named_and_nothing_is_signed(
    world: World, settings: LogSettings
) -> None:
    assert settings.key is not None
    world.session()
    signed = world.root.sign_checkpoint()
    held = settings.key.read_bytes()
    settings.key.unlink()
    assert signed.origin in refused(Code.LOG_KEY_UNKNOWN, world.root.sign_checkpoint).message
    settings.key.write_text(SigningKey(signed.origin, b"x" * 32).private_line)
    settings.key.chmod(0o600)
    refused(Code.LOG_KEY_UNKNOWN, world.root.sign_checkpoint)
    assert world.agent.log_checkpoint() == signed
    settings.key.write_bytes(held)
    settings.key.chmod(0o644)
    if os.name == "posix":
        refused(Code.INVALID_REQUEST, world.root.sign_checkpoint)
    settings.key.chmod(0o600)
    settings.key.write_text("PRIVATE+KEY+secret")
    told = refused(Code.INVALID_REQUEST, world.root.sign_checkpoint)
    assert "secret" not in told.message
    settings.key.unlink()
    assert world.run(world.runtime.checkpoints.keys.rotate).name == signed.origin
    world.root.sign_checkpoint()
    with World() as keyless:
        refused(Code.LOG_KEY_UNKNOWN, keyless.root.sign_checkpoint)
        assert keyless.agent.log_state().keys == []


def test_a_store_that_was_put_back_is_not_signed_again(tmp_path: Path, settings: LogSettings) -> None:
    store, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with World(store, log=settings) as world:
        session = world.session()
        world.root.sign_checkpoint()
    copy.write_bytes(store.read_bytes())
    with World(store, log=settings) as world:
        eliminate(world, session)
        world.root.sign_checkpoint()
    with World(copy, log=settings) as back:
        refused(Code.LOG_ROLLED_BACK, back.root.sign_checkpoint)
        for number in range(3):  # now it is as long, and another
            eliminate(back, session, f"other {number}")
        refused(Code.SPLIT_VIEW, back.root.sign_checkpoint)


def test_a_log_that_was_tampered_with_is_named_and_put_right(tmp_path: Path, settings: LogSettings) -> None:
    store = tmp_path / "ledger.db"
    with World(store, log=settings) as world:
        session = world.session()
        for number in range(300):
            eliminate(world, session, f"o{number}")
        signed = world.root.sign_checkpoint()
        assert world.run(lambda: look(world.store)).ok
    with sqlite3.connect(store) as connection:
        connection.execute("UPDATE log_tiles SET hashes = zeroblob(8192) WHERE place = '0/0'")
        connection.execute("DELETE FROM log_tiles WHERE place = '1/0'")
    connection.close()
    with World(store, log=settings) as world:
        refused(Code.LEDGER_BROKEN, lambda: world.agent.audit_proof(session))
        found = world.run(lambda: look(world.store))
        assert sorted(found.tiles) == [(0, 0), (1, 0)]
        assert sorted(world.run(lambda: rebuild(world.store)).tiles) == [(0, 0), (1, 0)]
        found = world.run(lambda: look(world.store))
        assert (found.ok, found.root) == (True, signed.root)
        world.agent.audit_proof(session)
    # An entry that was changed past all triggers does not fit its leaf.
    with sqlite3.connect(store) as connection:
        connection.execute("DROP TRIGGER audit_events_keep_update")
        connection.execute("UPDATE audit_events SET record = record || ' ' WHERE seq = 7")
    connection.close()
    with World(store, log=settings) as world:
        assert sorted(world.run(lambda: look(world.store)).tiles) == [(0, 0), (1, 0)]
        with pytest.raises(sqlite3.DatabaseError), sqlite3.connect(store) as connection:
            connection.execute("DELETE FROM log_runs")
        connection.close()


def test_required_witnesses_hold_a_checkpoint_back_until_they_have_signed(
    tmp_path: Path, settings: LogSettings
) -> None:
    required = replace(settings, witnesses=(WITNESS.verifier,))
    with World(tmp_path / "ledger.db", log=required) as world:
        world.session()
        note = read_note(world.root.sign_checkpoint().note)
        refused(Code.WITNESS_MISSING, world.agent.log_checkpoint)
        assert world.agent.log_state().signed == str(note)
        strict = Trust(trust(world).keys, (WITNESS.verifier,))
        refused(Code.WITNESS_MISSING, lambda: trusted_text(str(note), strict))
        stranger = SigningKey("stranger.example/s", b"s" * 32, COSIGNATURE)
        by_stranger = str(note.signed([stranger.cosign(note.text, 1)]))
        refused(Code.CHECKPOINT_FORGED, lambda: world.agent.add_cosignatures(by_stranger))
        forged = replace(WITNESS.cosign(note.text, 1), blob=bytes(72))
        refused(Code.CHECKPOINT_FORGED, lambda: world.agent.add_cosignatures(str(note.signed([forged]))))
        unknown = Checkpoint("another", 1, bytes(32)).text
        cosigned = str(Note(unknown).signed([WITNESS.cosign(unknown, 1)]))
        refused(Code.NOT_FOUND, lambda: world.agent.add_cosignatures(cosigned))
        line = WITNESS.cosign(note.text, 1_700_000_000)
        shown = world.agent.add_cosignatures(str(Note(note.text).signed([line])))
        assert [(one.key, one.at) for one in shown.witnessed] == [(str(WITNESS.verifier), 1_700_000_000)]
        assert world.agent.log_checkpoint() == shown
        trusted_text(shown.note, strict)


def test_checkpoints_are_anchored_in_folders_and_git_and_a_place_that_is_gone_is_no_harm(
    tmp_path: Path, settings: LogSettings, caplog: pytest.LogCaptureFixture
) -> None:
    folder, repository, gone = (tmp_path / name for name in ("folder", "repository", "gone"))
    for place in (folder, repository, gone):
        place.mkdir()
    for command in (
        ["init", "-q"],
        ["config", "user.name", "log"],
        ["config", "user.email", "log@localhost"],
    ):
        subprocess.run(["git", "-C", repository, *command], check=True)
    places = (str(folder), f"git:{repository}", str(gone))
    anchored = replace(settings, anchors=tuple(map(anchor_of, places)))
    gone.rmdir()
    with World(tmp_path / "ledger.db", log=anchored) as world:
        notes = []
        for _ in range(2):
            world.session()
            notes.append(world.root.sign_checkpoint().note)
    assert [one.read_text() for one in sorted(folder.iterdir())] == notes
    assert (repository / "checkpoint").read_text() == notes[-1]
    told = subprocess.run(
        ["git", "-C", repository, "log", "--format=%s"], check=True, capture_output=True, text=True
    )
    assert len(told.stdout.splitlines()) == 2
    assert "was not anchored" in caplog.text
    with pytest.raises(BeliefdError, match="no place for checkpoints"):
        anchor_of(str(gone))


def test_a_url_gets_every_checkpoint_and_one_that_fails_gets_the_next(
    tmp_path: Path, settings: LogSettings, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beliefd.steward.effects.anchors.SECONDS", 0.5)
    statuses, going_on = iter([204, 500, 302, 0, 200]), threading.Event()

    def answer(_: bytes) -> tuple[int, bytes]:
        if not (status := next(statuses)):
            going_on.wait(60)
        return status or 200, b""

    receiver = Liar(answer)
    with receiver as url:
        anchored = replace(settings, anchors=(anchor_of(url),))
        with World(tmp_path / "ledger.db", log=anchored) as world:
            session = world.session()
            notes = []
            for number in range(5):
                eliminate(world, session, f"o{number}")
                notes.append(world.root.sign_checkpoint().note)
            going_on.set()
        assert [body.decode() for body in receiver.heard] == notes
        for words in ("answered with 500", "answered with 302", "did not answer in 0.5 seconds"):
            assert f"`{url}" in caplog.text
            assert words in caplog.text
    with World(tmp_path / "ledger.db", log=anchored) as world:  # nobody is there
        eliminate(world, session)
        assert world.root.sign_checkpoint() == world.agent.log_checkpoint()
        assert "was not anchored" in caplog.records[-1].getMessage()


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("http://ann:hush@127.0.0.1:9/a?key=hush", "`http://127.0.0.1:9/a`: "),
        ("http://ann:hu/hush@127.0.0.1:9/a", "`http://...` is no URL"),
    ],
)
def test_what_is_told_of_an_anchor_that_fails_has_no_secret_in_it(
    tmp_path: Path, settings: LogSettings, caplog: pytest.LogCaptureFixture, place: str, shown: str
) -> None:
    with World(tmp_path / "ledger.db", log=replace(settings, anchors=(anchor_of(place),))) as world:
        world.session()
        with caplog.at_level("WARNING", logger="beliefd"):
            world.root.sign_checkpoint()
    told = " ".join(one.getMessage() for one in caplog.records if one.name.startswith("beliefd"))
    assert f"was not anchored: {shown}" in told
    assert "hush" not in told
    with pytest.raises(BeliefdError, match="no place") as refused:
        anchor_of(place.replace("http", "HTTP", 1))
    assert "hush" not in refused.value.message


def test_a_server_signs_on_its_schedule_and_gives_leaves_as_sessions_grow(
    tmp_path: Path, settings: LogSettings
) -> None:
    async def waits(world: World) -> list[KeptCheckpoint]:
        runtime = world.runtime
        chores = [asyncio.ensure_future(one.run()) for one in (runtime.sequencer, runtime.checkpoints)]
        try:
            async with asyncio.timeout(60):
                while not (kept := await world.store.checkpoints(1)):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            return kept
        finally:
            for chore in chores:
                chore.cancel()

    with World(tmp_path / "ledger.db", log=replace(settings, every=0.05)) as world:
        world.session()
        (kept,) = world.run(lambda: waits(world))
        assert kept.size >= 1
