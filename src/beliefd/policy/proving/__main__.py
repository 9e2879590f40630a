"""Answers questions in a process of its own: what takes too long can be ended, and takes nobody along."""

import sys

import msgspec
import z3

from beliefd.policy.proving.process import Job, Line
from beliefd.policy.proving.prover import Prover

MEMORY_MB = 4096


def main() -> None:
    z3.set_param("memory_max_size", MEMORY_MB)
    job = msgspec.json.decode(sys.stdin.buffer.read(), type=Job)
    prover = Prover(job.new, job.old, job.seconds, lambda at: _tell(Line(at=at)))
    for asked in job.questions:
        _tell(Line(proof=prover.answer(asked, job.questions)))


def _tell(line: Line) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(line) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
