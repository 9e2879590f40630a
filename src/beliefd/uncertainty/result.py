"""The one result type of all methods, and the words a gate hears."""

from typing import Final

from msgspec import Struct

from beliefd.extras import install
from beliefd.kernel.claims.bundle import Recommendation
from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import Method, Note, Unit, Value

MIN_ANSWERS: Final = 2
MAX_ANSWERS: Final = 1_000
DEFAULT_POLICY: Final = UncertaintyPolicy()


class Reading(Value, frozen=True):
    """What a method says: a value, what it means, and what a gate would make of it."""

    method: Method
    value: Unit
    interpretation: Note = ""
    gate_recommendation: Recommendation = "EXECUTE"


class Measured(Struct, frozen=True, kw_only=True):
    """An uncertainty and how it came about. What could not be measured is 1.0, and `measured` says so.

    A number that somebody states about himself is not measured either, whatever it is.
    """

    uncertainty: Reading
    measured: bool = True
    clusters: tuple[tuple[int, ...], ...] = ()
    nats: float | None = None
    judge: str | None = None
    judge_calls: int = 0


def stated(
    method: Method, value: float, interpretation: str, policy: UncertaintyPolicy = DEFAULT_POLICY
) -> Reading:
    """A value with the recommendation that the policy's limits make of it."""
    bounded = min(1.0, max(0.0, value))
    return Reading(
        method=method,
        value=bounded,
        interpretation=interpretation,
        gate_recommendation=recommendation(bounded, policy),
    )


def recommendation(value: float, policy: UncertaintyPolicy = DEFAULT_POLICY) -> Recommendation:
    if value > policy.defer_above:
        return "DEFER"
    return "EXPLAIN" if value > policy.explain_above else "EXECUTE"


def unmeasured(method: Method, reason: str, judge: str | None = None) -> Measured:
    """INVARIANT: where nothing could be measured the value is 1.0, whatever the policy."""
    told = Reading(
        method=method, value=1.0, interpretation=f"not measured: {reason}", gate_recommendation="DEFER"
    )
    return Measured(uncertainty=told, measured=False, judge=judge)


def check_answers(answers: "list[str] | tuple[str, ...]") -> None:
    """Refuse what no method could say anything about."""
    if len(answers) < MIN_ANSWERS:
        raise invalid(
            f"{len(answers)} answers say nothing about how answers vary; give at least {MIN_ANSWERS}",
            "$.answers",
        )
    if len(answers) > MAX_ANSWERS:
        raise invalid(f"{len(answers)} answers are more than {MAX_ANSWERS}", "$.answers")
    if not any(answer.strip() for answer in answers):
        raise invalid("all answers are empty", "$.answers")


def missing_extra(extra: str, package: str) -> BeliefdError:
    return BeliefdError(Code.INVALID_REQUEST, f"`{package}` is not installed; {install(extra)}")
