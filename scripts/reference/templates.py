"""What each template of an experiment takes, and which regions it can test for."""

from typing import Any, Final, get_args

from scripts.reference.types import fields, sections, sentence, struct, values_in

from beliefd.kernel.experiments.params import (
    CRITERIA,
    PARAMS,
    EffectDirection,
    NumericConsistency,
    ThresholdCheck,
)
from beliefd.kernel.experiments.plan import Criterion, TemplateName
from beliefd.kernel.experiments.prediction import Prediction

LEAD = (
    "# Templates\n\nThe templates of experiments, and the parameters of each. How they decide is in"
    " [experiments](../explanation/experiments.md).\n\n"
    "`params` of a plan are those of its `template`. Where a list of numbers is taken,"
    ' `{"observed": ["obs-..."]}` names [observations](../how-to/take-observations.md).\n'
    "A test of a proposition must be for the region that the [prediction](#prediction) names.\n\n"
)
BY_PARAMETERS: Final[dict[type, str]] = {
    NumericConsistency: "a `tolerance` around `claimed_value`",
    ThresholdCheck: "an `ordering`: `direction` of `threshold`",
    EffectDirection: "an `ordering` past `negligible`, or a `tolerance` of `negligible` around 0 for `zero`",
}


def templates() -> str:
    text = LEAD
    for name in get_args(TemplateName):
        kind = PARAMS[name]
        said = sentence(kind)
        text += f"## {name}\n\n{said + chr(10) * 2 if said else ''}{_regions(name)}\n\n{fields(kind)}\n"
    kinds = [Prediction, *get_args(Criterion), *values_in(PARAMS.values())]
    return text + "## Values\n\n" + sections(dict.fromkeys(kinds))


def _regions(name: Any) -> str:
    if (said := BY_PARAMETERS.get(PARAMS[name])) is not None:
        return f"Tests for {said}, by its parameters. It takes no `criterion`."
    tags = ", ".join(f"`{struct(kind).tag}`" for kind in CRITERIA[name])
    return (
        f"Tests for the region of its `criterion`: {tags}."
        if tags
        else "Bookkeeping: it tests for no region."
    )
