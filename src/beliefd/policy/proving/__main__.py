"""Answers questions in a process of its own: what takes too long can be ended, and takes nobody along."""

import os
import sys
import time

import msgspec
import z3

from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.policy.proving.process import ENDED, Job, Line
from beliefd.policy.proving.prover import Prover
from beliefd.protocol.proofs import Proof

MEMORY_MB = 4096


def main() -> None:
    z3.set_param("memory_max_size", MEMORY_MB)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    until = time.monotonic() + job.seconds
    for asked in job.questions:
        if not _answered(job, asked, until - time.monotonic()):
            _tell(Line(proof=Proof(question=asked.words, answer="cannot_say", why=ENDED)))


def _answered(job: Job, asked: Guarantee, seconds: float) -> bool:
    """Each question has a process to itself; False if that ended before it answered.

    What a solver has learned from one question can make it slow at the next: measured, a proof about 10,000
    constraints takes 4 seconds alone, and more than 60 behind another.
    """
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1] == 0
    try:
        prover = Prover(job.new, job.old, seconds, lambda at: _tell(Line(at=at)))
        _tell(Line(proof=prover.answer(asked, job.questions)))
    except BaseException:
        os._exit(1)
    os._exit(0)


def _tell(line: Line) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
