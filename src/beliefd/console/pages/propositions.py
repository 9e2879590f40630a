"""Propositions: what is believed over all sessions, and the way from a status back to the bytes."""

from typing import Any, Final, get_args

from beliefd.console.app import Seen, Visitor
from beliefd.console.lineage import Node, lineage
from beliefd.console.questions import going_on
from beliefd.console.rendering import brief
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.intents.state import EpistemicStatus
from beliefd.protocol.experiments import ExperimentView
from beliefd.protocol.knowledge import EvidenceEntry, PropositionView, PropositionWhy
from beliefd.protocol.observations import ObservationView

ROWS: Final = 100
TRACED: Final = 8
"""So many pieces of evidence are traced back on one page; the others are listed."""


async def listed(visitor: Visitor) -> Seen:
    names = ("cursor", "status", "space")
    asked = {"limit": ROWS, **{name: visitor.query.get(name) for name in names}}
    found = await visitor.asker.ask("list_propositions", query=asked)
    values = {
        "found": found,
        "statuses": get_args(EpistemicStatus),
        "status": visitor.query.get("status", ""),
        "space": visitor.query.get("space", ""),
        "placed": await visitor.asker.is_placed(),
    }
    return Seen("propositions.html", values)


async def shown(visitor: Visitor) -> Seen:
    found: PropositionView = await visitor.asker.ask("show_proposition", visitor.path)
    why = await visitor.ask_at_length("why_proposition", {"cursor": visitor.query.get("cursor")})
    told = going_on(why, None)
    values = {
        "about": found,
        **told,
        **_steps(told["found"]),
        # What it rests on is not looked up again each second.
        "picture": "" if told["going"] else lineage(await _nodes(visitor, found)),
        "traced": TRACED,
        "called": {} if told["going"] else await _titles(visitor, found),
    }
    return Seen("proposition.html", values)


async def _titles(visitor: Visitor, found: PropositionView) -> dict[str, str]:
    """What its sessions are called, as far as that can be read."""
    titles = {}
    for one in found.sessions[:TRACED]:
        now = await _asked(visitor, "query_belief", {"session_id": one.session_id})
        if now is not None:
            titles[one.session_id] = now.title
    return titles


def _steps(why: PropositionWhy | None) -> dict[str, Any]:
    """One page of how it came to its status, and where the next begins."""
    steps = [] if why is None else why.steps[:ROWS]
    if why is None or len(why.steps) <= ROWS:
        return {"steps": steps, "following": why and why.next}
    last = steps[-1]
    return {"steps": steps, "following": f"{last.ts},{last.session_id},{last.seq}"}


async def _nodes(visitor: Visitor, found: PropositionView) -> list[Node]:
    """The status, who gave it, the evidence for and against it, what that tested, and where its data lie."""
    nodes = [Node("status", 0, "status", f"{found.status}", "", "", "end")]
    intents = [one for one in found.intents if one.state == "executed"][-TRACED:]
    for one in intents:
        place = f"/inbox/{one.approval_id}" if one.approval_id else ""
        nodes.append(Node(one.intent_id, 1, one.type, f"by {one.proposed_by}", "status", place))
    resting = {name: one.intent_id for one in intents for name in one.evidence_ids}
    # What the status rests on comes first; the other evidence stands below it, and nothing leads there.
    for piece in sorted(found.evidence[:TRACED], key=lambda one: one.evidence_id not in resting):
        giver = resting.get(piece.evidence_id, "")
        kind = piece.kind if piece.counts else "counts for nothing now"
        nodes.append(Node(piece.evidence_id, 2, kind, f"{piece.outcome}, {piece.label}", giver))
        nodes += await _behind(visitor, piece)
    return nodes


async def _behind(visitor: Visitor, piece: EvidenceEntry) -> list[Node]:
    path = {"session_id": piece.session_id, "experiment_id": piece.experiment_id}
    plan: ExperimentView | None = await _asked(visitor, "show_experiment", path)
    if plan is None:
        return []
    place = f"/sessions/{piece.session_id}/experiments/{piece.experiment_id}"
    nodes = [Node(piece.run_id, 3, "run", plan.template, piece.evidence_id, place)]
    for name in plan.observations[:TRACED]:
        path = {"session_id": piece.session_id, "observation_id": name}
        seen: ObservationView | None = await _asked(visitor, "show_observation", path)
        if seen is None:
            continue
        words = f"{seen.count} values of {seen.quantity}, {seen.label}"
        own = f"{piece.run_id}/{name}"
        nodes.append(Node(own, 4, "observation", words, piece.run_id))
        if seen.content:
            place = f"/content/{seen.content}"
            nodes.append(Node(f"{own}/bytes", 5, "bytes", brief(seen.content), own, place, "bytes"))
        elif seen.call_id:
            place = f"/sessions/{piece.session_id}/calls/{seen.call_id}"
            nodes.append(Node(f"{own}/call", 5, "result of a call", brief(seen.call_id), own, place, "bytes"))
        else:
            nodes.append(Node(f"{own}/typed", 5, "typed", f"by {seen.observed_by}", own))
    return nodes


async def _asked(visitor: Visitor, name: str, path: dict[str, str]) -> Any:
    """What is not there, or not to be seen, is left out of a picture."""
    try:
        return await visitor.asker.ask(name, path)
    except BeliefdError:
        return None
