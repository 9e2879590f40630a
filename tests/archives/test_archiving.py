"""Sealed ledgers leave the store and come back: whole, verified, and never on neither side."""

import hashlib
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from beliefd.cli.archiving import archive, unarchive, verified
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.system.events import LedgerArchived, LedgerUnarchived
from beliefd.kernel.system.state import SYSTEM
from beliefd.ledger.merkle import leaf_hash, verify_inclusion
from beliefd.steward import archiving
from beliefd.steward.collecting import collect
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.steward.log_repair import look, rebuild
from beliefd.steward.projections.rebuilding import stray_differences
from beliefd.testing.world import ONTOLOGY, World, refused
from tests.claims.support import bundle, claim
from tests.conformance.node import verify_with_node


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with World(tmp_path / "ledger.db", log=LogSettings(key=tmp_path / "log.key")) as opened:
        yield opened


def story(world: World, length: int = 3) -> str:
    names = [f"h{number}" for number in range(length + 1)]
    session = world.agent.declare_session(names, ONTOLOGY, idempotency_key="declared").session_id
    for name in names[:length]:
        world.agent.eliminate(
            session,
            source_id="s",
            observation_id=name,
            eliminated=[name],
            justification={},
            idempotency_key=name,
        )
    return session


def put_away(world: World, session: str, folder: Path) -> Path:
    done = archive(world, (session,), folder, None, False, "over")
    assert [one.session_id for one in done.archived] == [session]
    return Path(done.archived[0].place)


def test_every_question_says_where_an_archived_session_is(world: World, tmp_path: Path) -> None:
    session, other = story(world), world.session()
    path = put_away(world, session, tmp_path / "away")
    ask = [
        lambda: world.query_belief(session),
        lambda: world.query_belief(session, at=1),
        lambda: world.why(session, "h1"),
        lambda: world.audit_trace(session),
        lambda: world.verify(session),
        lambda: world.export(session),
        lambda: world.search_audit(session=session),
        lambda: world.counterfactual(session, without_attested=True),
        lambda: world.unseal_session(session),
        lambda: world.agent.eliminate(session, source_id="s", observation_id="o", eliminated=["h1"]),
        # What was asked with a key was answered once, and is not done again.
        lambda: world.agent.declare_session(["h0", "h1", "h2", "h3"], ONTOLOGY, idempotency_key="declared"),
    ]
    header = verified(path)
    for question in ask:
        error = refused(Code.SESSION_ARCHIVED, question)
        assert error.details is not None
        assert (error.details["place"], error.details["events"]) == (str(path), 5)
        assert error.details["head"]["hash"] == header.head.hash
        assert error.details["file_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    page = world.list_sessions()
    assert [one.session_id for one in page.sessions] == [other]
    assert [(one.session_id, one.place) for one in page.archived] == [(session, str(path))]
    assert world.list_sessions(limit=1).next == session
    found = world.search_audit(text="h1")
    assert ({one["session_id"] for one in found.events}, found.archived) == ({other}, 1)
    refused(Code.SESSION_NOT_FOUND, lambda: world.query_belief("nobody"))
    said = [one for one in world.deltas(SYSTEM) if isinstance(one, LedgerArchived)]
    assert [(one.session_id, one.place) for one in said] == [(session, str(path))]
    world.check(SYSTEM)
    assert verify_with_node(world.export(SYSTEM)).code == 0
    assert verify_with_node(path.read_bytes()).code == 0


def test_the_log_stays_provable_and_can_be_checked_and_built_anew(world: World, tmp_path: Path) -> None:
    session = story(world, 40)
    put_away(world, session, tmp_path / "away")
    world.session()
    world.sign_checkpoint()
    proof = world.audit_proof(session)
    assert (proof.seq, proof.event_id) == (42, world.run(lambda: world.store.archived(session)).head.event_id)  # type: ignore[union-attr]
    path = [bytes.fromhex(one) for one in proof.path]
    leaf = leaf_hash(bytes.fromhex(proof.hash))
    verify_inclusion(leaf, proof.index, proof.size, path, bytes.fromhex(proof.root))
    assert world.audit_proof(session, proof.event_id) == proof
    refused(Code.SESSION_ARCHIVED, lambda: world.audit_proof(session, "another"))
    assert world.run(lambda: look(world.store)).ok
    size = world.run(world.store.log_size)
    kept = world.run(lambda: world.store.tiles([(0, 0)]))
    assert world.run(lambda: world.store.put_tiles(size, {(0, 0): bytes(len(kept[0, 0]))}))
    assert list(world.run(lambda: rebuild(world.store)).tiles) == [(0, 0)]
    assert world.run(lambda: world.store.tiles([(0, 0)])) == kept


def test_what_spans_sessions_stays_as_it_was(world: World, tmp_path: Path) -> None:
    session = world.session()
    content = b"what was seen"
    sha256 = world.agent.store_content(content).sha256
    world.agent.eliminate(
        session, source_id="s", observation_id="o", eliminated=["h1"], justification={"seen": sha256}
    )
    uncited = world.agent.store_content(b"nobody speaks of it").sha256
    card = world.agent.submit_claims(session, bundle(claim("DELETE")))
    world.root.decide_approval(str(card.approval_id), "REJECTED", content_hash=card.content_hash, reason="no")
    rows = world.rows()
    put_away(world, session, tmp_path / "away")
    assert [row.approval_id for row in world.rows()] == [row.approval_id for row in rows]
    listed = world.list_approvals(status="rejected")
    assert (listed.approvals, [one.session_id for one in listed.archived]) == ([], [session])
    refused(Code.SESSION_ARCHIVED, lambda: world.show_approval(str(card.approval_id)))
    assert world.run(lambda: stray_differences(world.store)) == []
    removed = world.run(lambda: collect(world.store, "9999"))
    assert [one.sha256 for one in removed] == [uncited]
    assert world.run(lambda: world.store.content(sha256)) == content


def test_an_archive_comes_back_byte_for_byte_and_goes_on(world: World, tmp_path: Path) -> None:
    session = story(world)
    before, exported = world.entries(session), None
    path = put_away(world, session, tmp_path / "away")
    exported = path.read_bytes()
    world.forget()
    assert unarchive(world, path) == 5
    assert world.export(session) == exported
    assert world.entries(session)[:4] == before
    world.check(session)
    assert [one.session_id for one in world.list_sessions().sessions] == [session]
    repeated = world.agent.declare_session(["h0", "h1", "h2", "h3"], ONTOLOGY, idempotency_key="declared")
    assert repeated.session_id == session
    assert isinstance(world.deltas(SYSTEM)[-1], LedgerUnarchived)
    world.unseal_session(session)
    again = put_away(world, session, tmp_path / "again")
    assert len(again.read_bytes().splitlines()) == 8
    assert world.run(lambda: look(world.store)).ok
    refused(Code.ARCHIVE_INVALID, lambda: unarchive(world, path))


def test_a_damaged_cut_or_foreign_archive_is_refused_by_name(world: World, tmp_path: Path) -> None:
    session, other = story(world, 40), story_of_another(world)
    path, foreign = put_away(world, session, tmp_path / "away"), put_away(world, other, tmp_path / "away")
    lines = path.read_bytes().splitlines(keepends=True)
    bad = tmp_path / "bad.jsonl"
    cases = {
        "event 3 is damaged": [*lines[:3], lines[3].replace(b"h1", b"h9"), *lines[4:]],
        "cut: event 11": lines[:11],
        "event 3 is missing": [*lines[:3], *lines[4:]],
        "no exported ledger": [b"{}\n", *lines[1:]],
        "event 5 cannot be read": [*lines[:5], b"\xff{\n", *lines[6:]],
        "event 43 is missing": [*lines, lines[-1]],
        "is empty": [],
    }
    before = world.run(lambda: world.store.archived(session))
    for name, content in cases.items():
        bad.write_bytes(b"".join(content))
        with pytest.raises(BeliefdError) as caught:
            world.unarchive_session(session, bad.read_bytes())
        assert caught.value.code is Code.ARCHIVE_INVALID, name
        if name != "is empty":
            assert name in caught.value.message
        assert world.run(lambda: world.store.archived(session)) == before
        assert world.entries(session) == []
    error = refused(Code.ARCHIVE_INVALID, lambda: world.unarchive_session(session, foreign.read_bytes()))
    assert f"it is the ledger of session `{other}`" in error.message
    refused(Code.SESSION_NOT_FOUND, lambda: world.unarchive_session("nobody", path.read_bytes()))
    refused(Code.FORBIDDEN, lambda: world.agent.unarchive_session(session, path.read_bytes()))
    assert world.unarchive_session(session, path.read_bytes()).events == 42
    refused(Code.CONFLICT, lambda: world.unarchive_session(session, path.read_bytes()))


def story_of_another(world: World) -> str:
    return world.agent.declare_session(["a", "b"], ONTOLOGY).session_id


def test_only_a_sealed_ledger_is_taken_out_and_only_who_has_its_bytes_can_say_so(world: World) -> None:
    session = story(world)
    digest = hashlib.sha256(world.export(session)).hexdigest()
    error = refused(Code.CONFLICT, lambda: world.archive_session(session, "here", digest))
    assert "is not sealed" in error.message
    world.seal_session(session)
    error = refused(Code.ARCHIVE_INVALID, lambda: world.archive_session(session, "here", digest))
    digest = hashlib.sha256(world.export(session)).hexdigest()
    assert digest in error.message
    refused(Code.FORBIDDEN, lambda: world.agent.archive_session(session, "here", digest))
    assert world.verify(session).ok
    done = world.archive_session(session, "here", digest)
    assert world.archive_session(session, "here", digest) == done
    refused(Code.CONFLICT, lambda: world.archive_session(session, "here", "0" * 64))
    refused(Code.CONFLICT, lambda: world.archive_session(SYSTEM, "here", digest))


def test_a_stub_that_the_servers_own_ledger_does_not_know_brings_nothing_back(
    world: World, tmp_path: Path
) -> None:
    session, other = story(world), story_of_another(world)
    path = put_away(world, session, tmp_path / "away")
    put_away(world, other, tmp_path / "away")
    stub = world.run(lambda: world.store.archived(session))
    assert stub is not None
    noted = world.run(lambda: world.store.archived(other)).noted  # type: ignore[union-attr]
    _tamper(tmp_path / "ledger.db", session, noted)
    error = refused(Code.LEDGER_BROKEN, lambda: unarchive(world, path))
    assert "is not what the server's own ledger says" in error.message


def _tamper(path: Path, session: str, noted: int) -> None:
    with sqlite3.connect(path) as file:
        file.execute("DROP TRIGGER archives_keep_update")
        file.execute("UPDATE archives SET noted = ? WHERE session_id = ?", (noted, session))
    file.close()


def test_another_process_learns_that_a_session_is_elsewhere(world: World, tmp_path: Path) -> None:
    with World(tmp_path / "ledger.db") as other:
        session = story(world)
        assert other.query_belief(session).seq == 4
        path = put_away(world, session, tmp_path / "away")
        refused(Code.SESSION_ARCHIVED, lambda: other.query_belief(session))
        refused(Code.SESSION_ARCHIVED, lambda: other.unseal_session(session))
        unarchive(other, path)
        assert world.query_belief(session).seq == 5
        world.unseal_session(session)


STEPS = ("_refuse_other_file", "_keep_hashes", "_said", "_remove", "removing", "putting", "unarchive")
KILLED = """
import os, signal, sys
from pathlib import Path
from beliefd.cli.archiving import archive, unarchive
from beliefd.steward import archiving
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.world import World

step, folder, session = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
async def die_after(self, *rest):
    count = await self.really(*rest)
    die()
if step == "removing":
    archiving.AT_ONCE, SqliteStore.really = 2, SqliteStore.remove_archived
    SqliteStore.remove_archived = die_after
elif step == "putting":
    archiving.CHUNK, SqliteStore.really, SqliteStore.put_archived = 32, SqliteStore.put_archived, die_after
elif step == "unarchive":
    SqliteStore.really, SqliteStore.unarchive = SqliteStore.unarchive, die_after
else:
    setattr(archiving.Archiving, step, die)
with World(folder / "ledger.db", log=LogSettings(key=folder / "log.key")) as world:
    if step in ("putting", "unarchive"):
        unarchive(world, folder / "away" / f"{session}.jsonl")
    else:
        archive(world, (session,), folder / "away", None, False, "over")
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_after_a_kill_a_ledger_is_whole_on_one_side_at_least(step: str, tmp_path: Path) -> None:
    settings = LogSettings(key=tmp_path / "log.key")
    with World(tmp_path / "ledger.db", log=settings) as world:
        session = story(world, 40)
        back = step in ("putting", "unarchive")
        if back:
            put_away(world, session, tmp_path / "away")
    killed = subprocess.run([sys.executable, "-c", KILLED, step, str(tmp_path), session], check=False)
    assert killed.returncode == -signal.SIGKILL
    path = tmp_path / "away" / f"{session}.jsonl"
    with World(tmp_path / "ledger.db", log=settings) as world:
        stub = world.run(lambda: world.store.archived(session))
        if stub is None:
            assert world.verify(session).ok
        else:
            refused(Code.SESSION_ARCHIVED, lambda: world.verify(session))
            assert verified(path).head == stub.head
        assert (stub is None) == (step in (*STEPS[:3], "unarchive"))
        assert world.run(lambda: look(world.store)).ok
        if not back:
            archive(world, () if stub else (session,), tmp_path / "away", 9e9 if stub else None, False, "")
        if step != "unarchive":
            assert unarchive(world, path) == 42
        world.check(session)
        assert world.export(session) == path.read_bytes()
    assert not (tmp_path / "away" / ".archiving").exists() or back


def test_a_long_ledger_comes_and_goes_in_pieces(world: World, tmp_path: Path) -> None:
    """More than one piece of everything: of hashes, of what is put back, of what is removed."""
    session = story(world, 120)
    kept = archiving.CHUNK, archiving.AT_ONCE
    archiving.CHUNK, archiving.AT_ONCE = 32, 50  # type: ignore[misc]
    try:
        path = put_away(world, session, tmp_path / "away")
        assert world.entries(session) == []
        assert unarchive(world, path) == 122
    finally:
        archiving.CHUNK, archiving.AT_ONCE = kept  # type: ignore[misc]
    world.check(session)
    assert world.export(session) == path.read_bytes()
