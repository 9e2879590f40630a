"""What came of calls, on its way to beliefd. Nothing more runs in a session until what was shown is recorded.

A client gets its result while the report is made: one durable write fewer to wait for. What an agent could do
with a result that is not yet recorded goes through here, too: the next call waits for the report of the last.
A report is a millisecond of work on the loop that also writes the answer, so it lets the answer go first.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Final

import anyio

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.mcp.judging import Judge, Judgement, Outcome

log = logging.getLogger("beliefd.mcp")
PAUSES: Final = (0.05, 0.2, 0.5, 1.0, 2.0)
MAY_PASS: Final = (Code.STORAGE_UNAVAILABLE, Code.TOO_BUSY, Code.RATE_LIMITED, Code.TIMED_OUT)
LAST_SECONDS: Final = 10
ANSWER_SECONDS: Final = 0.003
"""So long a report lets its answer be written, unless somebody waits for the report."""
Report = tuple[Judgement, Outcome]


class Unrecorded(Exception):
    """What came of a call could not be reported."""


class Reports:
    """The reports of one client session."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._under_way: dict[str, set[asyncio.Task[None]]] = {}
        self._failed: dict[str, list[Report]] = {}
        self._wanted: dict[str, asyncio.Event] = {}

    async def make(self, judgement: Judgement, outcome: Outcome) -> str | None:
        """Report, again and again for a while if beliefd cannot be reached: the same report counts once."""
        call_id = judgement.call_id or ""
        with anyio.CancelScope(shield=True):
            for pause in (*PAUSES, None):
                try:
                    return await self._judge.report(judgement.session_id, call_id, outcome)
                except BeliefdError as error:
                    if error.code is Code.INVALID_REQUEST and outcome.result is not None:
                        return await self.make(judgement, _without_result(outcome, error.message))
                    if pause is None or error.code not in MAY_PASS:
                        log.error("call %s was not reported: %s", call_id, error.message)
                        raise Unrecorded(error.message) from None
                await asyncio.sleep(pause)
        raise AssertionError("the last try returns or raises")

    async def note(self, judgement: Judgement, status: str, error: str) -> None:
        """Report what has no result. If that cannot be done, the permit's end makes it `unknown`."""
        with suppress(Unrecorded):
            await self.make(judgement, Outcome(status=status, error=error))

    def begin(self, judgement: Judgement, outcome: Outcome) -> None:
        """Report beside other work; `settled` waits for it."""
        tasks = self._under_way.setdefault(judgement.session_id, set())
        if not tasks:
            self._wanted[judgement.session_id] = asyncio.Event()
        wanted = self._wanted[judgement.session_id]
        task = asyncio.create_task(self._in_background(judgement, outcome, wanted))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _in_background(self, judgement: Judgement, outcome: Outcome, wanted: asyncio.Event) -> None:
        # Not anyio's: its timer, woken a part of a millisecond early, is set again until the time has come.
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                await wanted.wait()
        try:
            await self.make(judgement, outcome)
        except Unrecorded:
            self._failed.setdefault(judgement.session_id, []).append((judgement, outcome))

    async def settled(self, session_id: str) -> None:
        """INVARIANT: a call is judged on all that its agent has been shown; else it is not judged at all."""
        tasks = self._under_way.get(session_id)
        if tasks:
            self._wanted[session_id].set()
            await asyncio.wait(set(tasks))
        failed = self._failed.get(session_id)
        while failed:
            judgement, outcome = failed[0]
            try:
                await self._judge.report(judgement.session_id, judgement.call_id or "", outcome)
            except BeliefdError as error:
                text = f"the result of call {judgement.call_id} is not recorded yet: {error.message}"
                raise Unrecorded(text) from None
            failed.remove((judgement, outcome))

    async def close(self) -> None:
        """Give what is under way some time to end."""
        for wanted in self._wanted.values():
            wanted.set()
        tasks = {task for tasks in self._under_way.values() for task in tasks}
        if tasks:
            await asyncio.wait(tasks, timeout=LAST_SECONDS)


def _without_result(outcome: Outcome, why: str) -> Outcome:
    """A result that cannot be written down: that it came is recorded, and why it is not there."""
    return Outcome(status=outcome.status, error=f"its result cannot be recorded: {why}"[:2_000])
