"""Tests are handed to workers file by file: each is run once, and a server of a module begins once."""

import gc
import os
import sys
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest
from xdist.workermanage import WorkerController

from tests.support.workers import IN_ORDER, Scheduling

LONG = [f"tests/a/test_long.py::test_one[{number}]" for number in range(30)]
SHORT = [f"tests/b/test_{name}.py::test_{number}" for name in "pqrs" for number in range(5)]
ALONE = [f"tests/faults/test_{name}.py::test_one" for name in "xy"]
ORDERED = [f"{IN_ORDER}::test_{name}[GET /{number}]" for name in "mn" for number in range(3)]
TESTS = [*LONG, *SHORT, *ORDERED, *ALONE]


class Worker(WorkerController):  # type: ignore[misc]
    """One that is told what to run, and runs it when asked to."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.told: list[int] = []
        self.ran: list[str] = []
        self._down = False

    shutting_down = property(lambda self: self._down)

    def send_runtest_some(self, indices: Any) -> None:
        self.told += indices

    def shutdown(self) -> None:
        self._down = True


@pytest.fixture
def config(pytestconfig: pytest.Config) -> Any:
    options = SimpleNamespace(loadscopereorder=True)
    return SimpleNamespace(option=options, hook=pytestconfig.hook, getvalue=lambda _: ["2*popen"])


@pytest.fixture
def workers() -> list[Worker]:
    return [Worker("gw0"), Worker("gw1")]


@pytest.fixture
def scheduling(config: Any, workers: list[Worker]) -> Scheduling:
    made = Scheduling(config, None)
    for worker in workers:
        made.add_node(worker)
    for worker in workers:
        made.add_node_collection(worker, TESTS)
    made.schedule()
    return made


def run(scheduling: Scheduling, worker: Worker) -> None:
    number = worker.told.pop(0)
    worker.ran.append(TESTS[number])
    scheduling.mark_test_complete(worker, number)


def test_each_test_is_run_once_and_what_belongs_together_by_one(
    scheduling: Scheduling, workers: list[Worker]
) -> None:
    while any(worker.told for worker in workers):
        for worker in workers:
            if worker.told:
                run(scheduling, worker)
    assert sorted(workers[0].ran + workers[1].ran) == sorted(TESTS)
    assert scheduling.tests_finished
    for together in (ALONE, ORDERED[:3], ORDERED[3:]):
        assert any([test for test in worker.ran if test in together] == together for worker in workers)


def test_a_file_is_begun_by_one_worker_and_shared_only_when_no_other_is_left(
    scheduling: Scheduling, workers: list[Worker]
) -> None:
    while any(worker.told for worker in workers):
        for worker in workers:
            if worker.told:
                run(scheduling, worker)
    began = defaultdict(set)
    for worker in workers:
        for test in worker.ran:
            began[test.partition("::")[0]].add(worker.gateway.id)
    assert [file for file, by in began.items() if len(by) > 1 and file != IN_ORDER] == [
        LONG[0].partition("::")[0]
    ]


def test_what_a_worker_that_ends_leaves_is_run_by_the_other(
    scheduling: Scheduling, workers: list[Worker]
) -> None:
    lost, left = workers
    for _ in range(4):
        run(scheduling, lost)
    crashed = scheduling.remove_node(lost)
    assert crashed == TESTS[lost.told[0]]
    while left.told:
        run(scheduling, left)
    assert sorted(lost.ran + left.ran) == sorted(TESTS)


def test_what_is_done_is_not_counted_again(scheduling: Scheduling, workers: list[Worker]) -> None:
    for _ in range(10):
        run(scheduling, workers[1])
    assert len(scheduling.assigned_work[workers[1]]) <= 4


def test_workers_and_what_they_start_keep_bytecode() -> None:
    assert not sys.dont_write_bytecode
    assert "PYTHONDONTWRITEBYTECODE" not in os.environ


def test_no_search_for_garbage_walks_through_the_tests() -> None:
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
