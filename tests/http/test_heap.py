"""What was freed is returned to the system, also in small pieces between others that live on."""

import asyncio
import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from beliefd.cli.server import ServerSettings
from beliefd.http import heap
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.memory import MemoryStore

ALONE = """
import os
from pathlib import Path
from beliefd.http.heap import return_small_pieces

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

pieces = [bytearray(3_000) for _ in range(16_000)]
kept = pieces[::100]  # too large for the interpreter's own arenas, and spread over all of them
before = resident()
del pieces
freed = resident()
said = return_small_pieces()
print(said, before - freed, before - resident())
"""
HALF = 16_000 * 3_000 // 2


def has_glibc() -> bool:
    try:
        return "glibc" in os.confstr("CS_GNU_LIBC_VERSION")  # type: ignore[operator]
    except (AttributeError, ValueError, TypeError):
        return False


@pytest.mark.skipif(not has_glibc(), reason="only glibc keeps such pieces and can be told to return them")
def test_small_pieces_are_returned_although_others_among_them_live() -> None:
    """In a process of its own: here, others would free and take memory meanwhile."""
    told = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True).stdout
    said, by_itself, after = told.split()
    assert said == "True"
    assert int(by_itself) < HALF < int(after)


def test_a_server_returns_them_as_long_as_it_is_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    returned: list[None] = []

    def counted() -> bool:
        returned.append(None)
        return len(returned) < 3

    monkeypatch.setattr(heap, "return_small_pieces", counted)
    monkeypatch.setattr(heap, "RETURN_SECONDS", 0.0)
    settings = ServerSettings(secret_file=tmp_path / "key")
    assert heap.keep_returning in settings.chores(bootstrap(MemoryStore()))
    asyncio.run(heap.keep_returning())
    assert len(returned) == 3, "it ends only where there is nothing to tell"


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not heap.return_large_pieces()
    assert not heap.return_small_pieces()
    asyncio.run(asyncio.wait_for(heap.keep_returning(), 30))
