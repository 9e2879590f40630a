"""The whole panel: its cells on all processors, and the table that they make."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Final

from beliefd.experiments.panel.cells import DISTANCES, Job, measured
from beliefd.experiments.panel.claims import CLAIMS
from beliefd.experiments.panel.families import BEYOND, FAMILIES
from beliefd.experiments.panel.results import Cell, Line, Panel, limit
from beliefd.experiments.panel.results import Sequence as Followed
from beliefd.experiments.panel.sequence import RUNS, SequenceJob, followed
from beliefd.kernel.experiments.plan import TemplateName

SIZES: Final = (8, 20, 60, 200)
EXPERIMENTS: Final = 1_000
ALPHA: Final = 0.025
"""What the first attempt at a claim may use of the usual five percent."""


def panel(  # noqa: PLR0913 - what a caller may choose, each by its name
    templates: Sequence[TemplateName] = (),
    sizes: Sequence[int] = (),
    *,
    seed: int = 0,
    experiments: int = EXPERIMENTS,
    alpha: float = ALPHA,
    beyond: bool = False,
    processes: int | None = None,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Panel:
    """With `beyond`, the families that are known not to be held.

    INVARIANT: the same numbers however many processes there are.
    """
    families = BEYOND if beyond else FAMILIES
    names = tuple(templates) or tuple(CLAIMS)
    jobs: list[Job | SequenceJob] = [
        Job(n, names, experiments, alpha, seed, family)
        for n in sizes or SIZES
        for family in [*(one.name for one in families), None]
    ]
    if "model_simulation" in names:
        jobs.append(SequenceJob(min(RUNS, experiments), alpha, seed))
    jobs.sort(key=lambda job: -job.work)
    cells: list[Cell] = []
    sequence = None
    for done, answer in enumerate(_answers(jobs, processes or os.cpu_count() or 1), 1):
        if isinstance(answer, Followed):
            sequence = answer
        else:
            cells += answer
        progress(done, len(jobs))
    cells.sort(key=lambda one: (names.index(one.template), one.n, one.distance, one.family, one.side))
    return Panel(
        alpha,
        limit(alpha, experiments),
        experiments,
        seed,
        len(families),
        DISTANCES,
        _lines(cells, alpha),
        tuple(one for one in cells if one.too_many(alpha)),
        sequence,
    )


def _answers(jobs: list[Job | SequenceJob], processes: int) -> Iterator[list[Cell] | Followed]:
    if processes == 1:
        yield from map(_done, jobs)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("forkserver")) as pool:
        flying: list[Future[list[Cell] | Followed]] = [pool.submit(_done, job) for job in jobs]
        for future in as_completed(flying):
            yield future.result()


def _done(job: Job | SequenceJob) -> list[Cell] | Followed:
    return followed(job) if isinstance(job, SequenceJob) else measured(job)


def _lines(cells: list[Cell], alpha: float) -> tuple[Line, ...]:
    found = []
    for name, n in dict.fromkeys((one.template, one.n) for one in cells):
        here = [one for one in cells if (one.template, one.n) == (name, n)]
        false = [one for one in here if one.distance == 0]
        worst = max(false, key=lambda one: one.rate)
        power = tuple(one.rate for one in here if one.distance > 0)
        told = f"{worst.family}, {worst.side}" if worst.supported else ""
        found.append(Line(name, n, worst.rate, told, sum(one.too_many(alpha) for one in false), power))
    return tuple(found)
