"""How somebody stands at this moment, as far as the steward found it out.

INVARIANT: authority is judged when it is used, by what is true then.
"""

from collections.abc import Iterable

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.approvals.findings import Authority
from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.claims.bundle import HumanApproval
from beliefd.kernel.facts import Facts
from beliefd.kernel.values import Principal


def authority_of(facts: Facts) -> Authority | None:
    """What was found out; None in entries that are older than the rule, which are decided without it."""
    found: Authority | UnsetType | None = getattr(facts.findings, "authority", None)
    return None if found is UNSET else found


def is_recorded(facts: Facts) -> bool:
    return authority_of(facts) is not None


def is_by_rights(facts: Facts) -> bool:
    return getattr(facts.findings, "by_rights", UNSET) is True


def are_compared(facts: Facts) -> bool:
    """Is what gates find now held against what the card has shown?"""
    return getattr(facts.findings, "by_results", UNSET) is True


def is_by_words(facts: Facts) -> bool:
    return getattr(facts.findings, "by_words", UNSET) is True


def stands(who: Principal, facts: Facts) -> Principal | None:
    """Somebody who spoke before, with the role and the tier of now; None if nobody may speak so any more."""
    return (authority_of(facts) or {}).get(who.id, who)


def person_of(principal_id: str, facts: Facts) -> str:
    """Whose this id is; its own where nothing else is known."""
    now = (authority_of(facts) or {}).get(principal_id)
    return principal_id if now is None else now.person


def names_of(who: Principal, facts: Facts) -> tuple[str, ...]:
    """INVARIANT: those who share any of these are one person. An id may change its owner, and an owner may
    have several ids."""
    return tuple(dict.fromkeys((who.person, who.id))) if is_by_rights(facts) else (who.person,)


def names_under(principal_id: str, facts: Facts) -> tuple[str, ...]:
    """The same of an id, by what is known of it."""
    person = person_of(principal_id, facts)
    return tuple(dict.fromkeys((person, principal_id))) if is_by_rights(facts) else (person,)


def names_behind(word: HumanApproval, facts: Facts) -> frozenset[str]:
    """The same of who said a word: as they are now, and as they were then."""
    now = speaker_of(word, facts)
    names = {word.approver} if now is None or now is UNSET else {*names_of(now, facts)}
    if is_by_rights(facts):
        names |= {word.approver} if word.speaker is None else {*names_of(word.speaker, facts)}
    return frozenset(names)


def joined(names: Iterable[str], others: Iterable[frozenset[str]]) -> frozenset[str]:
    """These names with all that belong to the same people, by what others share with them."""
    found, apart = frozenset(names), list(others)
    while near := [one for one in apart if one & found]:
        apart = [one for one in apart if not one & found]
        found = found.union(*near)
    return found


def people_among(named: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Each person once, with all of their names."""
    pool, found = list(named), list[frozenset[str]]()
    while pool:
        found.append(joined(pool[0], pool))
        pool = [one for one in pool if not one & found[-1]]
    return found


def speaker_of(word: HumanApproval, facts: Facts) -> Principal | UnsetType | None:
    """Who said a word, as of now; None if nobody may speak so any more, UNSET if nothing is known of them."""
    return (authority_of(facts) or {}).get(word.approver, word.speaker or UNSET)


def revoked_among(names: tuple[str, ...], facts: Facts) -> str | None:
    """The first of those who may not speak any more."""
    found = authority_of(facts) or {}
    return next((name for name in names if name in found and found[name] is None), None)


def of_now(approval: Approval, facts: Facts) -> Approval:
    """The item with its proposer as that one stands now, for all that is judged again."""
    now = stands(approval.proposer, facts)
    return approval if now is None else replace(approval, proposer=now)
