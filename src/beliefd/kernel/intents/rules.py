"""Write intents: how a change of belief is asked for, who must agree, and what carrying it out does."""

from typing import Final

import msgspec
from msgspec.structs import replace

from beliefd.kernel.approvals.shaping import shaped
from beliefd.kernel.approvals.standing import names_of
from beliefd.kernel.approvals.state import Approval, IntentSubject
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused, refused_by
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.binding import content_of
from beliefd.kernel.intents.changes import ON_EVIDENCE, cannot_change, changed, needs_person, wanted_status
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import INTENT_LANES, Change, Intent, IntentState, IntentStep, Proposition
from beliefd.kernel.intents.warrant import counted, warrant_of
from beliefd.kernel.labels import vouched_by
from beliefd.kernel.scan.guards import stopped_by
from beliefd.kernel.scan.markers import find_marker
from beliefd.kernel.speculation.events import ClaimSpeculated
from beliefd.kernel.speculation.lanes import SPECULATIVE, join
from beliefd.kernel.speculation.state import CLAIM_PREFIX, SpeculativeClaim
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules
from beliefd.kernel.values import Tier, later

INTENT_TIER: Final = Tier.MODIFY.name
REPLACEABLE: Final = ("awaiting_approval", "rejected", "deferred", "cancelled", "expired", "failed")
"""An intent in one of these states may have a successor; what was carried out may not."""


def stage_intent(
    session: Session, command: StageIntent, facts: Facts
) -> IntentStaged | ClaimSpeculated | Refused:
    """INVARIANT: a status moves by an intent that was carried out, and by nothing else."""
    change = command.change
    if INTENT_LANES[change.type] == SPECULATIVE:
        return _speculated(command, facts)
    if (marked := find_marker(msgspec.to_builtins(change))) is not None:
        code = Code.SPECULATIVE_ASSERTION if change.to_status is not None else Code.SPECULATIVE_PROPOSAL
        return refused_by(stopped_by(marked, code))
    if (problem := cannot_change(session, change, facts.policy.firewall)) is not None:
        return problem
    superseded = None
    if command.supersedes is not None:
        old = session.intents.by_id.get(command.supersedes)
        if (problem := _cannot_supersede(old, command, facts)) is not None:
            return problem
        superseded = old
    intent = new_intent(session, change, facts, command.supersedes)
    event = _admitted(session, intent, facts)
    if superseded is None:
        return event
    ended = replace(
        after(superseded, "superseded", facts, f"by `{intent.intent_id}`"), superseded_by=intent.intent_id
    )
    return replace(event, superseded=ended)


def new_intent(session: Session, change: Change, facts: Facts, supersedes: str | None = None) -> Intent:
    """A change that may be made. Its label is that of its type and of all that it rests on."""
    rests_on = (session.experiments.evidence[name].lane for name in change.evidence_ids)
    return Intent(
        intent_id=f"int-{facts.event_id}",
        lane=join((INTENT_LANES[change.type], *rests_on)),
        change=change,
        proposer=facts.principal,
        history=(IntentStep(state="staged", at=facts.now, by=facts.principal.id),),
        expires_at=later(facts.now, facts.policy.firewall.intent_expires_seconds),
        supersedes=supersedes,
    )


def after(intent: Intent, state: IntentState, facts: Facts, why: str = "") -> Intent:
    step = IntentStep(state=state, at=facts.now, by=facts.principal.id, why=why)
    return replace(intent, history=(*intent.history, step))


def _admitted(session: Session, intent: Intent, facts: Facts) -> IntentStaged:
    """Put it before a person, or carry it out where policy asks for none."""
    if not needs_person(session, intent.change, facts.policy.firewall):
        done, propositions = carried_out(session, intent, facts)
        return IntentStaged(intent=done, propositions=propositions)
    waiting, approval = opened(
        session, intent, facts, (facts.principal.id,), names_of(facts.principal, facts)
    )
    return IntentStaged(intent=waiting, approval=approval)


def opened(
    session: Session,
    intent: Intent,
    facts: Facts,
    proposers: tuple[str, ...],
    people: tuple[str, ...],
) -> tuple[Intent, Approval]:
    """The intent as it waits, and the item of the inbox that it waits for."""
    change = intent.change
    what = change.type if change.to_status is None else f"{change.type} to {change.to_status}"
    # An id is its author's text: it must not look like ours.
    claim_id = change.claim_id.replace("`", "'")
    reason = f"{what} of `{claim_id}` takes a person"
    if wanted_status(change) in ON_EVIDENCE and (doubts := doubts_of(session, change, facts)):
        reason = f"{reason}; {doubts}"
    approval = Approval(
        approval_id=f"apr-{facts.event_id}",
        event_id=facts.event_id,
        subject=IntentSubject(intent_id=intent.intent_id, change=change),
        content_hash=content_of(change),
        proposers=proposers,
        proposer=intent.proposer,
        gate="human",
        tier=INTENT_TIER,
        reason=reason,
        rule=facts.policy.approvals.rule_for(INTENT_TIER),
        opened_at=facts.now,
        expires_at=intent.expires_at,
        shaped=shaped(change, people, facts),
    )
    waiting = replace(after(intent, "awaiting_approval", facts), approval_id=approval.approval_id)
    return waiting, approval


def doubts_of(session: Session, change: Change, facts: Facts) -> str:
    """INVARIANT: whose numbers they are stands on the card whenever nobody else has witnessed them."""
    pieces = counted(session, change.claim_id)
    if not warrant_of(pieces, facts.policy.firewall).attested:
        return ""
    return vouched_by(name for piece in pieces for name in piece.typed_by)


def carried_out(session: Session, intent: Intent, facts: Facts) -> tuple[Intent, tuple[Proposition, ...]]:
    """INVARIANT: what evidence must warrant is asked again at this moment, on all the evidence there is."""
    problem = cannot_change(session, intent.change, facts.policy.firewall)
    if problem is not None:
        return after(intent, "failed", facts, problem.message), ()
    propositions = changed(session, intent, facts)
    return after(intent, "executed", facts), propositions


def _speculated(command: StageIntent, facts: Facts) -> ClaimSpeculated | Refused:
    change = command.change
    if change.statement is None:
        return refused(Code.INVALID_REQUEST, "`create_claim` needs `statement`", "$.statement")
    if command.supersedes is not None:
        return refused(Code.INVALID_REQUEST, "speculation supersedes nothing", "$.supersedes")
    claim = SpeculativeClaim(
        intent_id=f"{CLAIM_PREFIX}{facts.event_id}",
        claim_id=change.claim_id,
        statement=change.statement,
        proposed_by=facts.principal.id,
        proposed_at=facts.now,
    )
    return ClaimSpeculated(claim=claim)


def _cannot_supersede(old: Intent | None, command: StageIntent, facts: Facts) -> Refused | None:
    if old is None:
        text = f"no intent `{(command.supersedes or '')[:64]}` in this session"
        return refused(Code.INTENT_NOT_FOUND, text, "$.supersedes")
    if old.change.claim_id != command.change.claim_id:
        text = f"that intent is about `{old.change.claim_id}`"
        return refused(Code.CONFLICT, text, "$.supersedes")
    if old.state not in REPLACEABLE or old.superseded_by is not None:
        return refused(Code.CONFLICT, f"that intent is {old.state} already", "$.supersedes")
    if old.state == "awaiting_approval" and old.proposer.id != facts.principal.id:
        text = "what waits can be superseded only by who proposed it"
        return refused(Code.FORBIDDEN, text, "$.supersedes")
    return None


RULES: Final[Rules] = {StageIntent: stage_intent}
