"""A tampered ledger is not served: whatever is given out or built upon was checked against the chain."""

import ast
import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from beliefd.embedded import AsyncEmbedded
from beliefd.http.metrics import Metrics
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.marks import STEP
from beliefd.steward import chains as chains_module
from beliefd.steward.bootstrap import Runtime, bootstrap
from beliefd.steward.chains import Chains
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.steward.effects import scrub as scrub_module
from beliefd.steward.effects.scrub import Scrub
from beliefd.steward.write import positions as positions_module
from beliefd.stores.base import Store
from beliefd.stores.memory import MemoryStore
from beliefd.stores.opening import MEMORY
from beliefd.testing.world import ONTOLOGY
from tests.knowledge.story import refuted, supported
from tests.steward.counting import Counting
from tests.steward.places import Place, names

pytestmark = pytest.mark.anyio

LENGTH = 400
"""More than a saved state waits for."""
FORGED = 5
ROOT = Path(__file__).parents[2]


async def opened(place: Place) -> AsyncEmbedded:
    """The ledgers as another process sees them."""
    runtime: Runtime = bootstrap(await place.store())
    place.runtimes.append(runtime)
    return AsyncEmbedded(runtime, LOCAL_OPERATOR)


def stored(place: Place) -> Store:
    return place.runtimes[0].steward.store


async def history(calls: AsyncEmbedded, length: int = LENGTH) -> str:
    session_id = (await calls.declare_session(list(names(40)), ONTOLOGY)).session_id
    saying = (
        calls.eliminate(
            session_id,
            source_id="s",
            observation_id=f"o{n}",
            eliminated=[names(30)[n % 30]],
            justification={"seen": "the truth"},
        )
        for n in range(length - 1)
    )
    await asyncio.gather(*saying)
    return session_id


async def forge(place: Place, session_id: str, seq: int = FORGED, *, rehash: bool = False) -> None:
    """Change the words of an event under a running server, and its hash with it if so told."""
    (entry,) = await stored(place).entries(session_id, seq - 1, 1)
    record = entry.record.replace(b"the truth", b"forgeries")
    assert record != entry.record
    forged = Sealed(seq, entry.event_id, record, sha256(record).hexdigest() if rehash else entry.hash)
    await put(place, session_id, forged)


async def put(place: Place, session_id: str, entry: Sealed) -> None:
    values = (entry.record.decode(), entry.hash, session_id, entry.seq)
    target = str(place.target)
    if target == MEMORY:
        place.memory._entries[session_id][entry.seq - 1] = entry
    elif target.startswith("postgres"):
        connection = await asyncpg.connect(target)
        await connection.execute("ALTER TABLE audit_events DISABLE TRIGGER USER")
        update = "UPDATE audit_events SET record = $1, hash = $2 WHERE session_id = $3 AND seq = $4"
        await connection.execute(update, *values)
        await connection.close()
    else:
        with sqlite3.connect(target) as file:
            for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                file.execute(f"DROP TRIGGER {name}")
            update = "UPDATE audit_events SET record = ?, hash = ? WHERE session_id = ? AND seq = ?"
            assert file.execute(update, values).rowcount == 1
        file.close()


async def refused(work: Awaitable[object], seq: int) -> None:
    with pytest.raises(BeliefdError) as raised:
        await work
    assert raised.value.code is Code.LEDGER_BROKEN
    assert raised.value.details is not None
    assert raised.value.details["seq"] == seq


def questions(calls: AsyncEmbedded, session_id: str) -> dict[str, Callable[[], Awaitable[object]]]:
    return {
        "why": lambda: calls.why(session_id, names(30)[FORGED - 2]),
        "audit": lambda: calls.audit_trace(session_id, limit=10),
        "export": lambda: calls.export(session_id),
        "counterfactual": lambda: calls.counterfactual(session_id, without_source_ids=["s"]),
        "at": lambda: calls.query_belief(session_id, at=FORGED + 1),
    }


@pytest.mark.parametrize("rehash", [False, True], ids=["bytes", "bytes and hash"])
async def test_a_forged_event_before_the_saved_state_is_found_when_a_session_is_loaded(
    place: Place, rehash: bool
) -> None:
    session_id = await history(await opened(place))
    whole = await history(await opened(place), 3)
    assert await stored(place).saved_state(session_id) is not None
    await forge(place, session_id, rehash=rehash)
    calls = await opened(place)
    bad = FORGED + rehash
    for ask in questions(calls, session_id).values():
        await refused(ask(), bad)
    await refused(calls.query_belief(session_id), bad)
    await refused(_eliminate(calls, session_id), bad)
    page = await calls.list_sessions()
    assert [(one.session_id, one.seq) for one in page.broken] == [(session_id, bad)]
    assert [one.session_id for one in page.sessions] == [whole]
    assert (await calls.list_approvals()).approvals == []


async def test_what_a_broken_session_says_of_propositions_is_skipped_and_the_session_named(
    place: Place,
) -> None:
    await opened(place)
    for story in (supported("a", 1), refuted("b", 2, "c"), refuted("d", 3, "e")):
        await story.write(stored(place))
    calls = await opened(place)
    assert [(one.claim_id, one.status) for one in (await calls.list_propositions()).propositions] == [
        ("c", "unresolved"),
        ("e", "refuted"),
    ]
    (first,) = await stored(place).entries("a", 0, 1)
    await put(place, "a", Sealed(1, first.event_id, first.record.replace(b"leak", b"lead"), first.hash))
    calls = await opened(place)
    page, view, why = (
        await calls.list_propositions(),
        await calls.show_proposition("c"),
        await calls.why_proposition("c"),
    )
    assert [(one.claim_id, one.status) for one in page.propositions] == [("c", "refuted"), ("e", "refuted")]
    assert (view.status, view.truth_assertion.warrants) == ("refuted", "refuted")
    assert {step.session_id for step in why.steps} == {"b"}
    for answer in (page, view, why):
        assert [(one.session_id, one.seq) for one in answer.broken] == [("a", 1)]


async def _eliminate(calls: AsyncEmbedded, session_id: str) -> object:
    return await calls.eliminate(session_id, source_id="s", observation_id="o", eliminated=["h0001"])


@pytest.mark.parametrize("question", ["why", "audit", "export", "counterfactual", "at"])
async def test_what_is_changed_under_a_running_server_is_not_given_out_and_ends_the_writing(
    place: Place, question: str
) -> None:
    calls = await opened(place)
    session_id = await history(calls)
    ask = questions(calls, session_id)[question]
    await ask()
    await forge(place, session_id, rehash=True)
    await refused(ask(), FORGED + 1)
    await refused(_eliminate(calls, session_id), FORGED + 1)
    assert (await stored(place).head(session_id)).seq == LENGTH  # type: ignore[union-attr]


async def test_a_ledger_that_was_put_right_is_served_again(place: Place) -> None:
    calls = await opened(place)
    session_id = await history(calls)
    (honest,) = await stored(place).entries(session_id, FORGED - 1, 1)
    await forge(place, session_id)
    await refused(calls.why(session_id, "h0003"), FORGED)
    await put(place, session_id, honest)
    await _eliminate(calls, session_id)
    assert (await calls.why(session_id, "h0003")).events[0].justification == {"seen": "the truth"}


async def test_a_chain_is_followed_once_and_parts_of_it_are_checked_by_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(positions_module, "MAX_SESSIONS", 1)
    store = Counting(MemoryStore())
    calls = AsyncEmbedded(bootstrap(store), LOCAL_OPERATOR)  # type: ignore[arg-type]
    session_id = await history(calls, 2_000)
    store.read = 0
    for _ in range(3):
        await calls.audit_trace(session_id, limit=1)
    assert store.read <= 3 * (STEP + 1)
    await history(calls, 2)  # the other session is not in memory any more
    store.read = 0
    await calls.query_belief(session_id)
    assert store.read <= 256 + 4 * (STEP + 1), "it was followed from its beginning again"


async def test_many_who_ask_at_once_wait_for_the_one_who_follows_the_chain() -> None:
    store = Counting(MemoryStore())
    session_id = await history(AsyncEmbedded(bootstrap(store), LOCAL_OPERATOR), 1_000)  # type: ignore[arg-type]
    chains = Chains(store)  # type: ignore[arg-type]
    store.read = 0
    await asyncio.gather(*(chains.entries(session_id, 0, 1) for _ in range(10)))
    assert store.read <= 1_000 + 2 + 10 * STEP, "the rows of the first and the last are looked at, once"


async def test_a_broken_ledger_is_not_hashed_again_for_everybody_who_asks() -> None:
    memory = MemoryStore()
    store = Counting(memory)
    calls = AsyncEmbedded(bootstrap(store), LOCAL_OPERATOR)  # type: ignore[arg-type]
    session_id = await history(calls, 1_000)
    place = Place(MEMORY)
    place.memory = memory
    place.runtimes.append(calls.runtime)
    await forge(place, session_id, 700)
    await refused(calls.export(session_id), 700)
    store.read = 0
    for _ in range(10):
        await refused(calls.query_belief(session_id), 700)
        await refused(_eliminate(calls, session_id), 700)
    assert store.read <= 20 * 2


async def test_what_is_known_of_chains_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains_module, "MAX_SESSIONS", 3)
    calls = AsyncEmbedded(bootstrap(MemoryStore()), LOCAL_OPERATOR)
    sessions = [await history(calls, 70) for _ in range(6)]
    chains: Chains = calls.runtime.steward.positions.chains
    assert [chains.known(one).seq for one in sessions] == [0, 0, 0, 70, 70, 70]
    for one in sessions:
        assert len((await calls.audit_trace(one)).events) == 70


async def test_those_who_wait_for_their_check_hold_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = AsyncEmbedded(bootstrap(MemoryStore()), LOCAL_OPERATOR)
    session_id = await history(calls, 10)
    chains: Chains = calls.runtime.steward.positions.chains
    read, held, let_go = chains.store.entries, 0, asyncio.Event()

    async def waiting(*asked: Any) -> Any:
        nonlocal held
        held += 1
        await let_go.wait()
        return await read(*asked)

    monkeypatch.setattr(chains.store, "entries", waiting)
    asking = [asyncio.ensure_future(chains.entries(session_id, 0, 1)) for _ in range(20)]
    for _ in range(100):
        await asyncio.sleep(0)
    assert held == chains_module.CHECKED_AT_ONCE
    let_go.set()
    assert [len(one) for one in await asyncio.gather(*asking)] == [1] * 20


# -- the scrub -------------------------------------------------------------------------------------------


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SHARE", "LEAST_REST", "NOTE_SECONDS"):
        monkeypatch.setattr(scrub_module, name, 0)
    monkeypatch.setattr(scrub_module, "STEP", 100)


@pytest.mark.usefixtures("hasty")
async def test_the_scrub_finds_what_nobody_asks_for(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    calls = await opened(place)
    session_id, whole = await history(calls), await history(calls, 3)
    chains = calls.runtime.steward.positions.chains
    scrub = Scrub(chains)
    await scrub.round()
    assert (chains.scrubbed, len(chains.broken)) == (LENGTH + 3, 0)
    (honest,) = await stored(place).entries(session_id, FORGED - 1, 1)
    await forge(place, session_id)
    await _eliminate(calls, whole)
    with caplog.at_level(logging.WARNING):
        await scrub.round()
        await scrub.round()
    assert [session_id in one.message for one in caplog.records if one.name == "beliefd.scrub"] == [True], (
        "it is said once"
    )
    assert b"\nbeliefd_ledgers_broken 1\n" in Metrics().render(calls.steward)
    await refused(_eliminate(calls, session_id), FORGED)
    await _eliminate(calls, whole)
    await put(place, session_id, honest)
    await scrub.round()
    assert not chains.broken
    await _eliminate(calls, session_id)


@pytest.mark.usefixtures("hasty")
async def test_the_scrub_goes_on_where_it_was_broken_off(tmp_path: Path) -> None:
    store = Counting(MemoryStore())
    calls = AsyncEmbedded(bootstrap(store), LOCAL_OPERATOR)  # type: ignore[arg-type]
    chains = calls.runtime.steward.positions.chains
    session_id, _ = await history(calls, 350), await history(calls, 10)
    file = tmp_path / "scrub.json"
    stopped = Scrub(chains, file)
    real, taken = store.replay, 0

    async def replay(*args: object) -> None:
        nonlocal taken
        taken += 1
        if taken == 4:
            raise KeyboardInterrupt
        await real(*args)  # type: ignore[arg-type]

    store.replay = replay  # type: ignore[assignment,method-assign]
    with pytest.raises(KeyboardInterrupt):
        await stopped.round()
    store.replay = real  # type: ignore[method-assign]
    assert file.stat().st_mode & 0o077 == 0
    chains.scrubbed = 0
    await Scrub(chains, file).round()
    assert chains.scrubbed == 50 + 10
    assert not file.exists()
    # A place that somebody made up leads to no false alarm.
    file.write_text(f'{{"session_id":"{session_id}","seq":200,"hash":"{"0" * 64}"}}')
    chains.scrubbed = 0
    await Scrub(chains, file).round()
    assert (chains.scrubbed, len(chains.broken)) == (350 + 10, 0)


# -- rows that can hardly be read ------------------------------------------------------------------------

DAMAGE = {
    "a delta that cannot be folded": """UPDATE audit_events SET record = replace(record,
        '"kind":"eliminated"', '"kind":"exit_ruled"') WHERE session_id = ? AND seq = 20""",
    "the first event is junk": "UPDATE audit_events SET record = 'junk' WHERE session_id = ? AND seq = 1",
    "a record is no text": "UPDATE audit_events SET record = x'ff00' WHERE session_id = ? AND seq = 20",
    "an id is no text": "UPDATE audit_events SET event_id = x'ff00' WHERE session_id = ? AND seq = 20",
    "an id is no UTF-8": (
        "UPDATE audit_events SET event_id = CAST(x'ff00' AS text) WHERE session_id = ? AND seq = 20"
    ),
    "a hash is a number": "UPDATE audit_events SET hash = 5 WHERE session_id = ? AND seq = 20",
    "a place is a word": "UPDATE audit_events SET seq = 'last' WHERE session_id = ? AND seq = 300",
    "the head is a word": "UPDATE sessions SET head_seq = 'last' WHERE session_id = ?",
    "the head is nowhere": "UPDATE sessions SET head_seq = 9 WHERE session_id = ?",
    "the head is past the end": "UPDATE sessions SET head_seq = 900 WHERE session_id = ?",
    "all events are gone": "DELETE FROM audit_events WHERE session_id = ?",
}


@pytest.mark.parametrize("statement", DAMAGE.values(), ids=DAMAGE.keys())
async def test_one_broken_session_hides_no_other_however_it_is_broken(tmp_path: Path, statement: str) -> None:
    place = Place(tmp_path / "ledger.db")
    calls = await opened(place)
    session_id, whole = await history(calls, 300), await history(calls, 3)
    await forge(place, session_id, 2)  # drops the triggers
    with sqlite3.connect(tmp_path / "ledger.db") as file:
        assert file.execute(statement, (session_id,)).rowcount > 0
    file.close()
    calls = await opened(place)
    page = await calls.list_sessions()
    assert [one.session_id for one in page.sessions] == [whole]
    assert [one.session_id for one in page.broken] == [session_id]
    with pytest.raises(BeliefdError) as raised:
        await calls.why(session_id, "h0001")
    assert raised.value.code is Code.LEDGER_BROKEN
    await calls.runtime.steward.positions.chains.store.ping()
    await place.close()


# -- the rule itself -------------------------------------------------------------------------------------


def test_handlers_facts_and_effects_are_given_the_store_that_checks() -> None:
    wired = ast.parse((ROOT / "src/beliefd/steward/bootstrap.py").read_text())
    given = {
        ast.unparse(call.func)
        for call in ast.walk(wired)
        if isinstance(call, ast.Call) and any(ast.unparse(one) == "store" for one in call.args)
    }
    # Buckets count requests, and read no ledger.
    assert given == {"Buckets", "Positions", "PolicyInForce", "Steward", "bootstrap"}
