"""Who shaped what: everybody who proposed or edited a content in a session, whatever became of it."""

from hashlib import sha256

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.approvals.standing import (
    is_by_words,
    is_recorded,
    joined,
    names_behind,
    names_of,
    names_under,
)
from beliefd.kernel.approvals.state import (
    Approval,
    BundleSubject,
    CallSubject,
    DeltaSubject,
    InformationSubject,
    IntentSubject,
    Shaped,
    Subject,
)
from beliefd.kernel.canonical import digest
from beliefd.kernel.canonical_structs import digest_of
from beliefd.kernel.claims.bundle import Claim, ClaimBundle
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.state import Change
from beliefd.kernel.measurements.state import gist_digest
from beliefd.kernel.scan.whole_words import ascii_look_as_json, look
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate, DeltaCandidate

Content = ClaimBundle | Candidate | Change
"""What somebody can shape."""


def content_of(what: Content) -> tuple[str, ...]:
    """What each claim says and decides; what would be done, under whatever key and with whosever token; what
    would be believed. Another spelling, name, number, cost, reason or evidence makes no other claim."""
    match what:
        case ClaimBundle():
            return tuple(dict.fromkeys([_said_by(claim) for claim in what.claims]))
        case CallCandidate():
            return (digest([what.tool_id, what.args]),)
        case DeltaCandidate():
            return (digest(msgspec.to_builtins(what.patch)),)
        case Change():
            words = None if what.statement is None else gist_digest(what.statement)
            return (digest_of(replace(what, reason="", statement=words)),)


def marks_of(what: Content) -> tuple[str, ...]:
    """By what it is remembered who shaped this: the words alone, whatever they are about, of whatever type,
    for whatever action. Where there are none, it is the same whatever evidence is named."""
    match what:
        case ClaimBundle():
            return tuple(dict.fromkeys([_mark_of(claim.statement) for claim in what.claims]))
        case Change(statement=str() as statement):
            return (_mark_of(statement),)
        case Change():
            return content_of(replace(what, evidence_ids=()))
    return content_of(what)


def _mark_of(statement: str) -> str:
    if statement.isascii():  # as most are, and then nothing has to be escaped
        return sha256(ascii_look_as_json(statement)).hexdigest()
    return digest(look(statement))


def _said_by(claim: Claim) -> str:
    words = gist_digest(claim.statement)
    if claim.action is UNSET and claim.about is UNSET:
        # `digest` of the list below: a digest and the name of a type need no escape.
        return sha256(f'["{words}","{claim.claim_type}",null,null]'.encode()).hexdigest()
    return digest(msgspec.to_builtins([words, claim.claim_type, claim.action or None, claim.about or None]))


def _within(subject: Subject) -> Content | None:
    match subject:
        case BundleSubject() | InformationSubject():
            return subject.bundle
        case CallSubject() | DeltaSubject():
            return subject.candidate
        case IntentSubject():
            return subject.change
    return None


def content_in(subject: Subject) -> tuple[str, ...]:
    """What waits, by its content."""
    what = _within(subject)
    return () if what is None else content_of(what)


def known_shapers(session: Session, what: Content, facts: Facts) -> set[str]:
    """All who are remembered to have shaped this."""
    known = session.approvals.shapers
    marks = (*marks_of(what), *content_of(what)) if is_by_words(facts) else content_of(what)
    return {name for mark in marks for name in known.get(mark) or ()}


def shapers(session: Session, approval: Approval, facts: Facts) -> frozenset[str]:
    """INVARIANT: whoever proposed or edited what waits is among these, whoever brought it in last."""
    what = _within(approval.subject)
    remembered = () if what is None else known_shapers(session, what, facts)
    named = (one for name in approval.proposers for one in names_under(name, facts))
    people = {*names_of(approval.proposer, facts), *named, *remembered}
    said = (*approval.earlier, *approval.approvals)
    return joined(people, (names_behind(word, facts) for word in said))


def shaped(what: Content, people: tuple[str, ...], facts: Facts) -> Shaped | msgspec.UnsetType:
    """What is remembered of who shaped this. Entries that are older than this rule remember nothing."""
    if not is_recorded(facts):
        return msgspec.UNSET
    marks = marks_of(what) if is_by_words(facts) else content_of(what)
    return Shaped(content=marks, by=tuple(dict.fromkeys(people)))
