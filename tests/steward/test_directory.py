"""Who asks at once does not wait for the tokens to be read again: one read is made ahead, beside them all."""

import asyncio
from typing import Any, cast

import pytest

from beliefd.steward import directory
from beliefd.steward.directory import Directory
from beliefd.steward.tokens import Authenticator
from beliefd.stores.base import StorageUnavailable, Store

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Reads:
    """A store without tokens that counts how often it is asked for them."""

    def __init__(self) -> None:
        self.reads = 0
        self.fails = False

    async def tokens(self) -> list[Any]:
        self.reads += 1
        await asyncio.sleep(0)
        if self.fails:
            raise StorageUnavailable("it is away")
        return []


async def opened() -> tuple[Reads, Authenticator]:
    async def no_ledger() -> None:
        return None

    store = Reads()
    known = Directory(cast(Store, store), no_ledger)
    await known.refresh()
    return store, Authenticator(known)


async def test_what_is_soon_stale_is_read_again_once_while_all_are_let_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, door = await opened()
    assert all(door.is_open() for _ in range(64))
    assert store.reads == 1
    monkeypatch.setattr(directory, "AHEAD_SECONDS", -1.0)
    assert all(door.is_open() for _ in range(64))
    await asyncio.sleep(0.01)
    assert store.reads == 2


async def test_a_read_ahead_that_fails_lets_nobody_in_on_what_is_stale(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, door = await opened()
    store.fails = True
    monkeypatch.setattr(directory, "AHEAD_SECONDS", -1.0)
    assert door.is_open()
    await asyncio.sleep(0.01)
    assert store.reads == 2
    monkeypatch.setattr(directory, "REFRESH_SECONDS", 0.0)
    assert not door.is_open()
    with pytest.raises(StorageUnavailable):
        await door.authenticate(None)
