"""Models of users: whatever they try, they end in numbers or in a failed report, never in an exception."""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.experiments.sandbox.errors import ModelFailed
from beliefd.experiments.sandbox.expressions import evaluate
from beliefd.experiments.sandbox.monty import run_python
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.experiments.expressions import FUNCTIONS, parse
from beliefd.kernel.experiments.params import checked_params
from beliefd.kernel.experiments.plan import RunReport
from tests.experiments.support import frozen, ran, simulation

ESCAPES = {
    "file": "def model(a):\n    return len(open('/etc/passwd').read())",
    "write": "def model(a):\n    open('/tmp/beliefd-escape', 'w').write('x')\n    return 1",
    "network": "import socket\ndef model(a):\n    return 1",
    "network inside": "def model(a):\n    import socket\n    return 1",
    "subprocess": "import subprocess\ndef model(a):\n    return 1",
    "fork": "import os\ndef model(a):\n    while True:\n        os.fork()",
    "builtin import": "def model(a):\n    return __import__('os').system('true')",
    "dunder": "def model(a):\n    return len(().__class__.__bases__[0].__subclasses__())",
    "globals": "def model(a):\n    return len(model.__globals__['__builtins__'])",
    "loop": "def model(a):\n    while True:\n        pass",
    "loop that catches": "def model(a):\n while True:\n  try:\n   while True: a\n  except BaseException: a",
    "loop that catches all": "def model(a):\n while True:\n  try:\n   while True: a\n  except: a",
    "memory that catches": "def model(a):\n x = [0]\n while True:\n  try: x = x + x\n  except: a",
    "memory": "def model(a):\n    x = [0]\n    while True:\n        x = x + x",
    "huge number": "def model(a):\n    return 10 ** 10 ** 8",
    "recursion": "def model(a):\n    return model(a)",
    "no model": "x = 1",
    "not python": "def model(a) return a",
    "no number": "def model(a):\n    return 'text of a model'",
    "exit": "def model(a):\n    raise SystemExit",
}  # fmt: skip


def python_run(source: str, **options: Any) -> RunReport:
    name = hashlib.sha256(source.encode()).hexdigest()
    params = {**simulation(), "model": {"language": "python", "source": name}}
    return ran(frozen("model_simulation", params, **options), sources={name: source})


@pytest.mark.parametrize("escape", ESCAPES)
def test_no_escape_from_monty_comes_to_a_conclusion(escape: str) -> None:
    report = python_run(ESCAPES[escape])
    assert report.outcome == "unresolved"
    assert report.status == "failed" or report.failed_replicates == report.replicates
    assert "/etc" not in report.failure
    assert "text of a model" not in str(report)


def test_a_model_in_python_has_the_numbers_of_the_same_expression() -> None:
    source = "import math\ndef model(a):\n    return math.sqrt(a * a) + (1 if a > 5 else 0)"
    written = python_run(source)
    stated = ran(frozen("model_simulation", simulation("sqrt(a * a) + (a > 5)")))
    assert (written.status, written.outcome) == ("completed", "support")
    assert written.result == stated.result


def test_a_replicate_that_raises_is_one_that_failed() -> None:
    report = python_run("def model(a):\n    if a < 4:\n        raise ValueError('low')\n    return a")
    assert report.status == "completed"
    assert 0 < report.failed_replicates < report.replicates
    assert report.result["rate"] < 0.9


def test_code_that_is_not_at_hand_is_a_failure() -> None:
    params = {**simulation(), "model": {"language": "python", "source": "0" * 64}}
    report = ran(frozen("model_simulation", params))
    assert (report.status, report.failure) == ("failed", "the model's code is not at hand")


def test_a_clock_and_a_die_of_its_own_are_not_to_be_had() -> None:
    for module in ("random", "time", "datetime", "os", "math.sub"):
        with pytest.raises(ModelFailed, match="may import `math` only"):
            run_python(f"import {module}\ndef model(a):\n    return 1", {"a": np.ones(1)})


def test_numpy_code_is_refused_and_the_reason_told() -> None:
    params = {**simulation(), "model": {"language": "numpy", "source": "0" * 64}}
    with pytest.raises(BeliefdError, match="NumPy code is not run") as refused:
        checked_params("model_simulation", params)
    assert refused.value.details == {"path": "$.params.model.language"}


@pytest.mark.parametrize(
    "text",
    [
        "a.real", "a[0]", "(lambda: a)()", "__import__", "a if a else a", "'a'", "a; a", "a and a", "f(a)",
        "[a]", "a := 1", "exp(a, a)", "exp(*a)", "exp(x=a)", "a == a", "a < a < a", "a // a", "a % a",
        "a @ a", "~a", "a # b", "", " ", "b", "1", "1e999 * a", "9" * 400 + "* a", "True + a", "a\n+a", "exp",
        "…", "1_000j * a", "(" * 300 + "a" + ")" * 300, "-" * 999 + "a", "a" + "+a" * 600,
    ],
)  # fmt: skip
def test_nothing_but_arithmetic_over_declared_names_is_an_expression(text: str) -> None:
    with pytest.raises(BeliefdError) as refused:
        parse(text, {"a"}, "$.params.model.expression")
    assert refused.value.details == {"path": "$.params.model.expression"}


def test_inputs_are_left_as_they_are() -> None:
    given = {"a": np.asarray([1.0, 2.0]), "b": np.asarray([3.0, 4.0])}
    found = evaluate(parse("(a + b) * a - a / b + where(1, 2, 3)", set(given), "$"), given)
    assert found.tolist() == [(1 + 3) * 1 - 1 / 3 + 2, (2 + 4) * 2 - 2 / 4 + 2]
    assert {name: values.tolist() for name, values in given.items()} == {"a": [1.0, 2.0], "b": [3.0, 4.0]}


@pytest.mark.parametrize(
    "text",
    ["a * b + 1", "1 + 2 + a - b", "(a - b) / (a + b) * ((1 + 2) ** a)", "exp(a) - (a - b) * (b - a)",
     "(a < b) + (a + b)", "where(1, 2, 3) + a * b", "b + a", "exp(a) * -b"],
)  # fmt: skip
def test_an_output_has_the_same_bits_in_memory_of_the_callers(text: str) -> None:
    values = np.random.default_rng(1).normal(size=(2, 1_001))
    given = {"a": values[0].copy(), "b": values[1].copy()}
    parsed, out = parse(text, set(given), "$"), np.full(1_001, 7.0)
    expected = evaluate(parsed, given).tobytes()
    assert evaluate(parsed, given, out) is out
    assert out.tobytes() == expected
    assert np.array_equal([given["a"], given["b"]], values)


def scalar(name: str) -> Callable[[float], float]:
    return lambda value: float(getattr(np, name)(np.float64(value)))


PYTHONIC: dict[str, Callable[..., float]] = {
    "abs": abs, "max": lambda x, y: float(np.maximum(x, y)), "min": lambda x, y: float(np.minimum(x, y)),
    "where": lambda c, x, y: x if c else y,
    **{name: scalar(name) for name in ("ceil", "cos", "exp", "floor", "log", "sin", "sqrt", "tanh")},
}  # fmt: skip


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["a", "b", "2", "0.5"]))
    inner = expressions(depth=depth - 1)
    if draw(st.booleans()):
        return f"({draw(inner)} {draw(st.sampled_from(['+', '-', '*', '/', '<', '>=']))} {draw(inner)})"
    name = draw(st.sampled_from(sorted(FUNCTIONS)))
    return f"{name}({', '.join(draw(inner) for _ in range(FUNCTIONS[name]))})"


@settings(max_examples=200, deadline=None)
@given(expressions(), st.floats(-9, 9), st.floats(0.1, 9))
def test_an_expression_has_the_value_that_python_gives_it(text: str, a: float, b: float) -> None:
    whole = f"a * 0 + b * 0 + {text}"
    with np.errstate(all="ignore"):
        found = evaluate(parse(whole, {"a", "b"}, "$"), {"a": np.asarray([a, a]), "b": np.asarray([b, b])})
    with np.errstate(all="ignore"):
        scope = {"a": a, "b": b, **PYTHONIC}
        try:
            expected = float(eval(whole, {"__builtins__": {}}, scope))
        except ZeroDivisionError:
            return
    assert found[0] == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)
    assert found.shape == (2,)
