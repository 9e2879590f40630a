"""Anybody may call a witness: who sends nothing, or goes away, keeps nobody out and fills no log."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from beliefd.cli import witnessing
from beliefd.http import witness as serving
from beliefd.http.protocol import Protocol
from beliefd.ledger.notes import COSIGNATURE, SigningKey
from beliefd.ledger.witnessing import ADD_CHECKPOINT

WITNESS = SigningKey("witness.example/w", b"w" * 32, COSIGNATURE)
CALL = {"type": "http", "method": "POST", "path": ADD_CHECKPOINT, "headers": [], "query_string": b""}


async def told(app: Any, receive: Callable[[], Awaitable[dict[str, Any]]]) -> int:
    """The status of the answer to who sends this."""
    said: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        said.append(message)

    await app(CALL, receive, send)
    status: int = said[0]["status"]
    return status


def test_who_sends_no_body_is_given_up_and_who_goes_away_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "BODY_SECONDS", 0.01)
    app = serving.witness_app(serving.Witness(WITNESS, [], tmp_path))

    async def nothing() -> dict[str, Any]:
        await asyncio.Event().wait()
        raise AssertionError

    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    assert asyncio.run(asyncio.wait_for(told(app, nothing), 60)) == 408
    assert asyncio.run(told(app, gone)) == 400


def test_it_reads_http_as_the_server_does_which_closes_silent_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began: list[Any] = []
    monkeypatch.setattr("uvicorn.Server.run", lambda self, sockets: began.append((self.config, sockets)))
    monkeypatch.setattr(witnessing, "witness_key", lambda own: WITNESS)
    monkeypatch.setattr(witnessing, "log_keys_in", lambda keys, option: [SigningKey("l", b"l" * 32).verifier])
    witnessing.serve_witness(tmp_path / "key", tmp_path / "seen", ("k",), "127.0.0.1", 0)
    ((config, (listener,)),) = began
    listener.close()
    assert config.http is Protocol
    assert config.limit_concurrency == witnessing.MAX_CALLERS
