"""Callers that are a burden, what a server takes up, and a ledger that somebody changed."""

import socket
from hashlib import sha256
from pathlib import Path

import httpx

from beliefd.ledger.envelope import Sealed
from beliefd.stores.memory import MemoryStore
from tests.http.calls import ELIMINATE, declare
from tests.http.place import Place
from tests.support.server import ServerProcess


def memory_of(process: ServerProcess) -> int:
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * 4096


def large_session(http: httpx.Client, events: int = 60) -> str:
    """Far more than the buffers of two sockets hold."""
    session_id = declare(http, [f"h{number}" for number in range(events + 1)])
    for number in range(events):
        own = {"eliminated": [f"h{number}"], "justification": {"padding": "x" * 200_000}}
        body = {**ELIMINATE, **own, "observation_id": f"o{number}"}
        http.post(f"/v1/sessions/{session_id}/eliminate", json=body).raise_for_status()
    return session_id


def reads_nothing(port: int, path: str) -> socket.socket:
    caller = socket.socket()
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    caller.connect(("127.0.0.1", port))
    caller.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return caller


def forge(place: Place, session_id: str) -> None:
    store = place.runtime.steward.store
    assert isinstance(store, MemoryStore)
    entry = store._entries[session_id][1]
    record = entry.record.replace(b'"observation_id":"o"', b'"observation_id":"p"')
    assert record != entry.record
    store._entries[session_id][1] = Sealed(entry.seq, entry.event_id, record, sha256(record).hexdigest())
