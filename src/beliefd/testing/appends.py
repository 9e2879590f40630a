"""Appends to make and stores to watch: what the store contract is written with."""

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Any

from beliefd.kernel.canonical import canonical
from beliefd.kernel.values import Head
from beliefd.ledger.envelope import Sealed, head_of
from beliefd.stores.base import Append, HeadMoved, SavedState, Store, UsedKey

PATIENCE_SECONDS = 30.0
CREATED = "2026-01-01T00:00:00.000000Z"


def entry(session_id: str, seq: int, text: str = "") -> Sealed:
    """An entry that a store must keep as it is; stores do not look inside."""
    event_id = f"{session_id}-{seq}"
    record = canonical({"event_id": event_id, "seq": seq, "session_id": session_id, "text": text})
    return Sealed(seq, event_id, record, hashlib.sha256(record).hexdigest())


def chain(session_id: str, length: int, text: str = "") -> list[Sealed]:
    return [entry(session_id, seq, text) for seq in range(1, length + 1)]


def batch(
    session_id: str, expected: Head | None, entries: list[Sealed], created_at: str = CREATED, **rest: Any
) -> Append:
    return Append(session_id, expected, entries, created_at, **rest)


def full_batch(session_id: str, expected: Head | None, entries: list[Sealed]) -> Append:
    last = entries[-1].seq
    return batch(
        session_id,
        expected,
        entries,
        policies=[(f"{session_id} policy", b"policy")],
        used_keys=[UsedKey("agent://a", f"{session_id} key", "request", session_id, last)],
        saved_state=SavedState(last, b"state"),
    )


def same(found: Sequence[object], wanted: Sequence[object]) -> bool:
    """For long lists and long entries: a test runner that explains how they differ takes minutes to."""
    return list(found) == list(wanted)


async def race(store: Store, expected: Head | None, other: Store | None = None, racers: int = 16) -> None:
    """Let many append at one head, each something else; one must win, and all of it must be there."""
    seq = 1 if expected is None else expected.seq + 1
    runs = [[entry("s", seq, f"racer {n}"), entry("s", seq + 1, f"racer {n}")] for n in range(racers)]
    stores = [store, other or store]
    before = await store.entries("s")
    outcomes = await outcomes_of(
        stores[n % 2].append(batch("s", expected, run)) for n, run in enumerate(runs)
    )
    winners = [n for n, outcome in enumerate(outcomes) if outcome is None]
    assert len(winners) == 1, outcomes
    assert all(isinstance(outcome, HeadMoved) for outcome in outcomes if outcome is not None), outcomes
    assert await store.entries("s") == before + runs[winners[0]]
    assert await store.head("s") == head_of(runs[winners[0]][-1])


async def outcomes_of(works: Iterable[Awaitable[None]]) -> list[BaseException | None]:
    return list(await asyncio.gather(*works, return_exceptions=True))


async def nothing_of(store: Store, refused: Append, keys: Any) -> None:
    stored = await store.entries(refused.session_id)
    assert not {one.hash for one in refused.entries} & {one.hash for one in stored}
    assert await store.saved_state(refused.session_id) is None
    for name, _ in refused.policies:
        assert await store.policy(name) is None
    for used in keys:
        assert await store.used_key(used.principal, used.key) is None


async def eventually(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.005)


async def eventually_hears(heard: list[str], other: Store) -> None:
    """Another store's append is heard of by its id, or as "" where the technology cannot tell more."""
    await other.append(batch("far", None, chain("far", 1)))
    await eventually(lambda: "far" in heard or "" in heard)
    # That may have been the greeting of a feed that came up late; once all is quiet, a notice is a notice.
    await asyncio.sleep(0.5)
    heard.clear()
    await other.append(batch("away", None, chain("away", 1)))
    await eventually(lambda: "away" in heard or "" in heard)


@contextlib.contextmanager
def raises(kind: type[Exception]) -> Iterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
