"""The tier of a claim that counts: what its agent declares, raised by what it decides and by policy.

INVARIANT: nothing lowers a tier. What is not known is taken for as dangerous as can be.
"""

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Final

from msgspec import UNSET, Struct, UnsetType

from beliefd.kernel.claims.bundle import Claim, ClaimBundle, DecidedAction, claim_id
from beliefd.kernel.names import covers
from beliefd.kernel.policy import Policy, TierRaise
from beliefd.kernel.scan.whole_words import first_said, phrases, whole_words
from beliefd.kernel.values import Tier, TierName, Value

ToolTiers = Mapping[str, TierName]
BY_NAME: Final = {tier.name: tier for tier in Tier}
NAMES: Final[dict[Tier, TierName]] = {tier: tier.name for tier in Tier}  # type: ignore[misc]
"""Faster to look up than the enumeration itself."""


class RaisedTier(Value, frozen=True):
    """A claim whose tier is higher than its agent declares, and why."""

    claim_id: str
    tier: TierName
    reason: str


_action_of: Final = attrgetter("action")
_NO_ACTION: Final = {UNSET}
Raised = tuple[RaisedTier, ...] | UnsetType


class ClaimTiers(Struct, frozen=True):
    """The tiers of a bundle's claims by their ids, and those among them that were raised."""

    by_claim: dict[str, Tier]
    raised: tuple[RaisedTier, ...] = ()

    @property
    def highest(self) -> Tier:
        return max(self.by_claim.values())

    def of(self, claim: Claim) -> Tier:
        return self.by_claim[claim.id or ""]

    def name_of(self, claim: Claim) -> TierName:
        return NAMES[self.by_claim[claim.id or ""]]

    @property
    def names(self) -> set[TierName]:
        return {NAMES[tier] for tier in set(self.by_claim.values())}

    @property
    def reasons(self) -> dict[str | None, str]:
        """Why the raised ones were, by claim."""
        return {one.claim_id: one.reason for one in self.raised}


def effective_tiers(bundle: ClaimBundle, proposer: str, policy: Policy, tools: ToolTiers) -> ClaimTiers:
    """`tools` are the tiers of tools that are known, as they say of themselves, by `DecidedAction.key`."""
    rules = policy.tiers.raise_
    if _only_declared(bundle, policy):
        return ClaimTiers(_declared(bundle))
    found: dict[str, Tier] = {}
    raised: list[RaisedTier] = []
    speakers = (proposer, bundle.origin_agent)
    reads = any(rule.words for rule in rules)
    for place, claim in enumerate(bundle.claims, 1):
        name, declared = claim_id(claim, place), BY_NAME[claim.risk_tier]
        words = whole_words(claim.statement) if reads else []
        demands = [*_by_action(claim, policy, tools), *_by_policy(claim, speakers, words, policy)]
        tier, reason = max(demands, key=lambda demand: demand[0], default=(declared, ""))
        found[name] = max(tier, declared)
        if tier > declared:
            raised.append(RaisedTier(claim_id=name, tier=tier.name, reason=reason))  # type: ignore[arg-type]
    return ClaimTiers(found, tuple(raised))


def recorded_tier(bundle: ClaimBundle, raised: Raised) -> Tier:
    """The highest of `tiers_of`."""
    return _highest_declared(bundle) if raised is UNSET else tiers_of(bundle, raised).highest


def _highest_declared(bundle: ClaimBundle) -> Tier:
    return max([BY_NAME[name] for name in {claim.risk_tier for claim in bundle.claims}])


def highest_tier(bundle: ClaimBundle, proposer: str, policy: Policy, tools: ToolTiers) -> Tier:
    """The highest of `effective_tiers`, where nobody asks whose it is."""
    if _only_declared(bundle, policy):
        return _highest_declared(bundle)
    return effective_tiers(bundle, proposer, policy, tools).highest


def _only_declared(bundle: ClaimBundle, policy: Policy) -> bool:
    """As mostly: nothing has a say but the claims themselves."""
    return not policy.tiers.raise_ and set(map(_action_of, bundle.claims)) == _NO_ACTION


def _declared(bundle: ClaimBundle) -> dict[str, Tier]:
    """What agents say of their claims themselves."""
    return {
        claim.id or claim_id(claim, place): BY_NAME[claim.risk_tier]
        for place, claim in enumerate(bundle.claims, 1)
    }


def tiers_of(bundle: ClaimBundle, raised: Raised) -> ClaimTiers:
    """The tiers of a bundle that was judged, as they were recorded with it."""
    known = () if raised is UNSET else raised
    return ClaimTiers({**_declared(bundle), **{one.claim_id: Tier[one.tier] for one in known}}, known)


def riskiest(bundle: ClaimBundle, raised: Raised) -> Claim:
    """The claim that a bundle is shown by: of those with the highest tier, the first."""
    return max(bundle.claims, key=tiers_of(bundle, raised).of)


def unknown_tools(bundle: ClaimBundle, tools: ToolTiers) -> Iterator[tuple[int, Claim, DecidedAction]]:
    """Claims that decide to call what nobody knows: their places, themselves, and what they decide."""
    for place, claim in enumerate(bundle.claims):
        action = claim.action
        if action is not UNSET and action.tool is not UNSET and action.key not in tools:
            yield place, claim, action


def _by_action(claim: Claim, policy: Policy, tools: ToolTiers) -> Iterator[tuple[Tier, str]]:
    """The tier of what a claim decides."""
    if claim.action is UNSET:
        return
    if (tool := claim.action.tool) is UNSET:
        yield Tier[policy.tiers.propositions], f"status of proposition `{claim.action.proposition}`"
    elif (own := tools.get(claim.action.key)) is None:
        yield Tier.PRIVILEGE, claim.action.unknown
    else:
        tier = Tier[policy.tool_tier(tool, own)]
        yield tier, f"tool `{tool}` is {tier.name}" + (", by policy" if tier > Tier[own] else "")


def _by_policy(
    claim: Claim, speakers: tuple[str, ...], words: list[str], policy: Policy
) -> Iterator[tuple[Tier, str]]:
    for rule in policy.tiers.raise_:
        if (reason := _applies(rule, claim, speakers, words)) is not None:
            yield Tier[rule.to], reason


def _applies(rule: TierRaise, claim: Claim, speakers: tuple[str, ...], words: list[str]) -> str | None:
    """Why a rule holds for a claim; None if one of its conditions does not."""
    reasons: list[str] = []
    if rule.agents:
        who = next((one for one in speakers if any(covers(pattern, one) for pattern in rule.agents)), None)
        if who is None:
            return None
        reasons.append(f"it is from `{who}`")
    if rule.types:
        if claim.claim_type not in rule.types:
            return None
        reasons.append(f"it is a {claim.claim_type}")
    if rule.words:
        if (said := first_said(words, phrases(rule.words))) is None:
            return None
        reasons.append(f"it says `{said}`")
    return f"raised by policy: {', '.join(reasons) or 'every claim'}"
