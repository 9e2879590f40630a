"""A model is a function of its inputs: what could make it more is refused, what differs shows nothing."""

import asyncio
import hashlib
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.client.operations import Operations
from beliefd.embedded import send
from beliefd.experiments.engine import planned
from beliefd.experiments.executors.port import Block, Work, drawn
from beliefd.experiments.executors.serial import SerialExecutor
from beliefd.experiments.plan import Arm
from beliefd.experiments.registry import template
from beliefd.experiments.repetition import repeated
from beliefd.experiments.sandbox import monty
from beliefd.experiments.sandbox.errors import ModelFailed
from beliefd.experiments.sandbox.monty import run_python
from beliefd.experiments.sandbox.source import forgetful
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.plan import Budget, Frozen, RunReport
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import AGENT, ONTOLOGY
from tests.experiments.support import PATIENT, frozen, ran, simulation

REFUSED = {
    "`exec`": "def model(a):\n    scope = {}\n    exec('import random', scope)\n    return a",
    "line 1 of the model's code uses `exec`": "exec('import random')\ndef model(a):\n    return a",
    "`eval`": "def model(a):\n    return eval('a')",
    "`compile`": "def model(a):\n    return compile('1', 'x', 'eval')",
    "`__import__`": "def model(a):\n    return __import__('random')",
    "import `math` only": "def model(a):\n    from random import random\n    return random()",
    "line 2 of the model's code imports": "\nimport math, time\ndef model(a):\n    return a",
    "imports something else": "from math import *\ndef model(a):\n    return a",
    "`id`": "def model(a):\n    return id([])",
    "`hash`": "def model(a):\n    return hash(model)",
    "`repr`": "def model(a):\n    return len(repr(model))",
    "`str`": "def model(a):\n    return len(str(model))",
    "`print`": "def model(a):\n    print(a)\n    return a",
    "`globals`": "def model(a):\n    return len(globals())",
    "`getattr`": "def model(a):\n    return getattr(a, 'real')",
    "`JoinedStr`": "def model(a):\n    return len(f'{model}')",
    "a text with a `%`": "def model(a):\n    return len('%s' % model)",
    "asks for an attribute": "def model(a):\n    return len('{}'.format(model))",
    "those of `math`": "def model(a):\n    return len(model.__globals__)",
    "sets an attribute": "import math\ndef model(a):\n    math.pi = a\n    return math.pi",
    "`ClassDef`": "class Counter:\n    n = 0\ndef model(a):\n    Counter.n += 1\n    return Counter.n",
    "`Yield`": "def numbers():\n    yield 1\ndef model(a):\n    return a",
    "`AsyncFunctionDef`": "async def other():\n    return 1\ndef model(a):\n    return a",
    "`With`": "def model(a):\n    with a:\n        return a",
    "two objects are one": "def model(a):\n    return a is a + 0",
    "no number": "def model(a):\n    return b'x'[0]",
    "a name that is not to be had": "def model(a):\n    return len(rows)",
    "a name that is not to be had there": "def model(a):\n    return len(__rows)",
    "uses `exec`": "def other(exec):\n    return exec\ndef model(a):\n    return exec('a')",
    "is not clear": "def model(a):\n    global seen\n    seen = a\n    return seen",
    "global": "n = 0\ndef model(a):\n    def b():\n        global n\n        n = a\n    b()\n    return n",
    "without a value": "def model(a):\n    n: int\n    return a",
}  # fmt: skip
REMEMBERS = {
    "a counter": "n = 0\ndef model(a):\n    global n\n    n += 1\n    return n + a",
    "a list": "seen = []\ndef model(a):\n    seen.append(a)\n    return len(seen)",
    "a default": "def model(a, seen=[]):\n    seen.append(a)\n    return sum(seen)",
    "a dict": "seen = {}\ndef model(a):\n    seen[a] = len(seen)\n    return seen[a]",
    "a closure": "def make():\n    n = 0\n    def count():\n        nonlocal n\n        n += 1\n"
    "        return n\n    return count\ncount = make()\ndef model(a):\n    return count()",
}
WRITTEN = '''"""A docstring may say 95 % of anything."""
import math
from math import sqrt as root

LIMIT: float = 3.0
TABLE = {"low": 1.0, "high": [x * 2 for x in range(3)]}


def helper(x: "float", *rest: float, scale: dict[str, float] | None = None) -> float:
    """Annotations are words for readers."""
    if scale is None:
        scale = TABLE
    return x * scale["low"] + sum(rest)


def model(a: float) -> float:
    total, count = 0.0, 0
    while count < 3:
        count += 1
        if count == 2:
            continue
        total += helper(a, *TABLE["high"])
    try:
        total += math.log(a - 100)
    except ValueError as error:
        total += 1
    best = max(sorted({a, LIMIT}, key=lambda x: -x))
    return root(total * total) + best + (1 if not a > LIMIT else 0) + any(x > 3 for x in TABLE["high"])
'''


def python_plan(source: str, **options: Any) -> tuple[Frozen, dict[str, str]]:
    name = hashlib.sha256(source.encode()).hexdigest()
    params = {**simulation(), "model": {"language": "python", "source": name}}
    return frozen("model_simulation", params, **options), {name: source}


def python_run(source: str, **options: Any) -> RunReport:
    plan, sources = python_plan(source, **options)
    return ran(plan, sources=sources)


@pytest.mark.parametrize("told", REFUSED)
def test_what_could_make_a_model_more_than_a_function_is_refused_with_its_line(told: str) -> None:
    with pytest.raises(ModelFailed) as refused:
        forgetful(REFUSED[told])
    assert told in str(refused.value)
    assert str(refused.value).startswith("line ")
    assert "; " in str(refused.value), "it says what would fit"
    assert python_run(REFUSED[told]).failure == str(refused.value)


def test_refusals_hold_no_word_of_the_code() -> None:
    with pytest.raises(ModelFailed) as refused:
        forgetful("def model(a):\n    return secret_plan(a)")
    assert "secret_plan" not in str(refused.value)


def test_usual_python_is_a_model() -> None:
    found = run_python(WRITTEN, {"a": np.asarray([2.0, 5.0])})
    assert found.tolist() == [in_python(2.0), in_python(5.0)]


def in_python(a: float) -> float:
    scope: dict[str, Any] = {}
    exec(WRITTEN, scope)
    return float(scope["model"](a))


@pytest.mark.parametrize("how", REMEMBERS)
def test_a_replicate_knows_nothing_of_those_before_it(how: str) -> None:
    plan, sources = python_plan(REMEMBERS[how])
    ready = planned(plan, sources)
    arm = template("model_simulation").main(ready)
    assert arm is not None
    whole = drawn(Work(ready, arm, 0, 60)).values
    alone = [drawn(Work(ready, arm, place, 1)).values for place in (59, 7, 0)]
    assert [whole[place] for place in (59, 7, 0)] == [one[0] for one in alone]
    cut = np.concatenate([drawn(Work(ready, arm, first, 20)).values for first in (0, 20, 40)])
    assert whole.tobytes() == cut.tobytes()


def test_a_model_that_remembers_comes_to_the_same_report_each_time() -> None:
    one, other = python_run(REMEMBERS["a counter"]), python_run(REMEMBERS["a counter"])
    assert (one.status, one.outcome) == ("completed", "support")
    assert one == other
    assert one.diagnostics["repeated_replicates"] == one.replicates


def unwatched(source: str) -> str:
    """Code as it would run without the first wall."""
    return f"{source}\ndef __replicate(given):\n    return model(**given)"


@pytest.mark.parametrize(
    "source",
    [
        "exec('import random')\ndef model(a):\n    return 5 + random.random()",
        "n = 0\ndef model(a):\n    global n\n    n += 1\n    return n",
        "def model(a):\n    return len(__found) + 1",
    ],
)
def test_a_run_whose_repetition_differs_has_failed_and_supports_nothing(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(monty, "forgetful", unwatched)
    monkeypatch.setitem(monty.POLICY, "random_start", "system")
    report = python_run(source)
    assert (report.status, report.outcome, report.error_level) == ("failed", "unresolved", 1.0)
    assert report.failure.startswith("irreproducible: ")
    assert (report.result, report.checks) == ({}, ())


class Fickle(SerialExecutor):
    """Draws a replicate otherwise when it is asked for it again."""

    def __init__(self, place: int) -> None:
        self.place = place
        self.asked: list[tuple[int, int]] = []

    async def draw(self, work: Work) -> Block:
        block = await super().draw(work)
        again = work.arm.name == "main" and any(first <= self.place < first + n for first, n in self.asked)
        if work.arm.name == "main":
            self.asked.append((work.first, work.count))
        if again and work.first <= self.place < work.first + work.count:
            values = block.values.copy()
            values[self.place - work.first] = math.nextafter(values[self.place - work.first, 0], math.inf)
            return Block(values, block.digest)
        return block


EDGE = "def model(a):\n    return a - 5 + 1.6448536269514722"


@pytest.mark.parametrize("place", [0, 999, 1_000, 1_999])
def test_one_bit_of_one_replicate_of_the_first_block_is_enough(place: int) -> None:
    plan, sources = python_plan("def model(a):\n    return a")
    report = ran(plan, Fickle(place), sources=sources)
    assert (report.status, report.outcome) == ("failed", "unresolved")
    assert report.failure.startswith("irreproducible:")


def test_a_later_stretch_is_drawn_again_too() -> None:
    plan, sources = python_plan(EDGE, budget=Budget(seconds=30, replicates=8_000), alpha=1e-12)
    arm = template("model_simulation").main(planned(plan, sources))
    assert arm is not None
    later, *_ = repeated(arm, 8_000, plan.spec.seed)
    assert ran(plan, Fickle(later[0] + 100), sources=sources).failure.startswith("irreproducible:")
    assert ran(plan, SerialExecutor(), sources=sources).diagnostics["repeated_replicates"] == 2_048 + 256


def test_expressions_are_arithmetic_and_are_drawn_once() -> None:
    executor = Fickle(0)
    report = ran(frozen("model_simulation", simulation()), executor)
    assert report.status == "completed"
    assert "repeated_replicates" not in report.diagnostics
    assert len(executor.asked) == 1


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 50_000), st.integers(0, 2**53 - 1), st.floats(1.0, 1e6))
def test_what_is_drawn_again_was_drawn_and_is_cut_otherwise(used: int, seed: int, cost: float) -> None:
    arm = Arm("main", 0, used, cost)
    pieces, first = repeated(arm, used, seed), arm.blocks()[0][1]
    assert all(start >= 0 and count > 0 and start + count <= used for start, count in pieces)
    again = [place for start, count in pieces for place in range(start, start + count)]
    assert set(range(first)) <= set(again)
    assert len(again) == len(set(again))
    assert used == first or max(again) >= first
    assert pieces == sorted(pieces, reverse=True)


def test_time_for_the_repetition_is_part_of_the_budget() -> None:
    class Slow(SerialExecutor):
        drawn = 0

        async def draw(self, work: Work) -> Block:
            self.drawn += 1
            if self.drawn > 1:
                await asyncio.sleep(3600)
            return await super().draw(work)

    plan, sources = python_plan("def model(a):\n    return a", budget=Budget(seconds=1.0))
    report = ran(plan, Slow(), sources=sources)
    assert (report.status, report.failure) == ("failed", "the budget of time is used up")


def test_a_plan_with_code_that_no_run_accepts_is_not_frozen() -> None:
    async def design(source: str) -> Any:
        steward = bootstrap(MemoryStore())
        try:
            declared = await send(steward, AGENT, Operations.declare_session(["a"], ONTOLOGY))
            stored = await send(steward, AGENT, Operations.store_content(source.encode()))
            model = {"language": "python", "source": stored.sha256}
            spec = {
                "claim_id": "c",
                "template": "model_simulation",
                "params": {**simulation(), "model": model},
            }
            spec["budget"] = {"seconds": PATIENT.seconds}
            return await send(steward, AGENT, Operations.design_experiment(declared.session_id, spec=spec))
        finally:
            await steward.close()

    with pytest.raises(BeliefdError, match="line 3 of the model's code uses `exec`; a model has") as refused:
        asyncio.run(design(REFUSED["`exec`"]))
    assert refused.value.code is Code.INVALID_REQUEST
    assert refused.value.details == {"path": "$.spec.params.model.source"}
    assert asyncio.run(design(WRITTEN)).run is None
