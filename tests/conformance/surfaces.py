"""Surfaces that vectors run through: the embedded library, and a real server over HTTP."""

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from beliefd.cli.server import ServerSettings, bind, run_server, url_of
from beliefd.conformance.library import Library as Library  # noqa: PLC0414 - tests take it from here
from beliefd.conformance.library import speaker
from beliefd.conformance.stories import Step, answered, request
from beliefd.conformance.tools import registry
from beliefd.kernel.values import Role, Tier
from beliefd.steward.credentials import create_token
from beliefd.stores.base import Store
from beliefd.stores.sqlite import SqliteStore

if TYPE_CHECKING:
    import uvicorn


async def make_tokens(store: Store) -> dict[tuple[str, str], str]:
    """The tokens of all who can speak, by role and tier. Each is somebody else's."""
    return {
        (role.value, tier.name): await create_token(store, name, role, tier, owner=name)
        for role in Role
        for tier in Tier
        for name in (speaker(role.value, tier.name),)
    }


SETTINGS = ServerSettings(registry=registry())


class Server:
    """`beliefd serve` in a thread, on a store of its own, with a token for every role."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._path = directory / "beliefd.db"
        self.tokens = asyncio.run(self._make_tokens())
        listener = bind("127.0.0.1", 0)
        self.url = url_of(listener, "127.0.0.1")
        self._started = threading.Event()
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(
            target=lambda: asyncio.run(
                run_server(listener, "127.0.0.1", str(self._path), SETTINGS, self._on_start)
            ),
            daemon=True,
        )
        self._thread.start()
        while not self._started.wait(0.05):
            assert self._thread.is_alive(), "the server ended before it answered"

    async def _make_tokens(self) -> dict[tuple[str, str], str]:
        store = await SqliteStore.open(self._path)
        tokens = await make_tokens(store)
        await store.close()
        return tokens

    def token(self, step: Step) -> str:
        return self.tokens[step.role, step.tier]

    def _on_start(self, server: "uvicorn.Server", _: object) -> None:
        self._server = server
        self._started.set()

    def close(self) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join()


class Http:
    """Plain HTTP requests to a server."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._http = httpx.Client(base_url=server.url, timeout=180, verify=False)

    def call(self, step: Step) -> tuple[int | None, Any]:
        asked = request(step)
        response = self._http.request(
            asked.operation.method,
            asked.url,
            params=asked.query,
            content=asked.content,
            headers={**asked.headers, "Authorization": f"Bearer {self._server.token(step)}"},
        )
        return response.status_code, answered(step.op, response.content)
