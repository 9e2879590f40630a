"""What was observed: where values were taken from, who witnessed them, and their digest."""

import msgspec

from beliefd.kernel.labels import ATTESTED, Label
from beliefd.kernel.parts import EMPTY, Growing, Part
from beliefd.kernel.values import Value, shown


class Observation(Value, frozen=True):
    """Values that do not change any more. They stand in the event that `event_id` names.

    `label` is what they are worth to who took them; to others it follows from `witnesses`. `body` names what
    they were taken from: what was taken from the same body is not independent. `since` is when the data were
    there. `choices` is how many lists of numbers could have been taken from the same source.
    """

    observation_id: str
    event_id: str
    quantity: str
    unit: str
    count: int
    low: float
    high: float
    digest: str
    label: Label
    body: str
    since: str
    observed_by: str
    observed_at: str
    witnesses: tuple[str, ...] = ()
    choices: int = 1
    typed: bool = False
    call_id: str | None = None
    content: str | None = None
    pointer: str = ""
    each: str = ""
    column: str | None = None


class Observations(Part, frozen=True):
    """The observations of a session."""

    by_id: Growing[Observation] = msgspec.field(default=EMPTY, name="observations")


def words_for(one: Observation, label: Label) -> str:
    """Where it came from, as a reviewer reads it."""
    if one.typed:
        return f"numbers typed by {one.observed_by}"
    place = f"column `{shown(one.column)}`" if one.column else f"at `{shown(one.pointer or '/')}`"
    place += f", `{shown(one.each)}` of each item" if one.each else ""
    if one.call_id is not None:
        seen = "the server saw its result" if label != ATTESTED else "its result repeats what agents put in"
        return f"call {one.call_id}: {seen}; {place}"
    told = ", ".join(one.witnesses) if label != ATTESTED else f"nobody but {one.observed_by} or other agents"
    return f"content {(one.content or '')[:16]}, brought by {told}; {place}"
