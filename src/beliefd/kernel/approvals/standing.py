"""How somebody stands at this moment, as far as the steward found it out.

INVARIANT: authority is judged when it is used, by what is true then.
"""

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


def stands(who: Principal, facts: Facts) -> Principal | None:
    """Somebody who spoke before, with the role and the tier of now; None if nobody may speak so any more."""
    return (authority_of(facts) or {}).get(who.id, who)


def person_of(principal_id: str, facts: Facts) -> str:
    """Whose this id is; its own where nothing else is known."""
    now = (authority_of(facts) or {}).get(principal_id)
    return principal_id if now is None else now.person


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
