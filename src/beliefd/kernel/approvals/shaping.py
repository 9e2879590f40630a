"""Who shaped what: everybody who proposed or edited a content in a session, whatever became of it."""

import msgspec
from msgspec.structs import replace

from beliefd.kernel.approvals.standing import is_recorded, joined, names_behind, names_of, names_under
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
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.state import Change
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate, DeltaCandidate


def content_of(bundle: ClaimBundle) -> tuple[str, ...]:
    """Each claim with all that it says, but for its id: the same under another name is the same."""
    return tuple(dict.fromkeys(digest_of(replace(claim, id=None)) for claim in bundle.claims))


def content_of_candidate(candidate: Candidate) -> tuple[str, ...]:
    """What would be done. A call under another key is another call; whose token it comes with is not."""
    if isinstance(candidate, CallCandidate):
        return (digest([candidate.tool_id, candidate.args, candidate.idempotency_key]),)
    return (digest(msgspec.to_builtins(candidate.patch)),)


def content_of_change(change: Change) -> tuple[str, ...]:
    """What would be believed. Another reason for it makes no other change."""
    return (digest_of(replace(change, reason="")),)


def content_in(subject: Subject) -> tuple[str, ...]:
    """What waits, as it is remembered who shaped it."""
    match subject:
        case (
            BundleSubject(bundle=ClaimBundle() as bundle) | InformationSubject(bundle=ClaimBundle() as bundle)
        ):
            return content_of(bundle)
        case (
            CallSubject(candidate=CallCandidate() as candidate)
            | DeltaSubject(candidate=DeltaCandidate() as candidate)
        ):
            return content_of_candidate(candidate)
        case IntentSubject(change=Change() as change):
            return content_of_change(change)
    return ()


def shapers(session: Session, approval: Approval, facts: Facts) -> frozenset[str]:
    """INVARIANT: whoever proposed or edited what waits is among these, whoever brought it in last."""
    known = session.approvals.shapers
    remembered = (known.get(content) or () for content in content_in(approval.subject))
    named = (one for name in approval.proposers for one in names_under(name, facts))
    people = {*names_of(approval.proposer, facts), *named, *(one for names in remembered for one in names)}
    said = (*approval.earlier, *approval.approvals)
    return joined(people, (names_behind(word, facts) for word in said))


def shaped(content: tuple[str, ...], people: tuple[str, ...], facts: Facts) -> Shaped | msgspec.UnsetType:
    """What is remembered of who shaped this. Entries that are older than this rule remember nothing."""
    if not is_recorded(facts):
        return msgspec.UNSET
    return Shaped(content=content, by=tuple(dict.fromkeys(people)))
