"""Handlers of the firewall's operations: ideas, evidence, intents."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec.structs import asdict

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.experiments.commands import LinkEvidence
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.experiments.state import Evidence
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import INTENT_LANES, Change, IntentStep
from beliefd.kernel.intents.warrant import counted, warrant_of
from beliefd.kernel.scan.guards import CLAIM_ID_NAMES, guard_evidence, refuse_speculation
from beliefd.kernel.speculation.commands import Speculate
from beliefd.kernel.speculation.events import ClaimSpeculated, Speculated
from beliefd.kernel.speculation.lanes import GROUNDED, SPECULATIVE
from beliefd.kernel.speculation.state import SpeculativeClaim, SpeculativeHypothesis
from beliefd.protocol.experiments import Discoveries, Discovery, EvidencePage, EvidenceRequest, LinkedEvidence
from beliefd.protocol.intents import IntentPage, IntentRequest, IntentView, intent_view
from beliefd.protocol.speculation import (
    HypothesisPage,
    HypothesisView,
    Links,
    SpeculationAnswer,
    SpeculationRequest,
)
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.claims import submitted
from beliefd.steward.handle import Steward
from beliefd.steward.substrate import as_recorded

T = TypeVar("T")


async def speculate(steward: Steward, call: Call) -> SpeculationAnswer:
    asked = convert(bind(as_recorded(call.body), call.path), SpeculationRequest)
    command = Speculate(claim_id=asked.claim_id, hypotheses=asked.hypotheses)
    outcome = await submitted(steward, call.session_id, command, call)
    event = outcome.event
    assert isinstance(event, Speculated)  # noqa: S101 - ideas are never refused
    missed = event.links_attempted - event.links_created
    return SpeculationAnswer(
        hypotheses=[_hypothesis(one) for one in event.hypotheses],
        links=Links(
            session=len(event.hypotheses),
            proposition_attempted=event.links_attempted,
            proposition_created=event.links_created,
        ),
        # A soft failure is told, so that nobody takes a link for granted; what was noted stands all the same.
        soft_failures=[f"there is no proposition `{asked.claim_id}` to link to"] if missed else [],
        audit_event_id=outcome.head.event_id,
    )


async def list_hypotheses(steward: Steward, call: Call) -> HypothesisPage:
    session = (await steward.positions.existing(call.session_id)).session
    held: list[SpeculativeHypothesis] = [
        one
        for one in (session.speculation.ideas[name] for name in session.speculation.ideas)
        if isinstance(one, SpeculativeHypothesis)
    ]
    shown, after = page(held, call, lambda one: one.hypothesis_id)
    return HypothesisPage(hypotheses=[_hypothesis(one) for one in shown], next=after)


async def link_evidence(steward: Steward, call: Call) -> LinkedEvidence:
    """INVARIANT: which claim it is about is asked first, then whether speculation hides in it."""
    body = as_recorded(call.body)
    claim_id = guard_evidence(body)
    named = {name: value for name, value in body.items() if name not in CLAIM_ID_NAMES}
    asked = convert(bind({**named, "claim_id": claim_id}, call.path), EvidenceRequest)
    command = LinkEvidence(claim_id=asked.claim_id, run_id=asked.run_id, role=asked.role)
    outcome = await submitted(steward, call.session_id, command, call)
    event = outcome.event
    assert isinstance(event, EvidenceLinked)  # noqa: S101 - what is not refused was linked
    pieces = counted(outcome.session, asked.claim_id)
    return LinkedEvidence(
        evidence=event.evidence,
        applied_eliminated=list(event.eliminated),
        ignored_eliminated=list(event.ignored),
        warrants=warrant_of(pieces, steward.policy.firewall.alpha).status,
        audit_event_id=outcome.head.event_id,
    )


async def list_evidence(steward: Steward, call: Call) -> EvidencePage:
    session = (await steward.positions.existing(call.session_id)).session
    held: list[Evidence] = [session.experiments.evidence[name] for name in session.experiments.evidence]
    shown, after = page(held, call, lambda one: one.evidence_id)
    return EvidencePage(evidence=shown, next=after)


async def list_discoveries(steward: Steward, call: Call) -> Discoveries:
    """INVARIANT: every completed run of a claim weighs in, not only the one that came out best."""
    from beliefd.experiments.sequential import e_bh, e_value

    session = (await steward.positions.existing(call.session_id)).session
    worth: dict[str, list[float]] = {}
    for name in sorted(session.experiments.evidence):
        piece: Evidence = session.experiments.evidence[name]
        speaks = piece.outcome == "support" and piece.solid
        worth.setdefault(piece.claim_id, []).append(e_value(piece.error_level) if speaks else 0.0)
    found = [
        Discovery(claim_id=claim_id, e_value=sum(values) / len(values), runs=len(values))
        for claim_id, values in sorted(worth.items())
    ]
    alpha = steward.policy.firewall.alpha
    kept = set(e_bh([one.e_value for one in found], alpha))
    return Discoveries(
        alpha=alpha,
        discovered=[one for place, one in enumerate(found) if place in kept],
        others=[one for place, one in enumerate(found) if place not in kept],
    )


async def stage_intent(steward: Steward, call: Call) -> IntentView:
    body = bind(as_recorded(call.body), call.path)
    if INTENT_LANES.get(str(body.get("type"))) == GROUNDED:
        refuse_speculation({name: body[name] for name in body if name != "lane"}, Code.SPECULATIVE_PROPOSAL)
    asked = convert(body, IntentRequest)
    if asked.lane and asked.lane != INTENT_LANES[asked.type]:
        text = f"`{asked.type}` belongs to the {INTENT_LANES[asked.type]} lane"
        raise invalid(text, "$.lane")
    change = Change(**{name: getattr(asked, name) for name in Change.__struct_fields__})
    command = StageIntent(change=change, supersedes=asked.supersedes)
    outcome = await submitted(steward, call.session_id, command, call)
    event, event_id = outcome.event, outcome.head.event_id
    if isinstance(event, ClaimSpeculated):
        return _speculative_intent(event.claim, event_id)
    assert isinstance(event, IntentStaged)  # noqa: S101 - what is not refused was staged
    return intent_view(event.intent, event_id)


async def list_intents(steward: Steward, call: Call) -> IntentPage:
    session = (await steward.positions.existing(call.session_id)).session
    held = [intent_view(session.intents.by_id[name]) for name in session.intents.by_id]
    held += [
        _speculative_intent(one)
        for one in (session.speculation.ideas[name] for name in session.speculation.ideas)
        if isinstance(one, SpeculativeClaim)
    ]
    shown, after = page(held, call, lambda one: one.intent_id, lambda one: one.change.claim_id)
    return IntentPage(intents=shown, next=after)


async def show_intent(steward: Steward, call: Call) -> IntentView:
    session = (await steward.positions.existing(call.session_id)).session
    name = call.path["intent_id"]
    if name in session.intents.by_id:
        return intent_view(session.intents.by_id[name])
    noted = session.speculation.ideas.get(name)
    if isinstance(noted, SpeculativeClaim):
        return _speculative_intent(noted)
    text = f"no intent `{name[:64]}` in this session"
    raise BeliefdError(Code.INTENT_NOT_FOUND, text, {"path": "intent_id"})


def page(
    items: Iterable[T],
    call: Call,
    name: Callable[[T], str],
    claim: Callable[[T], str] = lambda one: str(getattr(one, "claim_id")),  # noqa: B009
) -> tuple[list[T], str | None]:
    """The asked-for page of items, by name, and the cursor of the next one."""
    cursor, limit, wanted = call.query["cursor"], call.query["limit"], call.query["claim_id"]
    found = sorted(
        (
            one
            for one in items
            if (wanted is None or claim(one) == wanted) and (cursor is None or name(one) > cursor)
        ),
        key=name,
    )
    return found[:limit], name(found[limit - 1]) if len(found) > limit else None


def _hypothesis(one: SpeculativeHypothesis) -> HypothesisView:
    return HypothesisView(**asdict(one))


def _speculative_intent(claim: SpeculativeClaim, event_id: str | None = None) -> IntentView:
    """Noting a claim is all there is to such an intent: it is carried out as soon as it is staged."""
    change = Change(type="create_claim", claim_id=claim.claim_id, statement=claim.statement)
    step: dict[str, Any] = {"at": claim.proposed_at, "by": claim.proposed_by}
    return IntentView(
        intent_id=claim.intent_id,
        lane=SPECULATIVE,
        change=change,
        state="executed",
        proposer=claim.proposed_by,
        history=[IntentStep(state="staged", **step), IntentStep(state="executed", **step)],
        audit_event_id=event_id,
    )
