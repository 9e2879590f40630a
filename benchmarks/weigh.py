"""`python -m benchmarks.weigh N` prints the bytes per hypothesis that a session of N hypotheses holds.

In a process of its own, because tracing slows everything else down.
"""

import gc
import sys
import tracemalloc

from beliefd.kernel.evolve import begin
from benchmarks.million import declaration


def main() -> None:
    size = int(sys.argv[1])
    begin("warm", declaration(10))
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    session = begin("bench", declaration(size))
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    if session.beliefs.survivors.count != size:
        raise RuntimeError("hypotheses were lost")
    print((after - before) / size)


if __name__ == "__main__":
    main()
