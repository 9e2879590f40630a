"""Which tests a worker keeps to itself when the suite runs on all cores."""

from typing import Final

from xdist.scheduler import LoadScopeScheduling

UNDISTURBED: Final = (
    "tests/adversarial/test_linear_time.py",
    "tests/experiments/test_ray.py",
    "tests/faults/",
)
"""They kill, overload or time what they test: one after the other, on one worker."""
IN_ORDER: Final = "tests/http/test_schemathesis.py"
"""What one operation does to the session, those that follow find: each document stays with one worker."""


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """Every other test goes to whoever is free; the largest groups begin first.

    By place, not by mark: xdist tells groups by a suffix of node ids that pytest 9.2 takes no more.
    """

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(UNDISTURBED):
            return "undisturbed"
        return nodeid.partition("[")[0] if nodeid.startswith(IN_ORDER) else nodeid
