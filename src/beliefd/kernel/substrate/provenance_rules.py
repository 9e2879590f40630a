"""Provenance against what is known: the role of who speaks, the records of the session, what they hold."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import UnsetType

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import ancestors, cannot_use
from beliefd.kernel.substrate.issuing import withdrawn
from beliefd.kernel.substrate.provenance import CLAIMED_BY, Provenance
from beliefd.kernel.substrate.state import GENESIS_SNAPSHOT
from beliefd.kernel.values import shown

AT: Final = "$.provenance"
MOST_INPUTS: Final = 100
"""So many inputs are looked up; a proposal that was made from more can name what they came to."""
CALL_SCHEME: Final = "call://"
"""Claims cite calls so, and an input may be named as it is cited."""
RECORDS: Final[dict[str, Callable[[Session], Mapping[str, Any]]]] = {
    "call": lambda session: session.substrate.calls,
    "memory entry": lambda session: session.substrate.memory,
    "bundle": lambda session: session.claims.bundles,
    "approval": lambda session: session.approvals.by_id,
    "observation": lambda session: session.observations.by_id,
    "measurement": lambda session: session.measurements.by_id,
    "experiment": lambda session: session.experiments.by_id,
    "run": lambda session: session.experiments.runs,
    "evidence": lambda session: session.experiments.evidence,
}
"""What an input can be the id of, beside an event, a snapshot and stored content."""


def unfit(
    session: Session, told: Provenance, found: tuple[str, ...] | UnsetType, facts: Facts
) -> Refused | None:
    """Why somebody's word on where something comes from is not taken; None if it is."""
    return (
        _not_the_source(told, facts)
        or _not_known(session, told, found or (), facts)
        or _not_held(session, told, facts)
    )


def _not_the_source(told: Provenance, facts: Facts) -> Refused | None:
    role, able = facts.principal.role, CLAIMED_BY[told.source]
    if facts.policy.provenance.sources == "any" or role in able:
        return None
    text = f"role `{role}` is no {told.source}; who can say so is {', '.join(sorted(able))}"
    return refused(Code.FORBIDDEN, text, f"{AT}.source")


def _not_known(session: Session, told: Provenance, found: tuple[str, ...], facts: Facts) -> Refused | None:
    """INVARIANT: what is not looked up is not known."""
    if facts.policy.provenance.inputs == "any":
        return None
    if len(told.inputs) > MOST_INPUTS:
        text = f"{len(told.inputs)} inputs are more than {MOST_INPUTS}"
        return refused(Code.INVALID_REQUEST, text, f"{AT}.inputs")
    for index, name in enumerate(told.inputs):
        if name not in found and not is_recorded(session, name):
            text = f"`{shown(name)}` is no event, stored content or other record of this session"
            return refused(Code.NOT_FOUND, text, f"{AT}.inputs[{index}]")
    return None


def is_recorded(session: Session, name: str) -> bool:
    """Is it the id of something that the state of the session holds?"""
    if name == GENESIS_SNAPSHOT or name.removeprefix(CALL_SCHEME) in session.substrate.calls:
        return True
    return any(name in records(session) for records in RECORDS.values())


def _not_held(session: Session, told: Provenance, facts: Facts) -> Refused | None:
    """Whether those still stand through whom a capability came, is asked when it is used."""
    if facts.policy.provenance.permissions == "any":
        return None
    for index, name in enumerate(told.permissions):
        if (problem := _no_holder(session, name, facts)) is not None:
            text = f"`{facts.principal.id}` does not hold `{shown(name)}`: {problem}"
            return refused(Code.FORBIDDEN, text, f"{AT}.permissions[{index}]")
    return None


def _no_holder(session: Session, name: str, facts: Facts) -> str | None:
    held, who = session.substrate.capabilities, facts.principal
    capability = held.get(name.removeprefix(f"{session.session_id}/"))
    if capability is None:
        return "there is no such capability in this session"
    lineage = ancestors(held, capability)
    problem = cannot_use(capability, lineage, who.id, facts.now)
    return problem or withdrawn(facts.policy, who, (capability, *lineage))
