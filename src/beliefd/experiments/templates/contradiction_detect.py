"""contradiction_detect: do items of evidence point in opposite directions? Bookkeeping, like citations."""

from typing import Final

from msgspec import Struct

from beliefd.experiments.plan import Decision, Diagnosis, Drawn, Findings, Plan, Template
from beliefd.kernel.experiments.params import ContradictionDetect
from beliefd.kernel.experiments.plan import FailureMode, RunOutcome

PAIRS_SHOWN: Final = 100


class Result(Struct, frozen=True):
    """`pairs` are the first so many of `contradictions`."""

    contradictions: int
    pairs: tuple[tuple[str, str], ...]
    unresolved_count: int


def conclude(plan: Plan, _: Drawn) -> Findings:
    """INVARIANT: no conflict supports a claim only if something supports it; nothing supports by default."""
    params = plan.of(ContradictionDetect)
    supporting = sorted(item.id for item in params.items if item.direction == "supports")
    refuting = sorted(item.id for item in params.items if item.direction == "refutes")
    pairs = tuple((one, other) for one in supporting for other in refuting)
    outcome, failure = _judged(len(supporting), len(refuting))
    return Findings(
        model=f"bookkeeping: do {len(params.items)} items of evidence, as labelled, contradict each other?",
        decision=Decision(outcome, 1.0),
        failure_mode=failure,
        result=Result(len(pairs), pairs[:PAIRS_SHOWN], len(params.items) - len(supporting) - len(refuting)),
        diagnosis=Diagnosis(
            complete=bool(params.items),
            told={"supporting": len(supporting), "refuting": len(refuting)},
        ),
        bookkeeping=True,
    )


def _judged(supporting: int, refuting: int) -> tuple[RunOutcome, FailureMode | None]:
    if supporting and refuting:
        return "unresolved", "violated_assumption"
    if supporting:
        return "support", None
    return ("refute", "violated_assumption") if refuting else ("unresolved", "nonidentifiable")


TEMPLATE = Template(name="contradiction_detect", result=Result, conclude=conclude)
