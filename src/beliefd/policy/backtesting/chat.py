"""Chat runs: one JSON object per line, with `tools` and `messages`."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from beliefd.kernel.errors import BeliefdError
from beliefd.policy.backtesting.steps import Began, Called, Damaged, Line, Step, named
from beliefd.policy.chat_runs import ChatCall, ChatRun, parse_run

MAX_KIND: Final = 32


def fits(value: dict[str, Any]) -> bool:
    return isinstance(value.get("messages"), list)


def steps(lines: Iterable[Line]) -> Iterator[Step]:
    for line in lines:
        try:
            if line.data is None:
                raise ValueError("it is too long")
            run = parse_run(line.data, f"line {line.number}", line.number, strict=False)
        except (BeliefdError, ValueError) as error:
            yield Damaged(line.number, error.message if isinstance(error, BeliefdError) else str(error))
            continue
        yield from _steps(run)


def _steps(run: ChatRun) -> Iterator[Step]:
    yield Began(named(run.run_id, "run"), run.tools, str(run.label.get("kind", "run"))[:MAX_KIND])
    for step in run.steps:
        if isinstance(step, ChatCall):
            call_id, tool = named(step.call_id, "call"), named(step.tool_id, "unknown")
            yield Called(call_id, tool, step.args, step.problem, turn=str(step.message))
        else:
            yield step
