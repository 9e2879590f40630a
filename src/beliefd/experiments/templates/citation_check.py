"""citation_check: does every required citation resolve? Bookkeeping: it says nothing about truth."""

from msgspec import Struct

from beliefd.experiments.plan import Decision, Diagnosis, Drawn, Findings, Plan, Template
from beliefd.kernel.experiments.params import CitationCheck


class Result(Struct, frozen=True):
    count: int
    sources: tuple[str, ...]
    missing: tuple[str, ...]


def conclude(plan: Plan, _: Drawn) -> Findings:
    """No chance is involved, so no error is bounded: the level stays 1, and this can never prove a claim."""
    params = plan.of(CitationCheck)
    sources = {citation.id: citation.source for citation in params.bundle}
    missing = tuple(sorted(set(params.required) - set(sources)))
    found = sorted({sources[name] for name in params.required if name in sources})
    return Findings(
        model=f"bookkeeping: do all {len(params.required)} required citations resolve in the bundle?",
        decision=Decision("unresolved" if missing else "support", 1.0),
        failure_mode="violated_assumption" if missing else None,
        result=Result(len(params.required) - len(missing), tuple(found), missing),
        diagnosis=Diagnosis(complete=not missing, told={"distinct_sources": len(found)}),
        bookkeeping=True,
    )


TEMPLATE = Template(name="citation_check", result=Result, conclude=conclude)
