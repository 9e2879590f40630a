"""What may be taken as an observation, and what its label is."""

import re
from typing import Any, Final

from msgspec import UNSET

from beliefd.kernel.canonical import digest
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.labels import ATTESTED, SERVER, label_for, statement_of
from beliefd.kernel.observations.commands import Observe
from beliefd.kernel.observations.events import Observed
from beliefd.kernel.observations.findings import ObservationFindings
from beliefd.kernel.observations.state import Observation
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.tables import Rules
from beliefd.kernel.values import Role

MOST_REPEATED: Final = 0.5
"""Of the different values of a result so many may stand in the call's arguments; past it, it is an echo."""
TYPED: Final = "typed "
NUMBER: Final = re.compile(r"-?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d{1,3})?")
"""In whatever digits: `float` reads them all."""


def observe(session: Session, command: Observe, facts: Facts) -> Observed | Refused:
    """INVARIANT: the label comes from where the values were found and who brought them, never from words."""
    if command.values is not None:
        return _typed(command, command.values, facts)
    found = facts.findings
    if not isinstance(found, ObservationFindings):
        return refused(Code.INVALID_REQUEST, "there is nothing to take values from", "$")
    call: ToolCall | None = None
    if command.call_id is not None:
        call = session.substrate.calls.get(command.call_id)
        if call is None:
            text = f"no call `{command.call_id[:64]}` was let through in this session"
            return refused(Code.NOT_FOUND, text, "$.call_id")
        if call.status != "ok":
            return refused(Code.CONFLICT, f"the call is {call.status}: it has no result", "$.call_id")
    if found.problem:
        return refused(Code.INVALID_REQUEST, found.problem, found.path)
    if call is not None:
        calls = session.substrate.calls.values()
        # Only what was put in until then can be repeated: a reading that is passed on stays a reading.
        until = found.recorded_at
        args = [one.args for one in calls if until is UNSET or one.scheduled_at <= until]
        # INVARIANT: this server has seen nothing of what was recorded elsewhere.
        unseen = found.elsewhere or call.label == ATTESTED or repeats(args, found.values)
        # The same result was there before, if a call came to it before.
        since = min(one.scheduled_at for one in calls if one.result_hash == call.result_hash)
        return _observed(
            command, found.values, facts, () if unseen else (_who_saw(call),), call.result_hash or "", since
        )
    witnesses = tuple(sorted({one.id for one in found.brought if one.role != Role.AGENT}))
    since = min((one.at for one in found.brought), default=facts.now)
    return _observed(command, found.values, facts, witnesses, found.source_hash, since)


def _who_saw(call: ToolCall) -> str:
    """Who witnessed a result: the server that ran the call, or the program that it went through."""
    return call.agent_id if call.is_run_by_caller else SERVER


def _typed(command: Observe, values: tuple[float, ...], facts: Facts) -> Observed:
    who = facts.principal
    return _observed(command, values, facts, statement_of(who), body_of_typed(who.id), facts.now)


def body_of_typed(who: str) -> str:
    """All that one principal types in a session is one body: he may make up as much of it as he likes."""
    return f"{TYPED}{who}"


def _observed(
    command: Observe,
    values: tuple[float, ...],
    facts: Facts,
    witnesses: tuple[str, ...],
    body: str,
    since: str,
) -> Observed:
    observation = Observation(
        observation_id=f"obs-{facts.event_id}",
        event_id=facts.event_id,
        quantity=command.quantity,
        unit=command.unit,
        count=len(values),
        low=min(values),
        high=max(values),
        digest=digest(list(values)),
        label=label_for(witnesses, facts.principal.id),
        body=body,
        since=since,
        observed_by=facts.principal.id,
        observed_at=facts.now,
        witnesses=witnesses,
        choices=facts.findings.choices if isinstance(facts.findings, ObservationFindings) else 1,
        typed=command.values is not None,
        call_id=command.call_id,
        content=command.content,
        pointer=command.pointer,
        each=command.each,
        column=command.column,
    )
    return Observed(observation=observation, values=values)


def repeats(args: Any, values: tuple[float, ...]) -> bool:
    """Does a result only say back what callers put into calls?"""
    known = numbers_in(args)
    different = set(values)
    return len(different & known) > MOST_REPEATED * len(different)


def numbers_in(value: Any) -> set[float]:
    """All numbers in a JSON value, those in its texts too."""
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, int | float):
        return {float(value)}
    if isinstance(value, str):
        return {float(found.replace("_", "")) for found in NUMBER.findall(value)}
    items = [*value.keys(), *value.values()] if isinstance(value, dict) else value
    return set().union(*map(numbers_in, items))


RULES: Final[Rules] = {Observe: observe}
