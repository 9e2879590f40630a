"""All stores keep the same promises."""

from pathlib import Path

import pytest

from beliefd.stores.base import Store
from beliefd.stores.memory import MemoryStore
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.graph_contract import GraphContract
from beliefd.testing.store_contract import DurableStoreContract


class TestMemory(GraphContract):
    async def open(self) -> Store:
        return MemoryStore()


class TestSqlite(GraphContract, DurableStoreContract):
    path: Path

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "ledger.db"

    async def open(self) -> Store:
        return await SqliteStore.open(self.path)


class TestPostgres(GraphContract, DurableStoreContract):
    url: str

    @pytest.fixture(autouse=True)
    def place(self, postgres_url: str) -> None:
        self.url = postgres_url

    async def open(self) -> Store:
        return await PostgresStore.open(self.url)
