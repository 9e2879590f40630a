"""Carrying a frozen plan out: blocks on an executor, one decision, and a report whatever happens."""

import asyncio
import hashlib
import math
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, Literal

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from beliefd.experiments.checks import checks
from beliefd.experiments.executors.port import Block, Executor, Work, WorkerDied
from beliefd.experiments.plan import Arm, Findings, Floats, Plan, Template
from beliefd.experiments.registry import code_hash, template
from beliefd.experiments.repetition import repeated
from beliefd.experiments.sandbox.errors import ModelFailed
from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.experiments.params import checked_spec
from beliefd.kernel.experiments.plan import Frozen, RunReport
from beliefd.kernel.experiments.referring import resolved

UNTESTED: Final = "nothing was tested: the run came to no conclusion"
IRREPRODUCIBLE: Final = (
    "irreproducible: replicates that were drawn again came out differently; a model's output may depend on "
    "its inputs alone"
)


class Progress(Struct, frozen=True):
    """How far a run is: replicates of an arm that were drawn, of those that may be."""

    arm: str
    done: int
    of: int


class Stopped(Exception):
    """Why a run ends without a conclusion."""


class Cancelled(Exception):
    """Somebody asked for the run to end."""


async def run(
    frozen: Frozen,
    *,
    executor: Executor,
    sources: Mapping[str, str] | None = None,
    observed: Mapping[str, Sequence[float]] | None = None,
    progress: Callable[[Progress], None] | None = None,
    cancel: asyncio.Event | None = None,
) -> RunReport:
    """Run a plan to its report: of a conclusion, of a failure, or of having been cancelled.

    INVARIANT: no number in it depends on the executor, on the machine's speed or on the time of day.
    """
    chosen = template(frozen.spec.template)
    if (chosen.id, code_hash(chosen.name)) != (frozen.template, frozen.code_hash):
        return _ended(frozen, "failed", "the template's code is not the one that was frozen")
    plan = planned(frozen, sources, observed)
    await executor.start()
    drawing = _Drawing(plan, chosen, executor, progress, cancel, frozen.spec.budget.seconds)
    try:
        found = await drawing.concluded()
        return _report(frozen, plan, found, drawing.digests.hexdigest(), drawing.repeated)
    except (ModelFailed, WorkerDied, Stopped) as error:
        return _ended(frozen, "failed", str(error))
    except Cancelled:
        return _ended(frozen, "cancelled", "the run was cancelled")
    except (ArithmeticError, ValueError, MemoryError) as error:
        return _ended(frozen, "failed", f"the template came to no conclusion: {type(error).__name__}")


def planned(
    frozen: Frozen,
    sources: Mapping[str, str] | None = None,
    observed: Mapping[str, Sequence[float]] | None = None,
) -> Plan:
    """The plan as a template gets it, with values in place of the observations that it names."""
    spec = replace(frozen.spec, params=resolved(frozen.spec.params, (observed or {}).__getitem__))
    return Plan(
        template=spec.template,
        params=checked_spec(spec),
        criterion=spec.criterion,
        alpha=frozen.alpha,
        seed=spec.seed,
        unit=spec.unit,
        replicates=spec.budget.replicates,
        sources=sources or {},
    )


class _Drawing:
    """The blocks of one run, in order, and what is left of its time."""

    def __init__(
        self,
        plan: Plan,
        chosen: Template,
        executor: Executor,
        progress: Callable[[Progress], None] | None,
        cancel: asyncio.Event | None,
        seconds: float,
    ) -> None:
        self.plan, self.chosen, self.executor = plan, chosen, executor
        self.progress, self.cancel = progress, cancel
        self.deadline = asyncio.get_running_loop().time() + seconds
        self.digests = hashlib.sha256()
        self.repeated = 0

    async def concluded(self) -> Findings:
        main = self.chosen.main(self.plan)
        drawn = {} if main is None else await self._arms([main], self.chosen.enough)
        used = 0 if main is None else len(drawn[main.name])
        if main is not None and self.plan.sources:
            await self._repeat(main, drawn[main.name])
        drawn |= await self._arms(self.chosen.controls(self.plan, used), None)
        return await asyncio.to_thread(self._conclusion, drawn)

    async def _repeat(self, arm: Arm, values: Floats) -> None:
        """Draw part of an arm again. INVARIANT: foreign code that does not repeat itself shows nothing."""
        works = [Work(self.plan, arm, *piece) for piece in repeated(arm, len(values), self.plan.seed)]
        async with aclosing(self._blocks(works)) as blocks:
            async for work, block in blocks:
                earlier = values[work.first : work.first + work.count]
                if earlier.tobytes() != block.values.tobytes():
                    raise Stopped(IRREPRODUCIBLE)
                self.repeated += work.count

    def _conclusion(self, drawn: dict[str, Floats]) -> Findings:
        with np.errstate(all="ignore"):  # a result that is not finite is refused when it is written down
            return self.chosen.conclude(self.plan, drawn)

    async def _arms(
        self, arms: Iterable[Arm], enough: Callable[[Plan, Floats], bool] | None
    ) -> dict[str, Floats]:
        """All replicates of some arms, or as many of them as are enough."""
        works = [Work(self.plan, arm, first, count) for arm in arms for first, count in arm.blocks()]
        found: dict[str, list[Floats]] = {arm.name: [] for arm in arms}
        async with aclosing(self._blocks(works)) as blocks:
            async for work, block in blocks:
                parts = found[work.arm.name]
                parts.append(block.values)
                self.digests.update(block.digest)
                if self.progress is not None:
                    self.progress(Progress(work.arm.name, work.first + work.count, work.arm.replicates))
                if enough is not None and enough(self.plan, np.concatenate(parts)):
                    break
        return {name: np.concatenate(parts) if parts else np.empty((0, 1)) for name, parts in found.items()}

    async def _blocks(self, works: list[Work]) -> AsyncGenerator[tuple[Work, Block], None]:
        """Blocks in the order of `works`, several at a time.

        INVARIANT: what was drawn beyond the last block that is taken is dropped, so width changes nothing.
        """
        flying: deque[tuple[Work, asyncio.Task[Block]]] = deque()
        try:
            for work in works:
                flying.append((work, asyncio.ensure_future(self.executor.draw(work))))
                if len(flying) >= self.executor.width:
                    yield await self._landed(*flying.popleft())
            while flying:
                yield await self._landed(*flying.popleft())
        finally:
            for _, task in flying:
                task.cancel()
            await asyncio.gather(*(task for _, task in flying), return_exceptions=True)

    async def _landed(self, work: Work, task: "asyncio.Task[Block]") -> tuple[Work, Block]:
        asked = asyncio.ensure_future(self.cancel.wait()) if self.cancel is not None else None
        try:
            left = self.deadline - asyncio.get_running_loop().time()
            waiting = {task} if asked is None else {task, asked}
            await asyncio.wait(waiting, timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED)
            if asked is not None and asked.done():
                raise Cancelled
            if not task.done():
                raise Stopped("the budget of time is used up")
            return work, task.result()
        finally:
            task.cancel()
            if asked is not None:
                asked.cancel()


def _report(frozen: Frozen, plan: Plan, found: Findings, blocks: str, repeated: int) -> RunReport:
    told = {**found.diagnosis.told, "repeated_replicates": repeated} if repeated else found.diagnosis.told
    return RunReport(
        status="completed",
        spec_hash=frozen.spec_hash,
        template=frozen.template,
        code_hash=frozen.code_hash,
        seed=frozen.spec.seed,
        model=found.model,
        outcome=found.decision.outcome,
        error_level=found.decision.error_level,
        confidence=1 - found.decision.error_level,
        failure_mode=found.failure_mode,
        result=_plain(msgspec.to_builtins(found.result)),
        diagnostics=_plain(dict(told)),
        checks=checks(plan, found),
        replicates=found.replicates,
        failed_replicates=found.failed_replicates,
        stopped_early=found.stopped_early,
        bookkeeping=found.bookkeeping,
        blocks=blocks,
    )


def _ended(frozen: Frozen, status: Literal["failed", "cancelled"], why: str) -> RunReport:
    """INVARIANT: a run without a conclusion has no outcome and no numbers that could be taken for one."""
    return RunReport(
        status=status,
        spec_hash=frozen.spec_hash,
        template=frozen.template,
        code_hash=frozen.code_hash,
        seed=frozen.spec.seed,
        model=UNTESTED,
        failure=why,
    )


def _plain(value: Any) -> Any:
    """Numbers as the ledger can keep them: finite, and as texts where JSON would lose digits of them."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Stopped("a number of the result is not finite")
        if MAX_SAFE_INTEGER < abs(value) < 1e21:
            return repr(value)
    return value
