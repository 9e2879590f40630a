"""All stores keep the same promises."""

from pathlib import Path

import pytest

from beliefd.stores.base import Store
from beliefd.stores.memory import MemoryStore
from beliefd.stores.postgres import PostgresStore
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.projection_contract import ProjectionContract
from beliefd.testing.store_contract import DurableStoreContract


class TestMemory(ProjectionContract):
    async def open(self) -> Store:
        return MemoryStore()


class TestSqlite(ProjectionContract, DurableStoreContract):
    path: Path

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.path = tmp_path / "ledger.db"

    async def open(self) -> Store:
        return await SqliteStore.open(self.path)


class TestPostgres(ProjectionContract, DurableStoreContract):
    url: str

    @pytest.fixture(autouse=True)
    def place(self, postgres_url: str) -> None:
        self.url = postgres_url

    async def open(self) -> Store:
        return await PostgresStore.open(self.url)
