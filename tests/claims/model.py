"""A naive second opinion on claims: what must happen to bundles and approvals, in as few words as possible.

It shares no code with the kernel, only the policy as a value. It looks at everything again every time, and is
told by the answers only which ids were given.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from beliefd.conformance.tools import NAMES
from beliefd.kernel.policy import ApproverRule, Policy
from beliefd.kernel.values import Principal

TIERS = ["READ_ONLY", "WRITE_LIMITED", "MODIFY", "DELETE", "PRIVILEGE"]
OUTCOMES = ["EXECUTE", "EXPLAIN", "DEFER", "ESCALATE", "REFUSE"]


Asked = dict[tuple[str, int | None], float | str]
"""By gate and claim, what a person is called for: a score, a tier, or what else was seen."""


@dataclass
class Item:
    """Something in the inbox."""

    bundle_id: str
    claims: list[dict[str, Any]]
    gate: str
    proposer: Principal
    proposers: set[str]
    rule: ApproverRule
    expires: float
    status: str = "pending"
    asking: set[str] = field(default_factory=set)
    words: list[Principal] = field(default_factory=list)
    earlier: list[tuple[Principal, set[str]]] = field(default_factory=list)
    escalated: bool = False
    overdue: bool = False
    tier: str = ""
    approved: set[str] = field(default_factory=set)
    shown: Asked = field(default_factory=dict)


@dataclass
class Grant:
    giver: Principal
    principal: str
    tiers: list[str]
    expires: float
    left: int
    revoked: bool = False


@dataclass
class Moment:
    """Under which policy, when, and in which mood of the detector (None: it is down)."""

    policy: Policy
    now: float
    threat: float | None


@dataclass
class Heard:
    """What must become of a command. `decision` is that of the bundle, if one was judged."""

    accepted: bool
    decision: str | None = None
    opened: Item | None = None


NO = Heard(False)


def tier_of(claim: dict[str, Any], policy: Policy, who: str) -> str:
    """What counts: what is declared, what is decided, and what policy makes of it. Never less."""
    found = [claim["risk_tier"]]
    if "action" in claim:
        found.append(next(tier.name for tier, name in NAMES.items() if name == claim["action"]["tool"]))
    for rule in policy.tiers.raise_:
        words = claim["statement"].lower().split()
        by_word = not rule.words or any(word.lower() in words for word in rule.words)
        if by_word and (not rule.agents or who in rule.agents):
            found.append(rule.to)
    return str(max(found, key=TIERS.index))


def highest(claims: list[dict[str, Any]], policy: Policy, who: str) -> str:
    return str(max((tier_of(claim, policy, who) for claim in claims), key=TIERS.index))


def said(claim: dict[str, Any]) -> str:
    """By what it is remembered who shaped a claim: its words, whatever they are about or decide."""
    return str(claim["statement"])


def is_person(principal: Principal) -> bool:
    return principal.role.value in ("approver", "admin")


def names(rule: ApproverRule) -> bool:
    return bool(rule.roles or rule.principals)


def eligible(rule: ApproverRule, principal: Principal) -> bool:
    return is_person(principal) and (principal.role in rule.roles or principal.id in rule.principals)


def worse(now: float | str, shown: float | str | None) -> bool:
    if isinstance(now, str) or isinstance(shown, str) or shown is None:
        return now != shown
    return now > shown


class Model:
    """One session, as a patient clerk would keep it."""

    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self.bundles: dict[str, str] = {}
        self.waiting_as: dict[str, str] = {}
        self.grants: dict[str, Grant] = {}
        self.shaped: dict[str, set[str]] = {}
        self.terminated = False

    # -- gates -------------------------------------------------------------------------------------

    def gates(
        self,
        claims: list[dict[str, Any]],
        who: Principal,
        at: Moment,
        answered: set[str],
        granted: bool = False,
    ) -> tuple[str, str | None, set[str]]:
        """The decision, the gate that stopped the bundle, if one did, and what a person is asked."""
        policy, threat = at.policy, at.threat
        above = TIERS.index(highest(claims, policy, who.id)) > TIERS.index(who.tier)
        stops: dict[str, str] = {}
        for gate, outcome in (
            ("evidence", self._evidence(claims, policy)),
            ("uncertainty", self._uncertainty(claims, policy)),
            ("security", "REFUSE" if above else "EXECUTE"),
            (
                "adversarial",
                "DEFER" if threat is None or threat > policy.adversarial.defer_above else "EXECUTE",
            ),
            ("human", self._human(claims, policy, who.id, granted)),
        ):
            if outcome == "REFUSE":
                return "REFUSE", gate, set()
            if outcome in ("DEFER", "ESCALATE") and gate not in answered:
                stops[gate] = outcome
        if not stops:
            return "PUBLISH", None, set()
        first = next(iter(stops))
        return stops[first], first, {first} | ({"human"} & set(stops))

    def asked(
        self, claims: list[dict[str, Any]], policy: Policy, who: str, threat: float | None, granted: bool
    ) -> Asked:
        """What a card shows of it."""
        found: Asked = {}
        if threat is None or threat > policy.adversarial.defer_above:
            found["adversarial", None] = "failed" if threat is None else threat
        for number, claim in enumerate(claims):
            if self._evidence([claim], policy) == "DEFER":
                found["evidence", number] = "no source is good enough"
            if self._uncertainty([claim], policy) in ("DEFER", "ESCALATE"):
                found["uncertainty", number] = claim["uncertainty"]["value"]
            tier = tier_of(claim, policy, who)
            covered = granted and tier not in ("DELETE", "PRIVILEGE")
            if tier in policy.approvals.require_human and not covered:
                found["human", number] = tier
            elif self._human([claim], policy, who, granted) == "ESCALATE":
                found["human", number] = "none"
        return found

    def _evidence(self, claims: list[dict[str, Any]], policy: Policy) -> str:
        found = ["EXECUTE"]
        for claim in claims:
            sources = [one["source_confidence"] for one in claim["evidence_pointers"]]
            if claim["claim_type"] == "FACT" and not sources:
                found.append("REFUSE")
            elif (
                claim["claim_type"] != "DECISION"
                and sources
                and max(sources) < policy.evidence.min_confidence
            ):
                found.append("DEFER")
        return max(found, key=OUTCOMES.index)

    def _uncertainty(self, claims: list[dict[str, Any]], policy: Policy) -> str:
        found = []
        for claim in claims:
            value = claim["uncertainty"]["value"]
            found.append(claim["uncertainty"]["gate_recommendation"])
            if value > policy.uncertainty.defer_above:
                found.append("DEFER")
        return str(max(found, key=OUTCOMES.index))

    def _human(self, claims: list[dict[str, Any]], policy: Policy, who: str, granted: bool) -> str:
        tiers = [tier_of(one, policy, who) for one in claims]
        needed = [tier for tier in tiers if tier in policy.approvals.require_human]
        if granted:
            needed = [tier for tier in needed if tier in ("DELETE", "PRIVILEGE")]
        idle = any(one["claim_type"] == "DECISION" and "action" not in one for one in claims)
        return "ESCALATE" if needed or idle else "EXECUTE"

    # -- commands ----------------------------------------------------------------------------------

    def submit(
        self,
        who: Principal,
        bundle_id: str | None,
        claims: list[dict[str, Any]],
        at: Moment,
    ) -> Heard:
        if self.terminated:
            return NO
        if bundle_id in self.bundles:
            waiting = self.items.get(self.waiting_as.get(bundle_id, ""))
            if waiting is None or waiting.status != "pending" or who.id not in waiting.proposers:
                return NO
            waiting.status = "superseded"
        grant = self._grant(who, claims, at)
        decision, gate, asking = self.gates(claims, who, at, set(), grant is not None)
        if grant is not None and decision == "PUBLISH":
            grant.left -= 1
        self.shape(claims, {who.person})
        opened = self._open(decision, gate, asking, claims, who, {who.id}, at, granted=grant is not None)
        return Heard(True, decision, opened)

    def shape(self, claims: list[dict[str, Any]], people: set[str]) -> None:
        for claim in claims:
            self.shaped.setdefault(said(claim), set()).update(people)

    def shapers(self, item: Item) -> set[str]:
        remembered = (self.shaped.get(said(claim), set()) for claim in item.claims)
        return {item.proposer.person, *item.proposers}.union(*remembered)

    def _grant(self, who: Principal, claims: list[dict[str, Any]], at: Moment) -> Grant | None:
        policy, now = at.policy, at.now
        needed = {tier_of(one, policy, who.id) for one in claims} & set(policy.approvals.require_human)
        for tier in needed:
            rule = policy.approvals.rule_for(tier)
            if tier in ("DELETE", "PRIVILEGE") or rule.required > 1 or not names(rule):
                return None
        for grant in self.grants.values():
            usable = not grant.revoked and grant.left > 0 and now < grant.expires
            rules = [policy.approvals.rule_for(tier) for tier in needed]
            given = grant.giver.person != who.person and all(eligible(rule, grant.giver) for rule in rules)
            if needed and usable and given and grant.principal == who.id and needed <= set(grant.tiers):
                return grant
        return None

    def _open(  # noqa: PLR0917 - as many as there are things to know
        self,
        decision: str,
        gate: str | None,
        asking: set[str],
        claims: list[dict[str, Any]],
        proposer: Principal,
        proposers: set[str],
        at: Moment,
        worded: bool = False,
        granted: bool = False,
    ) -> Item | None:
        tier = highest(claims, at.policy, proposer.id)
        informs = decision == "PUBLISH" and tier == "MODIFY" and not worded
        if decision not in ("DEFER", "ESCALATE") and not informs:
            return None
        return Item(
            bundle_id="",
            claims=claims,
            gate=gate or "human",
            asking=asking,
            proposer=proposer,
            proposers=proposers,
            rule=at.policy.approvals.rule_for(tier),
            tier=tier,
            shown=self.asked(claims, at.policy, proposer.id, at.threat, granted),
            expires=at.now + at.policy.approvals.expires_seconds,
            status="information" if informs else "pending",
        )

    def decide(
        self,
        who: Principal,
        approval_id: str,
        decision: str,
        right_hash: bool,
        claims: list[dict[str, Any]],
        at: Moment,
    ) -> Heard:
        item = self.items[approval_id]
        if not self.may(who, item, decision, at) or not right_hash:
            return NO
        if (decision == "MODIFIED") != bool(claims):
            return NO
        if decision == "REJECTED":
            item.status = "rejected"
            return Heard(True, "REFUSE")
        if decision == "MODIFIED":
            item.status = "modified"
            outcome, gate, asking = self.gates(claims, item.proposer, at, set())
            if gate is None:
                outcome, gate, asking = "ESCALATE", "human", {"human"}
            self.shape(claims, self.shapers(item) | {who.person})
            proposers = item.proposers | {who.id}
            opened = self._open(outcome, gate, asking, claims, item.proposer, proposers, at)
            return Heard(True, outcome, opened)
        item.words.append(who)
        rules = self._rules(item, at.policy, decision)
        if len(self._people(item, item.words, rules)) < max(rule.required for rule in rules):
            return Heard(True)
        item.status = "approved"
        answered = item.asking | self._answered_before(item, at.policy)
        answered -= self._new_since(item, at)
        outcome, gate, asking = self.gates(item.claims, item.proposer, at, answered)
        opened = self._open(outcome, gate, asking, item.claims, item.proposer, item.proposers, at, True)
        if opened is not None:
            opened.approved = answered
            opened.earlier = [*item.earlier, *((one, item.asking) for one in item.words)]
        return Heard(True, outcome, opened)

    def _new_since(self, item: Item, at: Moment) -> set[str]:
        """Gates that call for a person because of what the card does not show, or not as bad."""
        now = self.asked(item.claims, at.policy, item.proposer.id, at.threat, False)
        return {gate for (gate, number), seen in now.items() if worse(seen, item.shown.get((gate, number)))}

    def _people(self, item: Item, words: list[Principal], rules: list[ApproverRule]) -> set[str]:
        able = {one.person for one in words if all(eligible(rule, one) for rule in rules)}
        return able - self.shapers(item)

    def _answered_before(self, item: Item, policy: Policy) -> set[str]:
        """Gates that people answered on other items, as far as their words still count."""
        rule = policy.approvals.rule_for(highest(item.claims, policy, item.proposer.id))
        gates = item.approved.intersection(*[set().union(*(asked for _, asked in item.earlier))])
        return {
            gate
            for gate in gates
            if len(self._people(item, [who for who, asked in item.earlier if gate in asked], [rule]))
            >= rule.required
        }

    def _rules(self, item: Item, policy: Policy, decision: str) -> list[ApproverRule]:
        tier = highest(item.claims, policy, item.proposer.id) if decision == "APPROVED" else item.tier
        today = [policy.approvals.rule_for(item.tier), policy.approvals.rule_for(tier)]
        if not item.escalated:
            return [item.rule, *today]
        # Others decide, but as many as ever, and not what nobody may approve.
        held = [rule if not names(rule) else ApproverRule(required=rule.required) for rule in today]
        return [item.rule, policy.approvals.escalate_to, *held]

    def may(self, who: Principal, item: Item, decision: str, at: Moment) -> bool:
        policy, now = at.policy, at.now
        if self.terminated or item.status != "pending" or who.id in item.proposers:
            return False
        if decision != "REJECTED" and who.person in self.shapers(item):
            return False
        if now >= item.expires and not item.overdue:
            return False
        if decision == "REJECTED":
            return eligible(item.rule if names(item.rule) else policy.approvals.otherwise, who)
        if decision == "APPROVED" and who.person in {one.person for one in item.words}:
            return False
        return all(names(rule) and eligible(rule, who) for rule in self._rules(item, policy, decision))

    def withdraw(self, who: Principal, approval_id: str) -> Heard:
        item = self.items[approval_id]
        if self.terminated or item.status != "pending" or who.id not in item.proposers:
            return NO
        item.status = "withdrawn"
        return Heard(True, "REFUSE")

    def due(self, now: float) -> list[str]:
        if self.terminated:
            return []
        return [
            approval_id
            for approval_id, item in self.items.items()
            if item.status in ("pending", "information") and now >= item.expires and not item.overdue
        ]

    def expire(self, approval_id: str, at: Moment) -> Item | None:
        """Deal with one that is due; returns what comes in its place."""
        item, policy = self.items[approval_id], at.policy
        outcome = policy.approvals.on_expiry
        if item.status == "pending" and outcome == "keep":
            item.overdue = True
            return None
        successor = None
        if item.status == "pending" and outcome == "escalate" and names(item.rule) and not item.escalated:
            others = policy.approvals.escalate_to
            successor = replace(
                item,
                rule=msgspec.structs.replace(others, required=max(others.required, item.rule.required)),
                expires=at.now + policy.approvals.expires_seconds,
                words=[],
                earlier=[*item.earlier, *((one, item.asking) for one in item.words)],
                escalated=True,
            )
        item.status = "timed_out"
        return successor

    def give(
        self, who: Principal, to: str, tiers: list[str], seconds: int, uses: int, at: Moment
    ) -> Grant | None:
        if self.terminated or to in (who.id, who.person):
            return None
        for tier in tiers:
            rule = at.policy.approvals.rule_for(tier)
            if tier in ("DELETE", "PRIVILEGE") or rule.required > 1 or not eligible(rule, who):
                return None
        return Grant(who, to, tiers, at.now + seconds, uses)

    def terminate(self, force: bool, who: Principal) -> bool:
        if self.terminated:
            return False
        waits = any(item.status == "pending" for item in self.items.values())
        self.terminated = force and is_person(who) and not waits
        return self.terminated
