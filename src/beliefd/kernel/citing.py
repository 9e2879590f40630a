"""What an elimination rests on, and what label it gets from that: the rule is that of observations."""

from collections.abc import Callable, Iterable
from typing import Final

from beliefd.kernel.beliefs.commands import Citation
from beliefd.kernel.beliefs.findings import CitationFindings
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.experiments.state import Evidence, Run
from beliefd.kernel.facts import Facts
from beliefd.kernel.labels import SERVER, Label, join, label_for
from beliefd.kernel.observations.state import Observation
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.values import shown

Look = Callable[[Session, str, str, Facts], Label | Refused]


def label_of(session: Session, cites: Iterable[Citation], facts: Facts) -> Label | Refused:
    """INVARIANT: the label comes from what is recorded under the cited ids, and labels join."""
    labels: list[Label] = []
    for place, one in enumerate(cites):
        kind, name = one.named
        found = LOOKS[kind](session, name, f"$.cites[{place}].{kind}", facts)
        if isinstance(found, Refused):
            return found
        labels.append(found)
    return join(labels)


def _call(session: Session, name: str, path: str, facts: Facts) -> Label | Refused:
    call: ToolCall | None = session.substrate.calls.get(name)
    if call is None:
        return refused(Code.NOT_FOUND, f"no call `{shown(name)}` was let through in this session", path)
    if call.status != "ok":
        return refused(Code.CONFLICT, f"the call is {call.status}: it has no result", path)
    # Who has not looked has seen nothing: without findings a call is the word of who made it.
    seen = isinstance(facts.findings, CitationFindings) and name in facts.findings.seen
    return label_for((SERVER,) if seen else (), facts.principal.id)


def _observation(session: Session, name: str, path: str, facts: Facts) -> Label | Refused:
    one: Observation | None = session.observations.by_id.get(name)
    if one is None:
        return refused(Code.OBSERVATION_NOT_FOUND, f"no observation `{shown(name)}` in this session", path)
    return label_for(one.witnesses, facts.principal.id)


def _run(session: Session, name: str, path: str, facts: Facts) -> Label | Refused:
    run: Run | None = session.experiments.runs.get(name)
    if run is None:
        return refused(Code.RUN_NOT_FOUND, f"no run `{shown(name)}` in this session", path)
    if run.evidence_id is None:
        return refused(Code.CONFLICT, f"the run is {run.status}: it has minted no evidence", path)
    evidence: Evidence = session.experiments.evidence[run.evidence_id]
    return session.experiments.label_of(evidence, session.observations.by_id, facts.principal.id)


LOOKS: Final[dict[str, Look]] = {"call": _call, "observation": _observation, "run": _run}
