"""A feed of a ledger that does not hold: an error as long as nothing was said, else a cut without a trace."""

import logging
from typing import Any

import httpx
import pytest

from beliefd.kernel.errors import Code
from beliefd.ledger.envelope import LedgerBroken
from tests.http.callers import forge
from tests.http.calls import declare, eliminate, error_of
from tests.http.place import Place
from tests.http.raw import Connection


@pytest.mark.parametrize("path", ["events", "audit/export"])
def test_a_broken_ledger_is_told_before_the_first_byte(
    path: str, place: Place, near: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    session_id = declare(near)
    for name in "abc":
        assert eliminate(near, session_id, name).status_code == 200
    forge(place, session_id)
    for _ in range(2):
        answer = near.get(f"/v1/sessions/{session_id}/{path}")
        assert error_of(answer, 422, Code.LEDGER_BROKEN)["details"]["seq"] == 3  # the hash was forged along
    assert not [record for record in caplog.records if record.exc_info]


def test_a_ledger_that_breaks_under_its_listeners_ends_their_feeds_without_a_trace(
    place: Place, near: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session_id = declare(near)
    listener = Connection(place.port)
    listener.request("GET", f"/v1/sessions/{session_id}/events")
    while b'"seq":1' not in listener.line():
        pass

    async def broken(*_: Any) -> Any:
        raise LedgerBroken(2, None, "somebody changed it")

    monkeypatch.setattr(place.runtime.feeds._store, "entries", broken)
    with caplog.at_level(logging.WARNING):
        eliminate(near, session_id, "a")
        assert b"0\r\n\r\n" not in listener.rest()[-5:], "what was cut looks whole"
    listener.close()
    assert "somebody changed it" in caplog.text
    assert not [record for record in caplog.records if record.exc_info]
