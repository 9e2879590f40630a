"""A server in a thread of the test itself, so that a test can look into it and make its clocks run faster."""

import asyncio
import threading
import time

import uvicorn

from beliefd.cli.server import bind, uvicorn_settings
from beliefd.console.app import Console
from beliefd.console.pages import PAGES
from beliefd.http.app import create_app
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.memory import MemoryStore

KEEP_ALIVE = 2
SILENCE = 1.0
"""Seconds: many times what a busy machine may let a thread wait for."""


class Place:
    """A server in a thread of this process; just enough of a `ServerProcess` to connect to."""

    def __init__(self, *, console: bool = False) -> None:
        self._console = (lambda surface: Console(surface).routes(PAGES)) if console else None
        self._listener = bind("127.0.0.1", 0)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        while self._server is None or not self._server.started:
            time.sleep(0.01)

    async def _serve(self) -> None:
        self.runtime = bootstrap(MemoryStore())
        settings = {**uvicorn_settings(), "timeout_keep_alive": KEEP_ALIVE}
        app = create_app(self.runtime, console=self._console)
        self.surface = app.surface
        self._server = uvicorn.Server(uvicorn.Config(app, **settings))
        await self._server.serve(sockets=[self._listener])

    @property
    def server(self) -> uvicorn.Server:
        assert self._server is not None
        return self._server

    def close(self) -> None:
        self.server.should_exit = True
        self._thread.join()
