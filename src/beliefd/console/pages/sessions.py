"""Sessions: what is believed, how it came to that, what was done, and whether the record still holds."""

from typing import Any, Final
from urllib.parse import quote

import msgspec
from msgspec import Struct

from beliefd.console.app import LARGE, Seen, Visitor
from beliefd.console.drawing import Step, collapse, histogram
from beliefd.console.pages.revealing import revealed
from beliefd.console.pages.telling import told
from beliefd.console.questions import Reading, going_on
from beliefd.kernel.errors import BeliefdError
from beliefd.ledger.envelope import LedgerBroken
from beliefd.protocol.beliefs import ArchivedSession, BeliefSnapshot, SessionPage
from beliefd.protocol.claims import BundlePage
from beliefd.protocol.experiments import ExperimentView
from beliefd.protocol.headlines import headline_of
from beliefd.protocol.ledger import UNSAID, AuditPage, Counterfactual, Why
from beliefd.protocol.visible import visible
from beliefd.steward.offload import offload

ROWS: Final = 50
NEWEST: Final = 20
NAMED: Final = 200
"""So many survivors are listed on a page; the others are counted."""
LISTED: Final = 20
"""So many claims, experiments, ideas and the like are listed."""
CHARTED: Final = 500
CHARTED_MORE: Final = 5_000
CHARTED_PAGES: Final = 4
"""So much of a ledger is read for its picture, which says so if that is not all."""


class Actor(Struct, frozen=True):
    id: str


class Called(Struct, frozen=True):
    call_id: str = ""
    tool_id: str = ""
    status: str = ""


class Change(Struct, frozen=True):
    eliminated: list[str] = []
    kind: str = ""
    call: Called | None = None


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
    """A hypothesis that fell: to whom, by what, and why."""

    name: str
    seq: int
    event_id: str
    actor: str
    source: str
    because: str


class Past(Struct):
    """What the beginning of a ledger tells; `looked_at` is 0 if that was all of it."""

    steps: list[Step] = msgspec.field(default_factory=list)
    fallen: list[Fallen] = msgspec.field(default_factory=list)
    sources: list[str] = msgspec.field(default_factory=list)
    actors: list[str] = msgspec.field(default_factory=list)
    calls: dict[str, Called] = msgspec.field(default_factory=dict)
    looked_at: int = 0


async def listed(visitor: Visitor) -> Seen:
    asked = {"limit": ROWS, "cursor": visitor.query.get("cursor"), "space": visitor.query.get("space")}
    found: SessionPage = await visitor.asker.ask("list_sessions", query=asked)
    rows: list[BeliefSnapshot | ArchivedSession] = [*found.sessions, *found.archived]
    values = {
        "rows": [(one, isinstance(one, ArchivedSession)) for one in sorted(rows, key=_id_of)],
        "broken": found.broken,
        "next": found.next,
        "space": visitor.query.get("space", ""),
    }
    return Seen("sessions.html", values)


def _id_of(one: BeliefSnapshot | ArchivedSession) -> str:
    return one.session_id


async def shown(visitor: Visitor) -> Seen:
    snapshot = await _snapshot(visitor)
    trail = await _trail(visitor, after=max(0, snapshot.seq - NEWEST))
    past = await _past(visitor, _charted(visitor))
    ask, few = visitor.asker.ask, {"limit": LISTED}
    values = {
        **_of(visitor, snapshot),
        "survivors": snapshot.survivors,
        "unnamed": max(0, snapshot.n_survivors - NAMED),
        "past": past,
        "events": [told(snapshot.session_id, one) for one in await revealed(visitor, trail.events[::-1])],
        "chart": collapse(snapshot.n_hypotheses, past.steps),
        "charted": past.looked_at,
        "ideas": await ask("list_hypotheses", visitor.path, few),
        "evidence": await ask("list_evidence", visitor.path, few),
        "intents": await ask("list_intents", visitor.path, few),
    }
    return Seen("session.html", values)


async def work(visitor: Visitor) -> Seen:
    """What was said, asked for, tried and observed in a session."""
    snapshot, past = await _snapshot(visitor, 0), await _past(visitor, _charted(visitor))
    ask, few = visitor.asker.ask, {"limit": LISTED}
    bundles: BundlePage = await ask("list_claims", visitor.path, few)
    values = {
        **_of(visitor, snapshot),
        "past": past,
        "bundles": bundles,
        "bundles_said": [(one, headline_of(one)) for one in bundles.claims],
        "experiments": await ask("list_experiments", visitor.path, few),
        "observations": await ask("list_observations", visitor.path, few),
        "memory": await ask("list_memory", visitor.path),
    }
    return Seen("work.html", values)


async def call(visitor: Visitor) -> Seen:
    values = {
        **await _called(visitor),
        "name": visitor.path["call_id"],
        "found": await visitor.asker.ask("show_call", visitor.path),
    }
    return Seen("call.html", values)


async def experiment(visitor: Visitor) -> Seen:
    found: ExperimentView = await visitor.asker.ask("show_experiment", visitor.path)
    values = {
        **await _called(visitor),
        "name": visitor.path["experiment_id"],
        "found": found,
        "picture": None if found.picture is None else histogram(found.picture),
        "checks": [] if found.report is None else found.report.checks,
    }
    return Seen("experiment.html", values)


async def why(visitor: Visitor) -> Seen:
    asked = {"cursor": visitor.query.get("cursor"), "limit": ROWS}
    found: Why | Reading = await visitor.ask_at_length("why", asked)
    if isinstance(found, Why):
        found = msgspec.convert(await revealed(visitor, found), Why)
    told = {"hypothesis": visitor.path["hypothesis"], "unsaid": UNSAID}
    values = {**told, **await _answer(visitor, found)}
    return Seen("why.html", values)


async def what_if(visitor: Visitor) -> Seen:
    """What falls if some had never spoken: boxes to tick, in the address."""
    snapshot = await _snapshot(visitor, 0)
    sources, actors = _ticked(visitor, "source"), _ticked(visitor, "principal")
    attested = visitor.query.get("attested") == "1"
    found: Counterfactual | Reading | None = None
    if sources or actors or attested:
        without = {"source_ids": sources, "principals": actors, "attested": attested}
        found = await visitor.ask_at_length("counterfactual", body={"without": without})
    # What else could be ticked is not looked up again each second.
    past = Past() if isinstance(found, Reading) else await _past(visitor, _charted(visitor))
    values = {
        **_of(visitor, snapshot),
        **going_on(found, snapshot.seq),
        "boxes": [
            ("Sources", "source", list(dict.fromkeys([*past.sources, *sources])), sources),
            ("Who said it", "principal", list(dict.fromkeys([*past.actors, *actors])), actors),
        ],
        "looked_at": past.looked_at,
        "attested": attested,
    }
    return Seen("what_if.html", values)


def _ticked(visitor: Visitor, name: str) -> list[str]:
    return [value for key, value in visitor.query.items() if key.partition(".")[0] == name]


async def audit(visitor: Visitor) -> Seen:
    session_id = visitor.path["session_id"]
    around = visitor.query.get("around", "")
    near = int(around) if around.isascii() and around.isdigit() and len(around) < 16 else None
    first = None if near is None else max(0, near - ROWS // 2)
    trail = await _trail(visitor, visitor.query.get("after") if first is None else None, first)
    events = [told(session_id, event) for event in await revealed(visitor, trail.events)]
    values = {**await _called(visitor), "events": events, "next": trail.next}
    return Seen("session_audit.html", values)


async def verified(visitor: Visitor) -> Seen:
    return Seen("verified.html", await _answer(visitor, await visitor.ask_at_length("verify")))


async def _answer(visitor: Visitor, found: Any) -> dict[str, Any]:
    """What a page shows of a question about a session: its answer, or how far that is."""
    called = await _called(visitor)
    return {**called, **going_on(found, called["seq"])}


async def _called(visitor: Visitor) -> dict[str, Any]:
    """Which session it is, what it is called, and how long; a ledger that is broken has lost its name."""
    session_id = visitor.path["session_id"]
    try:
        snapshot = await _snapshot(visitor, 0)
    except (BeliefdError, LedgerBroken):
        return {"session_id": session_id, "title": "", "seq": 0}
    return {"session_id": session_id, "title": snapshot.title, "seq": snapshot.seq}


async def _snapshot(visitor: Visitor, survivors: int = NAMED) -> BeliefSnapshot:
    found: BeliefSnapshot = await visitor.asker.ask(
        "query_belief", {"session_id": visitor.path["session_id"]}, {"survivors_limit": survivors}
    )
    return found


def _of(visitor: Visitor, snapshot: BeliefSnapshot) -> dict[str, Any]:
    return {"snapshot": snapshot, "session_id": snapshot.session_id}


def _charted(visitor: Visitor) -> int:
    return CHARTED_MORE if visitor.query.get("chart") == "more" else CHARTED


async def _trail(visitor: Visitor, since: str | None = None, after: int | None = None) -> AuditPage:
    query: dict[str, Any] = {"limit": ROWS, "since_event_id": since, "after": after}
    found = await visitor.asker.ask("audit_trace", visitor.path, query)
    # Entries are passed on as they are stored; a page looks into them.
    return await offload(_is_long(found), _read, found, AuditPage)


async def _past(visitor: Visitor, most: int) -> Past:
    """What fell by whom, and what was called, as far as the beginning of the ledger tells."""
    past, seen, after = Past(), 0, None
    for _ in range(CHARTED_PAGES):
        query = {"limit": most - seen, "since_event_id": after}
        found = await visitor.asker.ask("audit_trace", {"session_id": visitor.path["session_id"]}, query)
        read: EntryPage = await offload(_is_long(found), _read, found, EntryPage)
        for one in read.events:
            _take(past, visitor.path["session_id"], one)
        seen, after = seen + len(read.events), read.next
        if after is None:
            return past
        if seen >= most:
            break
    past.looked_at = seen
    return past


def _take(past: Past, session_id: str, one: Entry) -> None:
    if one.delta.call is not None and one.delta.call.call_id:
        past.calls[one.delta.call.call_id] = one.delta.call
    if not one.delta.eliminated:
        return
    said, actor = _said(one), visible(one.actor.id)
    place = f"/sessions/{quote(session_id, safe='')}/audit?around={one.seq}#{one.event_id}"
    past.steps.append(Step(one.seq, one.verb, actor, len(one.delta.eliminated), place))
    for value, names in ((said.source_id, past.sources), (one.actor.id, past.actors)):
        if value and value not in names and len(names) < LISTED:
            names.append(value)
    because = _because(said.justification)
    for name in one.delta.eliminated[: NAMED - len(past.fallen)]:
        past.fallen.append(Fallen(name, one.seq, one.event_id, one.actor.id, said.source_id, because))


def _said(one: Entry) -> Said:
    try:
        return msgspec.json.decode(one.payload, type=Said)
    except msgspec.MsgspecError:
        return Said()


def _because(justification: Any) -> str:
    if isinstance(justification, dict):
        return ", ".join(f"{name}: {value}" for name, value in list(justification.items())[:4])
    return "" if justification is None else str(justification)


def _is_long(found: Any) -> bool:
    return sum(len(memoryview(entry)) for entry in found.events) > LARGE


def _read(found: object, kind: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(found), type=kind)
