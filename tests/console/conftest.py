"""Servers with a console: one without tokens, one with a token for each role."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, sync_playwright

from beliefd.kernel.values import Role, Tier
from beliefd.steward.credentials import create_token
from beliefd.stores.sqlite import SqliteStore
from tests.console.visitor import Person
from tests.http.conftest import Tokens, assert_no_defects
from tests.support.browser import chromium
from tests.support.server import ServerProcess, server_process


async def make_tokens(path: Path) -> Tokens:
    """Of a tier that reaches everything: what is tried here is asked about, and not refused."""
    store = await SqliteStore.open(path)
    try:
        return {role: await create_token(store, f"test-{role}", role, Tier.PRIVILEGE) for role in Role}
    finally:
        await store.close()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, Tokens]]:
    data = tmp_path_factory.mktemp("guarded")
    tokens = asyncio.run(make_tokens(data / "beliefd.db"))
    with server_process(data) as process:
        yield process, tokens
        assert_no_defects(process)


@pytest.fixture(scope="module")
def browser(guarded: tuple[ServerProcess, Tokens]) -> Iterator[Browser]:
    """After the server: what makes its tokens cannot run inside the loop that a browser is driven by."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def agent(guarded: tuple[ServerProcess, Tokens]) -> Iterator[httpx.Client]:
    server, tokens = guarded
    headers = {"Authorization": f"Bearer {tokens[Role.AGENT]}"}
    with httpx.Client(base_url=server.url, headers=headers, verify=False, timeout=60) as client:
        yield client


@pytest.fixture
def approver(guarded: tuple[ServerProcess, Tokens]) -> Person:
    server, tokens = guarded
    return Person(server, tokens[Role.APPROVER])
