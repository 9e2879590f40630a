"""What a change of belief must meet, and what it does to propositions."""

from typing import Final

from msgspec.structs import replace

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.state import Change, EpistemicStatus, Intent, Proposition
from beliefd.kernel.intents.warrant import counted, raises, warrant_of, warrants
from beliefd.kernel.policy import FirewallPolicy
from beliefd.kernel.speculation.lanes import GROUNDED
from beliefd.kernel.state import Session

MEMBERS: Final[dict[str, frozenset[str]]] = {
    "create_proposition": frozenset({"statement"}),
    "update_epistemic_status": frozenset({"to_status", "evidence_ids"}),
    "refute_claim": frozenset({"evidence_ids"}),
    "revise_proposition": frozenset({"statement"}),
    "fork_proposition": frozenset({"statement", "new_claim_id"}),
    "quarantine_proposition": frozenset(),
    "record_metric": frozenset({"values"}),
    "record_trace": frozenset({"values"}),
}
"""What an intent of each type says, beside its claim and its reason. All of it is needed."""
WORDINGS: Final = ("create_proposition", "revise_proposition", "fork_proposition")
"""Those that put something into words, and may say what will be measured if it is so."""
OPTIONAL: Final = ("statement", "to_status", "evidence_ids", "new_claim_id", "values")
AUTOMATIC: Final = ("record_metric", "record_trace")
ON_EVIDENCE: Final = ("supported", "proven", "refuted")


def cannot_change(session: Session, change: Change, policy: FirewallPolicy) -> Refused | None:
    """Why a change cannot be made now, if it cannot."""
    return _badly_put(change) or _out_of_place(session, change) or _unwarranted(session, change, policy)


def wanted_status(change: Change) -> EpistemicStatus | None:
    return "refuted" if change.type == "refute_claim" else change.to_status


def _badly_put(change: Change) -> Refused | None:
    needed = MEMBERS[change.type]
    for name in OPTIONAL:
        given = bool(getattr(change, name))
        if given and name not in needed:
            return refused(Code.INVALID_REQUEST, f"`{change.type}` has no `{name}`", f"$.{name}")
        # To fall back to unresolved takes no evidence: that there is too little of it is the reason.
        free = name == "evidence_ids" and change.to_status not in (None, *ON_EVIDENCE)
        if not given and name in needed and not free:
            return refused(Code.INVALID_REQUEST, f"`{change.type}` needs `{name}`", f"$.{name}")
    if change.prediction is not None and change.type not in WORDINGS:
        return refused(Code.INVALID_REQUEST, f"`{change.type}` has no `prediction`", "$.prediction")
    if change.to_status == "speculative":
        text = "nothing becomes speculative: a claim is born so, and stays so until it is tested"
        return refused(Code.SPECULATIVE_ASSERTION, text, "$.to_status")
    return None


def _out_of_place(session: Session, change: Change) -> Refused | None:
    if change.type in AUTOMATIC:
        return None
    known = session.intents.propositions.get(change.claim_id)
    if change.type == "create_proposition":
        taken = change.claim_id if known is not None else None
    elif known is None:
        text = f"there is no proposition `{change.claim_id[:64]}` in this session"
        return refused(Code.PROPOSITION_NOT_FOUND, text, "$.claim_id")
    else:
        taken = change.new_claim_id if change.new_claim_id in session.intents.propositions else None
        if known.quarantined and change.type not in ("revise_proposition", "fork_proposition"):
            return refused(Code.CONFLICT, "it is quarantined: revise or fork it", "$.claim_id")
        if wanted_status(change) == known.status:
            return refused(Code.CONFLICT, f"it is {known.status} already", "$.to_status")
    if change.type in WORDINGS and (same := _worded_already(session, change)) is not None:
        text = f"the same words and prediction stand as `{same[:64]}` already"
        return refused(Code.CONFLICT, text, "$.statement")
    if taken is not None:
        path = "$.claim_id" if change.new_claim_id is None else "$.new_claim_id"
        return refused(Code.CONFLICT, f"there is a proposition `{taken[:64]}` already", path)
    return None


def _worded_already(session: Session, change: Change) -> str | None:
    """INVARIANT: a claim does not get rid of its evidence by a new id, or by being revised to what it was."""
    words = (_plain(change.statement or ""), change.prediction)
    for claim_id, one in session.intents.propositions.items():
        if (_plain(one.statement), one.prediction) == words and one.prediction is not None:
            return str(claim_id)
    return None


def _plain(statement: str) -> str:
    return " ".join(statement.casefold().split())


def _unwarranted(session: Session, change: Change, policy: FirewallPolicy) -> Refused | None:
    """INVARIANT: a status rests on minted evidence, and on all of it."""
    wanted = wanted_status(change)
    if wanted is None:
        return None
    pieces = counted(session, change.claim_id)
    known = {piece.evidence_id for piece in pieces}
    for index, name in enumerate(change.evidence_ids):
        path = f"$.evidence_ids[{index}]"
        if name not in session.experiments.evidence:
            text = f"no evidence `{name[:64]}` was minted in this session"
            return refused(Code.EVIDENCE_NOT_FOUND, text, path)
        if session.experiments.evidence[name].lane != GROUNDED:
            text = f"`{name[:64]}` rests on speculation, and no assertion may"
            return refused(Code.SPECULATIVE_ASSERTION, text, path)
        if name not in known:
            text = f"`{name[:64]}` is no evidence of this claim as it is worded now"
            return refused(Code.NOT_WARRANTED, text, path)
    found = warrant_of(pieces, policy)
    if not warrants(found, wanted):
        text = f"the evidence warrants `{found.status}`, not `{wanted}`: {found.why}"
        return refused(Code.NOT_WARRANTED, text, "$.to_status", warranted=found.status)
    return None


def needs_person(session: Session, change: Change, policy: FirewallPolicy) -> bool:
    if change.type in AUTOMATIC:
        return False
    wanted = wanted_status(change)
    # INVARIANT: no policy lets anything be proven without a person.
    if wanted == "proven":
        return True
    # INVARIANT: data that only their proposer vouches for move nothing unless a person has seen whose
    # numbers they are.
    vouched = wanted in ON_EVIDENCE and policy.attested.supports != "as_witnessed"
    if vouched and warrant_of(counted(session, change.claim_id), policy).attested:
        return True
    if change.type == "update_epistemic_status" and wanted is not None and wanted != "refuted":
        now: Proposition = session.intents.propositions[change.claim_id]
        if not raises(now.status, wanted):
            return not policy.automatic_downgrades
    return change.type not in policy.automatic


def changed(session: Session, intent: Intent, facts: Facts) -> tuple[Proposition, ...]:
    """The propositions that carrying an intent out makes or changes."""
    change = intent.change
    if change.type in AUTOMATIC:
        return ()
    if change.type == "create_proposition":
        return (_new(change.claim_id, intent, facts),)
    if change.type == "fork_proposition":
        assert change.new_claim_id is not None  # noqa: S101 - it would have been refused
        return (replace(_new(change.new_claim_id, intent, facts), forked_from=change.claim_id),)
    now: Proposition = session.intents.propositions[change.claim_id]
    touched = replace(now, changed_at=facts.now, intent_id=intent.intent_id)
    if change.type == "quarantine_proposition":
        return (replace(touched, quarantined=True),)
    if change.type == "revise_proposition":
        # Other words are another claim: what was found out about the old ones says nothing about them.
        assert change.statement is not None  # noqa: S101 - it would have been refused
        return (
            replace(
                touched,
                statement=change.statement,
                prediction=change.prediction,
                worded_at=facts.now,
                status="unresolved",
                evidence_ids=(),
                fell="",
                revision=now.revision + 1,
                quarantined=False,
            ),
        )
    status = wanted_status(change)
    assert status is not None  # noqa: S101 - it would have been refused
    return (replace(touched, status=status, evidence_ids=change.evidence_ids, fell=""),)


def _new(claim_id: str, intent: Intent, facts: Facts) -> Proposition:
    assert intent.change.statement is not None  # noqa: S101 - it would have been refused
    return Proposition(
        claim_id=claim_id,
        statement=intent.change.statement,
        prediction=intent.change.prediction,
        worded_at=facts.now,
        status="unresolved",
        created_at=facts.now,
        created_by=intent.proposer.id,
        changed_at=facts.now,
        intent_id=intent.intent_id,
    )
