"""Something listens at the address, and it is no beliefd server: that is said, in one line."""

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from beliefd.client import AsyncClient, Client
from beliefd.kernel.errors import BeliefdError, Code
from tests.cli.runner import beliefd

STRANGE = (
    (200, b"{}"),
    (200, b"<html>welcome</html>"),
    (200, b"data: {}\n\n"),
    (307, b""),
    (404, b"<html>no such page</html>"),
)
COMMANDS = (
    ("session", "list", "--url"),
    ("log", "checkpoint", "--url"),
    ("inbox", "list", "--url"),
    ("conform",),
)


class Stranger(ThreadingHTTPServer):
    """Answers everything with the same."""

    status, body = STRANGE[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Stranger

    def _answer(self) -> None:
        self.send_response(self.server.status)
        if self.server.status == 307:
            self.send_header("location", "/elsewhere")
        self.send_header("content-length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    do_GET = do_POST = _answer  # noqa: N815 - so named by http.server

    def log_message(self, *_: Any) -> None:
        """Silent."""


@pytest.fixture
def stranger() -> Iterator[Stranger]:
    server = Stranger(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_command_says_that_it_is_no_beliefd_server(stranger: Stranger) -> None:
    for stranger.status, stranger.body in STRANGE:
        for words in COMMANDS:
            result = beliefd(*words, stranger.url)
            said = [line for line in result.output.splitlines() if line.startswith("beliefd: ")]
            assert result.exit_code == 1, (words, result.output)
            assert len(said) == 1
            assert "INTERNAL: this is not a beliefd server" in said[0]


def test_both_clients_and_their_feeds_raise_it(stranger: Stranger) -> None:
    async def asked() -> None:
        async with AsyncClient(stranger.url) as client:
            with pytest.raises(BeliefdError, match="this is not a beliefd server"):
                await client.list_sessions()
            with pytest.raises(BeliefdError, match="this is not a beliefd server"):
                await anext(client.events("s"))

    for stranger.status, stranger.body in ((200, b"data: {}\n\n"), (200, b"data: no\n\n"), (307, b"")):
        asyncio.run(asked())
        with Client(stranger.url) as client:
            for question in (client.list_sessions, lambda of=client: next(of.events("s"))):
                with pytest.raises(BeliefdError, match="this is not a beliefd server") as raised:
                    question()
                assert raised.value.code is Code.INTERNAL
