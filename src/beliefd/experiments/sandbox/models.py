"""A user's model by its language: its output for each replicate."""

from collections.abc import Mapping
from functools import lru_cache

from beliefd.experiments.plan import Floats
from beliefd.experiments.sandbox.errors import ModelFailed
from beliefd.experiments.sandbox.expressions import evaluate
from beliefd.experiments.sandbox.monty import run_python
from beliefd.kernel.experiments.expressions import Expression, parse
from beliefd.kernel.experiments.params import ByExpression, ByPython


def output(
    model: ByExpression | ByPython,
    inputs: Mapping[str, Floats],
    sources: Mapping[str, str],
    out: Floats | None = None,
) -> Floats:
    """What is not finite is a replicate that failed; raises ModelFailed if there is no output at all.

    An expression's outputs may be put into `out`.
    """
    if isinstance(model, ByExpression):
        return evaluate(_parsed(model.expression, tuple(inputs)), inputs, out)
    if model.source not in sources:
        raise ModelFailed("the model's code is not at hand")
    return run_python(sources[model.source], inputs)


@lru_cache(64)
def _parsed(text: str, names: tuple[str, ...]) -> Expression:
    return parse(text, names, "$.params.model.expression")
