"""The store is asked whether it is ready, once for all who want to know, and in bounded time."""

import asyncio

import httpx
import pytest

from beliefd.http.readiness import Readiness
from beliefd.stores.base import StorageUnavailable
from tests.http.place import Place


def test_the_store_is_asked_once_however_many_want_to_know(place: Place, near: httpx.Client) -> None:
    asked = 0
    ping = place.runtime.steward.store.ping

    async def counting() -> None:
        nonlocal asked
        asked += 1
        await ping()

    readiness = Readiness(counting)

    async def crowd() -> None:
        await asyncio.gather(*(readiness.check() for _ in range(100)))
        for _ in range(100):
            await readiness.check()

    asyncio.run(crowd())
    assert asked == 1


def test_a_probe_that_hangs_is_a_failure_and_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beliefd.http.readiness.PROBE_SECONDS", 0.05)
    monkeypatch.setattr("beliefd.http.readiness.KEEP_SECONDS", 0.0)
    hangs = True

    async def probe() -> None:
        if hangs:
            await asyncio.Event().wait()

    async def story() -> None:
        nonlocal hangs
        readiness = Readiness(probe)
        with pytest.raises(StorageUnavailable):
            await readiness.check()
        hangs = False
        await readiness.check()

    asyncio.run(story())


def test_nobody_waits_until_a_probe_that_hangs_has_been_called_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that does not answer does not hear either that nobody waits any more."""
    monkeypatch.setattr("beliefd.http.readiness.PROBE_SECONDS", 0.05)

    async def story() -> None:
        heard, ended = asyncio.Event(), asyncio.Event()

        async def probe() -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await heard.wait()
                ended.set()
                raise

        with pytest.raises(StorageUnavailable):
            await Readiness(probe).check()
        assert not ended.is_set()
        heard.set()
        await ended.wait()

    asyncio.run(story())
