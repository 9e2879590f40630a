"""What some events of a long ledger tell, and where those before and after them are."""

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from beliefd.console.app import LARGE, Visitor
from beliefd.console.drawing import Step
from beliefd.console.forms import number
from beliefd.kernel.labels import ATTESTED
from beliefd.protocol.visible import visible
from beliefd.steward.offload import offload

FULL: Final = 50
"""So many calls, and so many speakers, are told of at once."""
MOST_FALLEN: Final = 10_000
CHARTED: Final = 300
CHARTED_PAGES: Final = 4
"""So much of a ledger is read for one picture; a page says which events these are, and leads to others."""


class Actor(Struct, frozen=True):
    id: str


class Called(Struct, frozen=True):
    call_id: str = ""
    tool_id: str = ""
    status: str = ""


class Judged(Struct, frozen=True):
    call: Called | None = None


class Labelled(Struct, frozen=True):
    label: str = ""


class Change(Struct, frozen=True):
    eliminated: list[str] = []
    label: str | None = None
    evidence: Labelled | None = None
    kind: str = ""
    call: Called | None = None
    result: Judged | None = None
    results: list[Judged] = []

    @property
    def calls(self) -> list[Called]:
        judged = [*self.results, *([self.result] if self.result else [])]
        return [one for one in (self.call, *(each.call for each in judged)) if one and one.call_id]


class Entry(Struct, frozen=True):
    """What a picture needs of an event."""

    seq: int
    event_id: str
    verb: str
    actor: Actor
    delta: Change
    payload: msgspec.Raw = msgspec.Raw(b"{}")


class EntryPage(Struct, frozen=True):
    events: list[Entry]
    next: str | None = None


class Said(Struct, frozen=True):
    source_id: str = ""
    justification: Any = None


class Fallen(Struct, frozen=True):
    """A hypothesis that fell: who said so, which source they named, whether the server saw it, and why."""

    name: str
    seq: int
    event_id: str
    actor: str
    source: str
    label: str
    because: str


class Past(Struct):
    """What some events of a ledger tell, one after the other: those after number `first`, up to `last`."""

    first: int = 0
    last: int = 0
    of: int = 0
    steps: list[Step] = msgspec.field(default_factory=list)
    fallen: list[Fallen] = msgspec.field(default_factory=list)
    sources: list[str] = msgspec.field(default_factory=list)
    actors: list[str] = msgspec.field(default_factory=list)
    calls: dict[str, Called] = msgspec.field(default_factory=dict)

    @property
    def is_all(self) -> bool:
        return self.first == 0 and self.last >= self.of


def has_calls(past: Past) -> bool:
    return len(past.calls) >= FULL


def has_speakers(past: Past) -> bool:
    return max(len(past.sources), len(past.actors)) >= FULL


async def past_of(visitor: Visitor, of: int, is_full: Callable[[Past], bool] = lambda _: False) -> Past:
    """What fell by whom, and what was called, in some events of a ledger of so many; it ends once it is full.

    Where they begin is part of the address.
    """
    first = min(number(visitor.query.get("from", "0")), of)
    past, path = Past(first=first, last=first, of=of), {"session_id": visitor.path["session_id"]}
    for _ in range(CHARTED_PAGES):
        query = {"limit": first + CHARTED - past.last, "after": past.last}
        found = await visitor.asker.ask("audit_trace", path, query)
        read: EntryPage = await offload(is_long(found), read_as, found, EntryPage)
        for one in read.events:
            _take(past, path["session_id"], one)
            past.last = one.seq
            if is_full(past):
                return past
        if read.next is None or past.last >= first + CHARTED:
            break
    return past


def _take(past: Past, session_id: str, one: Entry) -> None:
    past.calls |= {called.call_id: called for called in one.delta.calls}
    if not one.delta.eliminated:
        return
    said, actor = _said(one), visible(one.actor.id)
    place = f"/sessions/{quote(session_id, safe='')}/audit?around={one.seq}#{one.event_id}"
    past.steps.append(Step(one.seq, one.verb, actor, len(one.delta.eliminated), place))
    for value, names in ((said.source_id, past.sources), (one.actor.id, past.actors)):
        if value and value not in names:
            names.append(value)
    because = _because(said.justification)
    for name in one.delta.eliminated[: MOST_FALLEN - len(past.fallen)]:
        past.fallen.append(
            Fallen(name, one.seq, one.event_id, one.actor.id, said.source_id, _label(one), because)
        )


def along(visitor: Visitor, past: Past) -> dict[str, str]:
    """Where earlier and later events are."""
    kept = {name: value for name, value in visitor.query.items() if name != "fallen"}
    before, after = ({**kept, "from": at} for at in (max(0, past.first - CHARTED), past.last))
    return {
        "before": f"?{urlencode(before)}" if past.first else "",
        "after": f"?{urlencode(after)}" if past.last < past.of else "",
    }


def _said(one: Entry) -> Said:
    try:
        return msgspec.json.decode(one.payload, type=Said)
    except msgspec.MsgspecError:
        return Said()


def _label(one: Entry) -> str:
    """What was taken over from another session has a label for each that spoke there."""
    if one.verb == "MERGE":
        return ""
    return (one.delta.evidence.label if one.delta.evidence else one.delta.label) or ATTESTED


def _because(justification: Any) -> str:
    """The column is called so already."""
    if isinstance(justification, dict):
        told = list(justification.items())[:4]
        return ", ".join(str(value) if name == "because" else f"{name}: {value}" for name, value in told)
    return "" if justification is None else str(justification)


def is_long(found: Any) -> bool:
    return sum(len(memoryview(entry)) for entry in found.events) > LARGE


def read_as(found: object, kind: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(found), type=kind)
