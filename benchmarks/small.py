"""`python -m benchmarks.small serve ...` is `beliefd`, with caches of states that minutes fill: once they are
full, memory must not grow any more."""

from typing import Final

from beliefd.cli.main import main
from beliefd.steward.write import positions

SESSIONS: Final = 200
STATES: Final = 2 * 1024 * 1024
HYPOTHESES: Final = 200_000

if __name__ == "__main__":
    positions.MAX_SESSIONS, positions.MAX_BYTES, positions.MAX_HYPOTHESES = SESSIONS, STATES, HYPOTHESES
    main()
