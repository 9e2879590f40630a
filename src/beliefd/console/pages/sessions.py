"""Sessions: what is believed, how it came to that, what was done, and whether the record still holds."""

from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
from msgspec.structs import replace

from beliefd.console.app import Seen, Visitor
from beliefd.console.drawing import collapse, histogram
from beliefd.console.forms import number
from beliefd.console.pages.past import Called, Past, along, has_calls, has_speakers, is_long, past_of, read_as
from beliefd.console.pages.pieces import in_pieces
from beliefd.console.pages.revealing import revealed
from beliefd.console.pages.telling import told
from beliefd.console.questions import Reading, going_on
from beliefd.kernel.claims.bundle import Claim
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Tier
from beliefd.ledger.envelope import LedgerBroken
from beliefd.protocol.beliefs import ArchivedSession, BeliefSnapshot, SessionPage
from beliefd.protocol.calls import CallView
from beliefd.protocol.claims import BundlePage, JudgedBundle
from beliefd.protocol.experiments import ExperimentView
from beliefd.protocol.headlines import headline_of
from beliefd.protocol.ledger import UNSAID, AuditPage, Counterfactual, Why
from beliefd.steward.offload import offload

ROWS: Final = 50
NEWEST: Final = 20
NAMED: Final = 200
"""So many survivors are listed on a page."""
LISTED: Final = 20
"""So many claims, experiments, ideas and the like are listed."""
FALLEN: Final = 60


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
    past = await past_of(visitor, snapshot.seq)
    first, last = (number(visitor.query.get("fallen", "0")) + at for at in (0, FALLEN))
    values = {
        **_of(visitor, snapshot),
        "past": past,
        "fallen": past.fallen[first:last],
        "events": [told(snapshot.session_id, one) for one in await revealed(visitor, trail.events[::-1])],
        "chart": collapse(snapshot.n_hypotheses, past.steps, await _stood(visitor, snapshot, past.first)),
        "ideas": (ideas := await _list(visitor, "ideas", "list_hypotheses")),
        "evidence": (evidence := await _list(visitor, "evidence", "list_evidence")),
        "intents": (intents := await _list(visitor, "intents", "list_intents")),
        "more": {
            "survivors": _more(visitor, "survivors", snapshot.survivors_next),
            "fallen": _more(visitor, "fallen", str(last) if last < len(past.fallen) else None),
            "ideas": _more(visitor, "ideas", ideas.next),
            "evidence": _more(visitor, "evidence", evidence.next),
            "intents": _more(visitor, "intents", intents.next),
            **along(visitor, past),
        },
    }
    return Seen("session.html", values)


async def _list(visitor: Visitor, name: str, operation: str) -> Any:
    """One page of a list, of which a page may have several: each goes on by itself."""
    query = {"limit": LISTED, "cursor": visitor.query.get(name)}
    return await visitor.asker.ask(operation, visitor.path, query)


def _more(visitor: Visitor, name: str, following: str | None) -> str:
    """The address at which one list goes on, and all else stays as it is; nothing, if that was all of it."""
    return "" if following is None else f"?{urlencode({**visitor.query, name: following})}"


async def _stood(visitor: Visitor, snapshot: BeliefSnapshot, at: int) -> int:
    """How many hypotheses stood after an event."""
    if not 0 < at <= snapshot.seq:
        return snapshot.n_hypotheses
    then: BeliefSnapshot = await visitor.asker.ask(
        "query_belief", {"session_id": snapshot.session_id}, {"survivors_limit": 0, "at": at}
    )
    return then.n_survivors


async def work(visitor: Visitor) -> Seen:
    """What was said, asked for, tried and observed in a session."""
    snapshot = await _snapshot(visitor, 0)
    past = await past_of(visitor, snapshot.seq, has_calls)
    bundles: BundlePage = await _list(visitor, "claims", "list_claims")
    values = {
        **_of(visitor, snapshot),
        "past": past,
        "bundles_said": [(one, _riskiest(one), headline_of(one)) for one in bundles.claims],
        "calls": [await _call_as_it_is(visitor, one) for one in past.calls.values()],
        "experiments": (experiments := await _list(visitor, "experiments", "list_experiments")),
        "observations": (observations := await _list(visitor, "observations", "list_observations")),
        "more": {
            "claims": _more(visitor, "claims", bundles.next),
            "experiments": _more(visitor, "experiments", experiments.next),
            "observations": _more(visitor, "observations", observations.next),
            **along(visitor, past),
        },
    }
    return Seen("work.html", values)


def _riskiest(one: JudgedBundle) -> Claim:
    """The claim that a bundle is listed by, as in the inbox."""
    raised = {up.claim_id: up.tier for up in one.raised}
    return max(one.claims, key=lambda claim: Tier[raised.get(claim.id or "", claim.risk_tier)])


async def _call_as_it_is(visitor: Visitor, one: Called) -> Called:
    """What became of it may stand in events that were not looked at."""
    path = {"session_id": visitor.path["session_id"], "call_id": one.call_id}
    try:
        found: CallView = await visitor.asker.ask("show_call", path)
    except BeliefdError:
        return one
    return replace(one, status=found.status)


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
    reading = isinstance(found, Reading)
    past = Past() if reading else await past_of(visitor, snapshot.seq, has_speakers)
    values = {
        **_of(visitor, snapshot),
        **going_on(found, snapshot.seq),
        "boxes": [
            ("Sources", "source", list(dict.fromkeys([*past.sources, *sources])), sources),
            ("Who said it", "principal", list(dict.fromkeys([*past.actors, *actors])), actors),
        ],
        "past": past,
        "more": along(visitor, past),
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


async def event(visitor: Visitor) -> Seen:
    """All of one event, however long it is."""
    seq = number(visitor.path["seq"])
    found = await _trail(visitor, after=max(0, seq - 1), limit=1)
    if not found.events or found.events[0].get("seq") != seq:
        raise BeliefdError(Code.NOT_FOUND, "no such event in this session")
    (one,) = await revealed(visitor, found.events)
    place = f"/sessions/{quote(visitor.path['session_id'], safe='')}/audit?around={seq}"
    return await in_pieces(visitor, one, f"event {seq}", f"{place}#{one['event_id']}")


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
        "query_belief",
        {"session_id": visitor.path["session_id"]},
        {"survivors_limit": survivors, "survivors_after": visitor.query.get("survivors")},
    )
    return found


def _of(visitor: Visitor, snapshot: BeliefSnapshot) -> dict[str, Any]:
    return {"snapshot": snapshot, "session_id": snapshot.session_id}


async def _trail(
    visitor: Visitor, since: str | None = None, after: int | None = None, limit: int = ROWS
) -> AuditPage:
    query: dict[str, Any] = {"limit": limit, "since_event_id": since, "after": after}
    found = await visitor.asker.ask("audit_trace", visitor.path, query)
    # Entries are passed on as they are stored; a page looks into them.
    return await offload(is_long(found), read_as, found, AuditPage)
