"""Proofs in a process beside this one: a solver that hangs is ended, and what it had found stays."""

import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Final

import msgspec
from msgspec import Struct

from beliefd.extras import install
from beliefd.kernel.errors import invalid
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.protocol.proofs import SECONDS, Proof
from beliefd.wanted import check_wanted

COMMAND: Final = (sys.executable, "-P", "-m", "beliefd.policy.proving")
GRACE_SECONDS: Final = 1.0
"""The solver has a limit of its own. It does not always keep to it."""
LOOK_SECONDS: Final = 0.2
TOLD: Final = 300
ENDED: Final = "the process that proves ended early"
CHUNK: Final = 64 * 1024


class Job(Struct, frozen=True):
    """What is to be proved."""

    new: Policy
    old: Policy | None
    questions: tuple[Guarantee, ...]
    seconds: float


class Line(Struct, frozen=True, omit_defaults=True):
    """What the process says: an answer, or where it is."""

    proof: Proof | None = None
    at: str = ""


def need_solver(path: str = "$.prove") -> None:
    if find_spec("z3") is None:
        raise invalid(f"proving needs the extra `prove`: {install('prove')}", path)


def prove(
    new: Policy,
    questions: Sequence[Guarantee],
    old: Policy | None = None,
    seconds: float = SECONDS,
    command: Sequence[str] = COMMAND,
) -> list[Proof]:
    """The answers, in their order. What is not answered in time cannot be said."""
    if not questions:
        return []
    need_solver()
    job = Job(new, old, tuple(questions), seconds)
    found: list[Proof] = []
    at = "it had just begun"
    ended = ENDED
    for line in _lines(msgspec.json.encode(job), command, seconds + GRACE_SECONDS):
        if line is None:
            ended = f"after {seconds:g} seconds the time was over"
        elif line.proof is not None:
            found.append(line.proof)
        else:
            at = line.at
    unanswered = questions[len(found) :]
    why = f"{ended}; it came as far as: {at}"[:TOLD]
    return found + [Proof(question=one.words, answer="cannot_say", why=why) for one in unanswered]


def _lines(data: bytes, command: Sequence[str], seconds: float) -> Iterator[Line | None]:
    """What the process says, line by line; None, once, if it had to be ended."""
    with tempfile.TemporaryFile() as told:
        told.write(data)
        told.seek(0)
        process = subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=told, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            yield from _heard(process, time.monotonic() + seconds)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with those that it has started
            process.wait()


def _heard(process: "subprocess.Popen[bytes]", until: float) -> Iterator[Line | None]:
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    with process.stdout, selectors.DefaultSelector() as looking:
        looking.register(process.stdout, selectors.EVENT_READ)
        rest = b""
        while True:
            check_wanted()
            if time.monotonic() > until:
                yield None
                return
            if not looking.select(LOOK_SECONDS):
                continue
            if not (data := os.read(process.stdout.fileno(), CHUNK)):
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from (msgspec.json.decode(line, type=Line) for line in lines)
