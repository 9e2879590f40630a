"""What each template may be told: closed types with bounds; a bad plan is refused before it is frozen.

Nothing here is free text: ids, choices, numbers, names of eight letters, and the hashes of model code.
"""

from collections.abc import Callable
from typing import Annotated, Any, Final, Literal

import msgspec

from beliefd.kernel import patterns
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.experiments.expressions import parse
from beliefd.kernel.experiments.plan import (
    AtLeast,
    Criterion,
    ExperimentSpec,
    Finite,
    Hex64,
    Near,
    Ordered,
    TemplateName,
    UnitName,
    Within,
)
from beliefd.kernel.locating import located
from beliefd.kernel.scan.guards import Stopped, refuse_speculation
from beliefd.kernel.values import Object, Value

MAX_NUMBERS: Final = 5_000
MAX_ITEMS: Final = 100
USUAL_SHARE: Final = 0.95
"""In so many cases the output of a model must lie where it is claimed, if nothing else is said."""
MAX_INPUTS: Final = 16
MAX_AXES: Final = 6
Number = Annotated[float, msgspec.Meta(ge=-1e150, le=1e150)]
"""A number whose square is still one: what is measured is averaged and squared."""
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e150)]
NotNegative = Annotated[float, msgspec.Meta(ge=0, le=1e150)]
Numbers = Annotated[tuple[Number, ...], msgspec.Meta(min_length=1, max_length=MAX_NUMBERS)]
Pair = Annotated[tuple[Number, ...], msgspec.Meta(min_length=2, max_length=MAX_NUMBERS)]
Draws = Annotated[int, msgspec.Meta(ge=100, le=5_000)]
Level = Annotated[float, msgspec.Meta(ge=0.8, le=0.99)]
Factor = Annotated[float, msgspec.Meta(ge=1.1, le=10)]
Reference = Annotated[str, msgspec.Meta(pattern=patterns.REFERENCE)]
"""The id of an evidence item or of a source: no spaces, so no sentence fits in."""
InputName = Annotated[str, msgspec.Meta(pattern=patterns.INPUT_NAME)]
Bounds = tuple[Number, Number]
"""The least and the largest value that an observation can have, as the planner knows them."""
Region = Within | Ordered | Near


class BootstrapCi(Value, frozen=True):
    data: Pair
    n_bootstrap: Draws = 2_000
    confidence_level: Level = 0.95
    null_value: Number = 0.0
    bounds: Bounds | None = None
    unit: UnitName | None = None


class BayesianUpdate(Value, frozen=True):
    """A normal mean with known spread. `region` is what is claimed of it, if the criterion does not say.

    Prior and spread are declared, so neither can show anything that the observations do not show themselves.
    """

    observations: Numbers
    prior_mean: Number = 0.0
    prior_std: Positive = 1.0
    likelihood_std: Positive = 1.0
    n_samples: Draws = 2_000
    region: Region | None = None
    bounds: Bounds | None = None
    unit: UnitName | None = None


class ThresholdCheck(Value, frozen=True):
    values: Numbers
    threshold: Number
    direction: Literal["above", "below"]
    bounds: Bounds | None = None
    unit: UnitName | None = None


class NumericConsistency(Value, frozen=True):
    claimed_value: Number
    observed_values: Numbers
    tolerance: NotNegative = 0.1
    bounds: Bounds | None = None
    unit: UnitName | None = None


class SensitivitySuite(Value, frozen=True):
    """Each axis is a way to be off, by so many standard errors; the claim must hold in every corner.

    It takes the observations and no summary of them: what a summary leaves out could not be checked.
    """

    observed_values: Numbers
    null_value: Number = 0.0
    prior_widening_factor: Factor = 2.0
    n_perturbations: Annotated[int, msgspec.Meta(ge=10, le=1_000)] = 100
    axes: Annotated[
        tuple[Annotated[float, msgspec.Meta(ge=0, le=10)], ...], msgspec.Meta(max_length=MAX_AXES)
    ] = ()
    bounds: Bounds | None = None
    unit: UnitName | None = None


class EvidenceItem(Value, frozen=True):
    id: Reference
    direction: Literal["supports", "refutes", "unclear"]


class ContradictionDetect(Value, frozen=True):
    items: Annotated[tuple[EvidenceItem, ...], msgspec.Meta(max_length=MAX_ITEMS)]

    def __post_init__(self) -> None:
        _unique("items", [item.id for item in self.items])


class Citation(Value, frozen=True):
    """A citation of the bundle, and the source that it resolves to."""

    id: Reference
    source: Reference


class CitationCheck(Value, frozen=True):
    required: Annotated[tuple[Reference, ...], msgspec.Meta(min_length=1, max_length=MAX_ITEMS)]
    bundle: Annotated[tuple[Citation, ...], msgspec.Meta(max_length=MAX_ITEMS)]

    def __post_init__(self) -> None:
        _unique("required", list(self.required))
        _unique("bundle", [citation.id for citation in self.bundle])


class EffectDirection(Value, frozen=True):
    """`negligible` is the largest effect that still counts as none."""

    observations: Pair
    expected: Literal["positive", "negative", "zero"]
    negligible: NotNegative = 0.0
    bounds: Bounds | None = None
    unit: UnitName | None = None


class Normal(Value, frozen=True, tag_field="is", tag="normal"):
    mean: Number
    std: Positive


class LogNormal(Value, frozen=True, tag_field="is", tag="lognormal"):
    """exp of a normal with this mean and standard deviation."""

    mean: Annotated[float, msgspec.Meta(ge=-300, le=300)]
    std: Annotated[float, msgspec.Meta(gt=0, le=10)]


class Uniform(Value, frozen=True, tag_field="is", tag="uniform"):
    low: Number
    high: Number

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError("`low` must be less than `high`")


class Exponential(Value, frozen=True, tag_field="is", tag="exponential"):
    mean: Positive


class Bernoulli(Value, frozen=True, tag_field="is", tag="bernoulli"):
    probability: Annotated[float, msgspec.Meta(ge=0, le=1)]


class Data(Value, frozen=True, tag_field="is", tag="data"):
    """Drawn from these values, each equally likely."""

    values: Numbers


class Fixed(Value, frozen=True, tag_field="is", tag="fixed"):
    value: Number


Distribution = Normal | LogNormal | Uniform | Exponential | Bernoulli | Data | Fixed


class Input(Value, frozen=True):
    name: InputName
    distribution: Distribution
    unit: UnitName | None = None


class ByExpression(Value, frozen=True, tag_field="language", tag="expression"):
    expression: str


class ByPython(Value, frozen=True, tag_field="language", tag="python"):
    """Plain Python, named by the hash of its source: its text is no part of a spec."""

    source: Hex64


class ModelSimulation(Value, frozen=True):
    """A model's output over draws of its inputs; what is claimed of it is a region that it lies in."""

    model: ByExpression | ByPython
    inputs: Annotated[tuple[Input, ...], msgspec.Meta(min_length=1, max_length=MAX_INPUTS)]
    region: Region | None = None
    widening: Factor = 1.25

    def __post_init__(self) -> None:
        _unique("inputs", [given.name for given in self.inputs])


Params = (
    BootstrapCi
    | BayesianUpdate
    | ThresholdCheck
    | NumericConsistency
    | SensitivitySuite
    | ContradictionDetect
    | CitationCheck
    | EffectDirection
    | ModelSimulation
)
OfObservations = (
    BootstrapCi | BayesianUpdate | ThresholdCheck | NumericConsistency | SensitivitySuite | EffectDirection
)
"""Parameters that contain observations of a mean."""
OBSERVATIONS: Final[dict[type[OfObservations], str]] = {
    BootstrapCi: "data",
    BayesianUpdate: "observations",
    ThresholdCheck: "values",
    NumericConsistency: "observed_values",
    SensitivitySuite: "observed_values",
    EffectDirection: "observations",
}
"""Under which name."""
PARAMS: Final[dict[TemplateName, type[Params]]] = {
    "bootstrap_ci": BootstrapCi,
    "bayesian_update": BayesianUpdate,
    "threshold_check": ThresholdCheck,
    "numeric_consistency": NumericConsistency,
    "sensitivity_suite": SensitivitySuite,
    "contradiction_detect": ContradictionDetect,
    "citation_check": CitationCheck,
    "effect_direction": EffectDirection,
    "model_simulation": ModelSimulation,
}
NUMPY_REFUSED: Final = (
    "NumPy code is not run: no sandbox here bounds its memory, processes, files and network at once; "
    "state the model as an `expression` or in plain `python`"
)
REGIONS: Final = (Within, Ordered, Near)
CRITERIA: Final[dict[TemplateName, tuple[type[Criterion], ...]]] = {
    "bootstrap_ci": REGIONS,
    "bayesian_update": (*REGIONS, AtLeast),
    "threshold_check": (),
    "numeric_consistency": (),
    "sensitivity_suite": (*REGIONS, AtLeast),
    "contradiction_detect": (),
    "citation_check": (),
    "effect_direction": (),
    "model_simulation": (*REGIONS, AtLeast),
}
"""The criteria a template can be held to. Where there is none, its parameters say what is claimed."""


def checked_params(template: TemplateName, params: Object) -> Params:
    """The parameters as the template's own type, or a refusal with the path of what is wrong with them."""
    model = params.get("model")
    if isinstance(model, dict) and model.get("language") == "numpy":
        raise invalid(NUMPY_REFUSED, "$.params.model.language")
    try:
        checked = msgspec.convert(params, PARAMS[template])
    except msgspec.ValidationError as error:
        message, path = located(error, params, PARAMS[template])
        raise invalid(message, f"$.params{path[1:]}") from None
    if isinstance(checked, OfObservations):
        _check_bounds(checked)
    if isinstance(checked, ModelSimulation) and isinstance(checked.model, ByExpression):
        names = {given.name for given in checked.inputs}
        parse(checked.model.expression, names, "$.params.model.expression")
    return checked


def checked_spec(spec: ExperimentSpec) -> Params:
    """The same for all of a plan: its criterion fits the template, and its budget what the template draws."""
    params = checked_params(spec.template, spec.params)
    allowed = CRITERIA[spec.template]
    if spec.criterion is not None and not isinstance(spec.criterion, allowed):
        tags = ", ".join(f"`{_tag(kind)}`" for kind in allowed)
        instead = f"takes a criterion on {tags}" if tags else "takes none: its parameters say what is claimed"
        raise invalid(f"`{spec.template}` {instead}", "$.criterion")
    if isinstance(params, BayesianUpdate | ModelSimulation):
        _check_region(params.region, spec.criterion)
    if (needed := _draws(params)) > spec.budget.replicates:
        told = f"the template draws {needed} replicates, more than the budget of {spec.budget.replicates}"
        raise invalid(told, "$.budget.replicates")
    return params


def claimed_region(params: BayesianUpdate | ModelSimulation, criterion: Criterion | None) -> Region:
    """What is claimed, from the place where it is said."""
    region = criterion if isinstance(criterion, Within | Ordered | Near) else params.region
    if region is None:
        raise invalid("say what is claimed: a `region` here, or a criterion that is one", "$.params.region")
    return region


def _check_region(region: Region | None, criterion: Criterion | None) -> None:
    if region is None and (criterion is None or isinstance(criterion, AtLeast)):
        raise invalid("say what is claimed: a `region` here, or a criterion that is one", "$.params.region")
    if region is not None and isinstance(criterion, Within | Ordered | Near):
        raise invalid("the region is claimed twice: here, and as the criterion", "$.params.region")


def _check_bounds(params: OfObservations) -> None:
    """A value outside of its declared range is refused: one of the two is wrong."""
    if params.bounds is None:
        return
    low, high = params.bounds
    if not low < high:
        raise invalid("the first of `bounds` must be less than the second", "$.params.bounds")
    name = OBSERVATIONS[type(params)]
    for place, value in enumerate(observed(params)):
        if not low <= value <= high:
            told = f"`{value:g}` is outside of `bounds`, from {low:g} to {high:g}"
            raise invalid(told, f"$.params.{name}[{place}]")


def observed(params: OfObservations) -> tuple[float, ...]:
    """The observations, whatever the template calls them."""
    found: tuple[float, ...] = getattr(params, OBSERVATIONS[type(params)])
    return found


def _draws(params: Params) -> int:
    if isinstance(params, BootstrapCi):
        return params.n_bootstrap
    return params.n_samples if isinstance(params, BayesianUpdate) else 0


def _tag(kind: Any) -> str:
    return str(kind.__struct_config__.tag)


def _unique(field: str, names: list[str]) -> None:
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"`{repeated}` is named twice in `{field}`")


def parse_spec(document: object, check: Callable[[ExperimentSpec], Params] = checked_spec) -> ExperimentSpec:
    """A plan as somebody sent it: first no residue of speculation, at any depth, then the closed types."""
    refuse_speculation(document, Code.SPECULATIVE_RESIDUE)
    try:
        spec = msgspec.convert(document, ExperimentSpec)
        check(spec)
    except msgspec.ValidationError as error:
        message, path = located(error, document, ExperimentSpec)
        raise Stopped(Code.INVALID_REQUEST, message, {"path": path}) from None
    except BeliefdError as error:
        raise Stopped(error.code, error.message, error.details) from None
    return spec


__all__ = [
    "CRITERIA",
    "PARAMS",
    "Finite",
    "Params",
    "checked_params",
    "checked_spec",
    "claimed_region",
    "observed",
    "parse_spec",
]
