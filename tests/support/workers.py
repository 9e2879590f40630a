"""Which worker runs which test when the suite runs on all cores."""

from typing import Any, Final

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

UNDISTURBED: Final = (
    "tests/adversarial/test_linear_time.py",
    "tests/experiments/test_ray.py",
    "tests/faults/",
)
"""They kill, overload or time what they test: one after the other, on one worker."""
IN_ORDER: Final = "tests/http/test_schemathesis.py"
"""What one operation does to the session, those that follow find: each document stays with one worker."""


class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
    """A worker stays with a file, so that its servers begin once; who has none left helps another one.

    By place, not by mark: xdist tells groups by a suffix of node ids that pytest 9.2 takes no more. The
    largest groups begin first, then files in the order of their collection.
    """

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        self._files: dict[str, list[str]] = {}
        """What waits, last first, by file."""
        self._at: dict[WorkerController, str] = {}
        self._numbers: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(UNDISTURBED):
            return "undisturbed"
        return nodeid.partition("[")[0] if nodeid.startswith(IN_ORDER) else nodeid

    def _assign_work_unit(self, node: WorkerController) -> None:
        if not self._files:
            self._sort()
        scope = self._files[file := self._next_file(node)].pop()
        if not self._files[file]:
            del self._files[file]
        self._at[node] = file
        self.assigned_work[node][scope] = unit = self.workqueue.pop(scope)
        node.send_runtest_some([self._numbers[test] for test, done in unit.items() if not done])

    def _next_file(self, node: WorkerController) -> str:
        """Its own, else one that nobody is at, else that of which most is left."""
        if (own := self._at.get(node)) in self._files:
            return own
        taken = {file for other, file in self._at.items() if other in self.assigned_work}
        free = (file for file in self._files if file not in taken)
        return next(free, None) or max(self._files, key=lambda file: len(self._files[file]))

    def _sort(self) -> None:
        """At the beginning, and once more for what a worker left that ended."""
        self._numbers = {test: number for number, test in enumerate(self.collection)}
        self._files = {}
        for scope in reversed(self.workqueue):
            self._files.setdefault(scope.partition("::")[0], []).append(scope)
        self._files = dict(reversed(self._files.items()))

    def mark_test_complete(self, node: WorkerController, item_index: int, duration: float = 0) -> None:
        """Forget what is done: xdist counts all that a worker was ever given after each of its tests."""
        scope = self._split_scope(self.collection[item_index])
        super().mark_test_complete(node, item_index, duration)
        if all(self.assigned_work[node][scope].values()):
            del self.assigned_work[node][scope]
