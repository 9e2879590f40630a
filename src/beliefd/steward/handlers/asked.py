"""What a card tells of how a question came up, read from the entry that asked and from the session."""

import re
from heapq import nlargest
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.opening import opened_by, results_of
from beliefd.kernel.approvals.shaping import content_in
from beliefd.kernel.approvals.state import OPEN, Approval, CallSubject, DeltaSubject, Subject
from beliefd.kernel.origin.facts import CallFacts, ValueFact
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings
from beliefd.ledger.envelope import Entry
from beliefd.protocol.asked import AskedCall, DecidedBefore, UserText, instead_in
from beliefd.steward.entries import entry_of
from beliefd.steward.handlers.user_texts import user_texts
from beliefd.stores.base import Store
from beliefd.stores.within import Within

SOUGHT: Final = 5_000
"""In a session with more items than this, the same content is not looked for."""
LOOKED_UP: Final = 20
TRACED: Final = ("sinks", "objects", "links", "payload", "orders")
"""What of a call is traced to where it stood, the most telling first."""
SOURCE: Final = 120
"""Characters of the argument that says what a result is of."""
_RESULT: Final = re.compile(r"\bresult ([1-9][0-9]{0,8}) of \S+$")
SAID: Final = ("approved", "rejected")
"""Settled by a word that the item keeps, with its time."""


async def asked_call(
    store: Store, session: Session, approval: Approval, readable: Within
) -> AskedCall | None:
    """How a call or a change of state was judged when it was asked for."""
    if not isinstance(approval.subject, CallSubject | DeltaSubject):
        return None
    entry = await entry_of(store, session.session_id, approval.event_id)
    for place, result in enumerate(results_of(entry.delta)):
        if result.approval is not None and result.approval.approval_id == approval.approval_id:
            told = await user_texts(store, session, entry.seq, readable)
            found = _finding(entry, place)
            asked = _asked(entry, result, found, _values_now(session, approval), told)
            words = _words(session, found)
            return replace(asked, words=words, origin=_untold(asked.origin, words))
    return None


def _finding(entry: Entry, place: int) -> CallFinding | None:
    calls = entry.facts.calls if isinstance(entry.facts, ProposalFindings) else ()
    return calls[place] if place < len(calls) else None


def _values_now(session: Session, approval: Approval) -> dict[str, Any]:
    """Of what is settled nothing is told: what is there by now may be what it has made."""
    subject = approval.subject
    if approval.status not in OPEN or not isinstance(subject, DeltaSubject) or subject.candidate is None:
        return {}
    held, patch = session.substrate.symbolic_state, subject.candidate.patch
    return {name: held[name] for name in (*patch.set, *patch.remove) if name in held}


def _asked(
    entry: Entry,
    result: CandidateResult,
    found: CallFinding | None,
    values_now: dict[str, Any],
    told: list[UserText],
) -> AskedCall:
    definition = None if found is None else found.definition
    return AskedCall(
        description="" if definition is None else definition.description,
        declared_tier=None if definition is None else definition.tier,
        origin=[] if found is None or found.origin is UNSET else _traced(found.origin),
        reasons=list(result.reasons),
        policy_hash=entry.policy_hash,
        run_by_caller=definition is not None and definition.is_run_by_caller,
        values_now=values_now,
        told=told,
    )


def _words(session: Session, found: CallFinding | None) -> list[ValueFact]:
    """The words of a command that stand in what was read, with what that was: a file, the address of a page.

    INVARIANT: that is read when it is shown and never recorded a second time: it may be erased.
    """
    if found is None or not found.words:
        return []
    held = session.context.items
    told = (held[str(number)] for number in range(1, len(held) + 1))
    results = [one.call_id for one in told if one.kind == "result"]
    return [_with_source(session, one, results) for one in found.words]


def _with_source(session: Session, word: ValueFact, results: list[str | None]) -> ValueFact:
    named = _RESULT.search(word.where)
    number = 0 if named is None else int(named[1])
    call_id = results[number - 1] if 0 < number <= len(results) else None
    call = session.substrate.calls.get(call_id or "")
    texts = [] if call is None else [one for one in call.args.values() if isinstance(one, str)]
    of = " ".join(texts[0].split())[:SOURCE] if texts else ""
    return replace(word, where=f"{word.where} ({of})") if of else word


def _traced(facts: CallFacts) -> list[ValueFact]:
    found = (one for name in TRACED for one in getattr(facts, name))
    return list({(one.argument, one.value): one for one in found}.values())


def _untold(traced: list[ValueFact], words: list[ValueFact]) -> list[ValueFact]:
    """That a command as a whole stands nowhere says nothing, where its words stand in what was read."""
    told = {one.argument for one in words}
    return [one for one in traced if one.origin != "model" or one.argument not in told]


async def before(
    store: Store, session: Session, approval: Approval, subject: Subject
) -> list[DecidedBefore] | None:
    """Of the newest items of the session that were settled, those about the same; None if there are too many
    to look. What is settled is known by its opening event alone, so few of them are looked up."""
    held = session.approvals.by_id
    if len(held) > SOUGHT:
        return None
    kind, wanted = type(approval.subject), content_in(subject)
    others = [one for one in held.values() if one.status not in OPEN and type(one.subject) is kind]
    newest = nlargest(LOOKED_UP, others, key=lambda one: one.opened_at)
    found = []
    for one in newest:
        if one.approval_id != approval.approval_id:
            was = await opening_subject(store, session.session_id, one)
            found += [_before(one)] if content_in(was) == wanted else []
    return found


def _before(one: Approval) -> DecidedBefore:
    return DecidedBefore(
        approval_id=one.approval_id,
        status=one.status,
        decided_by=one.decided_by,
        opened_at=one.opened_at,
        reason=next((word.reason for word in reversed(one.approvals) if word.reason), ""),
    )


async def opening_subject(store: Store, session_id: str, approval: Approval) -> Subject:
    """What an item is about, as the event has it that opened it; as the state has it where an older ledger
    names another event."""
    entry = await entry_of(store, session_id, approval.event_id)
    opened = {one.approval_id: one for one in opened_by(entry.delta)}
    return opened.get(approval.approval_id, approval).subject


async def edited_from(store: Store, session: Session, approval: Approval, subject: Subject) -> str | None:
    """The item whose edit this one is: the one that it took the place of, or the call that was rejected with
    the arguments that are proposed now."""
    held = session.approvals.by_id
    if len(held) > SOUGHT:
        return None
    name = approval.approval_id
    found = next((one.approval_id for one in held.values() if one.successor == name), None)
    if found is not None or not isinstance(subject, CallSubject) or subject.candidate is None:
        return found
    call = subject.candidate
    rejected = [
        one
        for one in held.values()
        if one.status == "rejected"
        and one.opened_at < approval.opened_at
        and any(instead_in(word.reason) == call.args for word in one.approvals)
    ]
    for one in nlargest(LOOKED_UP, rejected, key=lambda one: one.opened_at):
        was = await opening_subject(store, session.session_id, one)
        if isinstance(was, CallSubject) and was.candidate and was.candidate.tool_id == call.tool_id:
            return one.approval_id
    return None


def decided_at(session: Session, approval: Approval) -> str | None:
    """When it was settled: with the last word on it, when what took its place was opened, or when its time
    was over. None while it is open, and where none of these tells."""
    if approval.status in OPEN:
        return None
    following = session.approvals.by_id.get(approval.successor) if approval.successor else None
    if following is not None:
        return following.opened_at
    if approval.status == "timed_out":
        return approval.expires_at
    said = approval.approvals if approval.status in SAID else ()
    return said[-1].timestamp if said else None
