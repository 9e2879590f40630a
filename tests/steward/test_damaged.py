"""A row that was damaged or put there by somebody: it is not believed, and it hides nothing beside it."""

import hashlib
import logging
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from beliefd.cli.commands.doctor import examine
from beliefd.kernel.canonical import canonical
from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.chain import policy_hash
from beliefd.steward.bootstrap import bootstrap, start
from beliefd.stores.base import Adoption, Store
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import ONTOLOGY, World
from tests.claims.support import delete
from tests.spaces.support import LAB, with_rights

ADMIN = Principal(id="admin://zoe", role=Role.ADMIN)
STRICT = Policy(uncertainty=UncertaintyPolicy(explain_above=0.1, defer_above=0.2))
LOOSE = Policy(uncertainty=UncertaintyPolicy(explain_above=0.9, defer_above=1.0))


def adoption(policy: Policy) -> Adoption:
    document = canonical(msgspec.to_builtins(policy))
    return Adoption(hashlib.sha256(document).hexdigest(), document, "2026-01-01T00:00:00.000000Z", ADMIN.id)


def damage(path: Path, statement: str, *values: object) -> None:
    """Write past the server, and past the triggers that keep others from it."""
    with closing(sqlite3.connect(path)) as file, file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        assert file.execute(statement, values).rowcount > 0


def code_of(ask: Callable[[], object]) -> Code | None:
    try:
        ask()
    except BeliefdError as error:
        return error.code
    return None


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "beliefd.db"


# -- adopted policies ------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_policy_that_no_event_adopted_is_not_followed(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    running = (await start(store)).steward.in_force
    await running.bring_into_force(STRICT, ADMIN)
    await store.adopt(adoption(LOOSE))
    for _ in range(3):
        await running._catch_up()
    told = [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
    assert [policy_hash(LOOSE) in one for one in told] == [True], "it is said once"
    later = (await start(store)).steward.in_force
    assert (running.policy, later.policy) == (STRICT, STRICT)
    assert later.origin.adopted_by == ADMIN.id


@pytest.mark.anyio
async def test_a_row_whose_event_is_just_being_written_is_no_alarm(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    here, there = (await start(store)).steward.in_force, (await start(store)).steward.in_force
    record = here.record

    async def meanwhile(*args: object) -> None:
        await there._catch_up()
        await record(*args)  # type: ignore[arg-type]

    here.record = meanwhile
    await here.bring_into_force(STRICT, ADMIN)
    await there._catch_up()
    assert there.policy == STRICT
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


@pytest.mark.anyio
async def test_an_adopted_policy_whose_row_is_gone_is_not_replaced_by_an_earlier_one() -> None:
    store = MemoryStore()
    running = (await start(store)).steward.in_force
    await running.bring_into_force(LOOSE, ADMIN)
    await running.bring_into_force(STRICT, ADMIN)
    store._adopted.pop()
    with pytest.raises(BeliefdError, match="not in the store any more"):
        await start(store)
    with pytest.raises(BeliefdError, match="not in the store any more"):
        await bootstrap(store).steward.in_force._catch_up()


def test_the_doctor_names_a_policy_that_no_event_adopted(file: Path) -> None:
    with World(file) as world:
        world.root.adopt_policy(STRICT)
    row = adoption(LOOSE)
    columns = "policy_hash, document, adopted_at, adopted_by"
    damage(file, f"INSERT INTO adoptions ({columns}) VALUES (?, ?, ?, ?)", *msgspec.structs.astuple(row))
    (wrong,) = [one for one in examine(file.parent, None) if one.check == "policy"]
    assert (wrong.level, row.policy_hash in wrong.message) == ("wrong", True)


@pytest.mark.anyio
async def test_what_was_adopted_before_there_were_records_of_it_is_recorded_by_the_next_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from beliefd.cli.beginning import begin
    from beliefd.cli.server import ServerSettings

    store = MemoryStore()
    await store.adopt(adoption(STRICT))
    runtime = await start(store)
    await begin(runtime, ServerSettings(secret_file=tmp_path / "no", signing_key=tmp_path / "key"), None)
    assert runtime.steward.in_force.policy == STRICT
    assert await runtime.system.adopted() == policy_hash(STRICT)
    await store.adopt(adoption(LOOSE))
    with caplog.at_level(logging.ERROR):
        assert (await start(store)).steward.in_force.policy == STRICT
    assert policy_hash(LOOSE) in caplog.text


# -- bytes that are no text ------------------------------------------------------------------------------

SPOILT = """UPDATE audit_events SET record =
    CAST(replace(CAST(record AS blob), CAST('agent://' AS blob), x'ff67656e743a2f2f') AS text)
    WHERE session_id = ? AND seq = """
NO_TEXT = {
    "a record": SPOILT + "2",
    "a first record": SPOILT + "1",
    "the hash of the head": "UPDATE sessions SET head_hash = CAST(x'64ff' AS text) WHERE session_id = ?",
    "the id of the head": "UPDATE sessions SET head_event_id = CAST(x'64ff' AS text) WHERE session_id = ?",
}


@pytest.mark.parametrize("running", [False, True], ids=["opened", "running"])
@pytest.mark.parametrize("statement", NO_TEXT.values(), ids=NO_TEXT.keys())
def test_bytes_that_are_no_text_break_one_ledger_and_hide_no_other(
    file: Path, statement: str, running: bool
) -> None:
    world = World(file)
    broken, whole = world.session(), world.session()
    for session_id in (broken, whole):
        world.agent.submit_claims(session_id, delete())
    if not running:
        world.close()
    damage(file, statement, broken)
    world = world if running else World(file)
    with world:
        if running:  # what was read before is known: somebody looks again
            code_of(lambda: world.root.audit_trace(broken))
        assert code_of(lambda: world.root.query_belief(broken)) is Code.LEDGER_BROKEN
        assert code_of(lambda: world.root.audit_trace(broken)) is Code.LEDGER_BROKEN
        assert code_of(lambda: world.root.export(broken)) is Code.LEDGER_BROKEN
        page = world.root.list_sessions()
        assert [one.session_id for one in page.broken] == [broken]
        assert whole in [one.session_id for one in page.sessions]
        inbox = world.root.list_approvals()
        assert [one.session_id for one in inbox.approvals] == [whole]
        assert world.root.verify(whole).ok


@pytest.mark.parametrize("table", ["policies", "snapshots"])
def test_damaged_keys_of_policies_and_saved_states_break_no_answer(file: Path, table: str) -> None:
    with World(file) as world:
        session_id = world.session()
        for number in range(300):
            world.agent.eliminate(session_id, source_id="s", observation_id=f"o{number}", eliminated=["h1"])
    if table == "policies":
        damage(file, "UPDATE policies SET policy_hash = CAST(x'64ff' AS text) || policy_hash")
    else:
        damage(file, "UPDATE snapshots SET state = CAST(x'64ff' AS text) WHERE session_id = ?", session_id)
    with World(file) as world:
        assert world.root.query_belief(session_id).seq == 301
        assert code_of(lambda: world.root.verify(session_id)) is None


# -- the inbox -------------------------------------------------------------------------------------------


def test_a_row_that_is_due_too_early_leads_to_no_event(file: Path) -> None:
    with World(file) as world:
        session_id = world.session()
        bundle = world.agent.submit_claims(session_id, delete())
        damage(file, "UPDATE inbox SET expires_at = '2020-01-01T00:00:00.000000Z'")
        before = len(world.entries(session_id))
        for _ in range(3):
            world.root.list_approvals()
        assert len(world.entries(session_id)) == before
        assert bundle.approval_id is not None
        assert world.root.show_approval(bundle.approval_id).status == "pending"


def test_a_row_of_no_session_hides_nothing_that_waits(file: Path) -> None:
    with World(file) as world:
        stray, whole = world.session(), world.session()
        for session_id in (stray, whole):
            world.agent.submit_claims(session_id, delete())
        damage(file, "UPDATE inbox SET session_id = 'nowhere' WHERE session_id = ?", stray)
        inbox = world.root.list_approvals()
        assert [one.session_id for one in inbox.approvals] == [whole]
        assert [one.session_id for one in inbox.broken] == ["nowhere"]


# -- what stands where -----------------------------------------------------------------------------------


def test_an_index_that_names_another_place_is_not_believed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with World(file) as world:
        session_id = world.session()
        bundle = world.agent.submit_claims(session_id, delete())
        world.ann.reject(bundle)
        before = world.root.show_claims(session_id, bundle.id)
        real = type(world.store).seq_of

        async def elsewhere(store: Store, session: str, event_id: str) -> int | None:
            seq = await real(store, session, event_id)
            return None if seq is None else 1 if seq == 3 else seq + 1

        monkeypatch.setattr(type(world.store), "seq_of", elsewhere)
        assert world.root.show_claims(session_id, bundle.id) == before


def test_a_session_that_was_moved_to_another_space_is_not_served(file: Path) -> None:
    with World(file) as world:
        world.root.create_space(LAB)
        moved = world.agent.declare_session(["a", "b"], ONTOLOGY, space=LAB).session_id
        whole = world.session()
    damage(file, "UPDATE sessions SET space = 'default' WHERE session_id = ?", moved)
    with World(file) as world:
        stranger = world.person(*with_rights(Role.AGENT, "default=read,propose"))
        for ask in (stranger.audit_trace, stranger.query_belief, stranger.export):
            assert code_of(lambda ask=ask: ask(moved)) is Code.LEDGER_BROKEN  # type: ignore[misc]
        page = stranger.list_sessions()
        assert [one.session_id for one in page.sessions] == [whole]
        assert [one.reason for one in page.broken] == [
            "its row says that it is in another space than it began in"
        ]
        assert [one.event_id for one in page.broken] == [None]
        found = stranger.search_audit(verb="DECLARE_SESSION")
        assert [one["session_id"] for one in found.events] == [whole]
        assert found.broken == page.broken
    wrong = [one.message for one in examine(file.parent, None) if one.level == "wrong"]
    assert [moved in one for one in wrong if "space" in one] == [True]
    damage(file, "UPDATE sessions SET space = 'lab' WHERE session_id = ?", moved)
    with World(file) as world:
        assert world.root.query_belief(moved).seq == 1


def test_a_session_that_is_put_back_where_it_belongs_is_served_again_without_a_restart(file: Path) -> None:
    with World(file) as world:
        moved = world.session()
    damage(file, "UPDATE sessions SET space = 'lab' WHERE session_id = ?", moved)
    with World(file) as world:
        assert code_of(lambda: world.root.query_belief(moved)) is Code.LEDGER_BROKEN
        damage(file, "UPDATE sessions SET space = 'default' WHERE session_id = ?", moved)
        assert world.root.query_belief(moved).seq == 1


@pytest.mark.parametrize("column", ["hash", "event_id"])
def test_nothing_is_added_to_an_event_whose_row_is_not_what_its_bytes_say(file: Path, column: str) -> None:
    with World(file) as world:
        session_id = world.session()
    damage(file, f"UPDATE audit_events SET {column} = '{'0' * 64}' WHERE session_id = ?", session_id)
    with World(file) as world:
        assert code_of(lambda: world.agent.submit_claims(session_id, delete())) is Code.LEDGER_BROKEN
        assert code_of(lambda: world.root.query_belief(session_id)) is Code.LEDGER_BROKEN


# -- exports, tokens, repeated requests --------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    ["UPDATE sessions SET head_seq = 0", "UPDATE policies SET document = CAST('{}' AS blob)"],
    ids=["head", "policies"],
)
@pytest.mark.parametrize("running", [False, True], ids=["opened", "running"])
def test_what_could_not_be_verified_elsewhere_is_not_exported(
    file: Path, statement: str, running: bool
) -> None:
    world = World(file)
    session_id = world.session()
    if not running:
        world.close()
    damage(file, statement)
    with world if running else World(file) as again:
        assert code_of(lambda: again.root.export(session_id)) is Code.LEDGER_BROKEN


@pytest.mark.parametrize("spoilt", ["role = 'agnt'", "spaces = 'lab'", "tier = 'X'"])
def test_a_token_that_cannot_be_read_hides_no_other(file: Path, spoilt: str) -> None:
    with World(file) as world:
        for name in ("ann", "bob"):
            world.root.create_token(name, role=Role.AGENT)
        damage(file, f"UPDATE tokens SET {spoilt} WHERE name = 'bob'")
        assert "ann" in [one.name for one in world.root.list_tokens().tokens]


@pytest.mark.parametrize("column", ["session_id", "seq"])
def test_a_remembered_request_that_points_elsewhere_is_not_answered(file: Path, column: str) -> None:
    with World(file) as world:
        here, there = world.session(), world.session()

        def say(session_id: str, key: str | None) -> int:
            told = world.agent.eliminate(
                session_id, source_id="s", observation_id="o", eliminated=["h1"], idempotency_key=key
            )
            return told.snapshot.seq

        assert say(here, "k") == say(here, "k") == say(there, None) == 2
        value = there if column == "session_id" else 1
        damage(file, f"UPDATE idempotency SET {column} = ?", value)
        assert code_of(lambda: say(here, "k")) is Code.STORAGE_UNAVAILABLE
        assert say(here, "another") == 3
