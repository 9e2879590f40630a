"""What may be set per deployment; its hash stands in every event it governed."""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.canonical import MAX_SAFE_INTEGER, canonical
from beliefd.kernel.catalogues.policy import CataloguesPolicy
from beliefd.kernel.claims.policy import AdversarialPolicy, EvidencePolicy, SecurityPolicy, UncertaintyPolicy
from beliefd.kernel.context.policy import ContextPolicy
from beliefd.kernel.erasures.places import ErasablePlaces, refuse_unknown
from beliefd.kernel.intents.state import IntentType
from beliefd.kernel.labels import ATTESTED, Label
from beliefd.kernel.limits import DEFAULT_LIMITS, LimitsPolicy
from beliefd.kernel.names import ALL, covers, refuse_loose
from beliefd.kernel.scan.whole_words import whole_words
from beliefd.kernel.scheduling.policy import SchedulingPolicy
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.kernel.substrate.capability_policy import BEGIN_WITHIN_SECONDS, CallsPolicy, CapabilityRule
from beliefd.kernel.substrate.guarantees import Guarantee, ModeName
from beliefd.kernel.substrate.provenance import ProvenancePolicy
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.kernel.values import PEOPLE, ClaimType, Id, Role, Seconds, Tier, TierName, Unit, Value

MAX_ITEM_BYTES = 16 * 1024 * 1024
"""The largest body that content can come in."""
HUMAN_ALWAYS = ("DELETE", "PRIVILEGE")


class TerminationPolicy(Value, frozen=True):
    """Who may end a session that has not come down to one survivor, and how settled it must be."""

    force_roles: tuple[Role, ...] = (Role.ADMIN, Role.APPROVER)
    stability_window: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0


class EliminationPolicy(Value, frozen=True):
    """What an elimination must rest on. `require: witnessed` refuses those that cite nothing which somebody
    else than their author has seen."""

    require: Label = ATTESTED


class BeliefPolicy(Value, frozen=True):
    """Which conclusions are accepted, and which eliminations.

    With `conclusions: survivors_only`, one that names an eliminated hypothesis is refused. It names a
    hypothesis if its id is that hypothesis, or if what follows `:`, `=` or `/` in it is, as in
    `cause:disk_full`; spelling makes no other name. All other conclusions are free. With `free`, all are.
    `tier` is the lowest that may change what is believed: what is eliminated stays so.
    """

    conclusions: Literal["survivors_only", "free"] = "survivors_only"
    eliminations: EliminationPolicy = EliminationPolicy()
    tier: TierName = "WRITE_LIMITED"


class ApproverRule(Value, frozen=True):
    """Who may decide, and how many of them must agree. Nobody named means: can only be rejected."""

    roles: tuple[Role, ...] = (Role.APPROVER, Role.ADMIN)
    principals: tuple[Id, ...] = ()
    required: Annotated[int, msgspec.Meta(ge=1, le=10)] = 1

    def __post_init__(self) -> None:
        programs = [role for role in self.roles if role not in PEOPLE]
        if programs:
            raise ValueError(f"`{programs[0]}` is no role of people, and only people approve")
        named = len(set(self.principals))
        if named and not self.roles and self.required > named:
            raise ValueError(f"`required` is {self.required}, but only {named} may approve")

    @property
    def nobody(self) -> bool:
        return not self.roles and not self.principals


class TierRaise(Value, frozen=True):
    """Claims for which all of the given conditions hold have at least the tier `to`.

    `agents` are principals or agents that they pass claims on for, by id or all of a prefix; `words` stand in
    the statement as whole words, in whatever spelling.
    """

    to: TierName
    agents: tuple[Id, ...] = ()
    types: tuple[ClaimType, ...] = ()
    words: Annotated[tuple[Id, ...], msgspec.Meta(max_length=10_000)] = ()

    def __post_init__(self) -> None:
        refuse_loose(self.agents, "/", "agents", everything=True)
        if empty := [one for one in self.words if not whole_words(one)]:
            raise ValueError(f"`{empty[0]}` in `words` holds neither letter nor digit")


class TiersPolicy(Value, frozen=True):
    """What is more dangerous here than it says of itself. No field lowers a tier.

    `tools` are the least tiers of tools, by id or all of a prefix such as `db.*`. `propositions` is the tier
    of a decision that changes the status of a proposition.
    """

    tools: dict[Id, TierName] = {}
    raise_: tuple[TierRaise, ...] = msgspec.field(default=(), name="raise")
    propositions: TierName = "WRITE_LIMITED"

    def __post_init__(self) -> None:
        refuse_loose(self.tools, "./:", "tools", everything=True)
        if Tier[self.propositions] < Tier.WRITE_LIMITED:
            raise ValueError("`propositions` is at least WRITE_LIMITED: a status is written")


class ApprovalPolicy(Value, frozen=True):
    """When a person must decide, who that is, and what follows when nobody does.

    Calls of the tools in `tools_without_person`, by their exact ids, need no person though their tier is
    DELETE or PRIVILEGE. The roles in `decisions_without_action` may decide something without naming it.
    """

    require_human: tuple[TierName, ...] = HUMAN_ALWAYS  # type: ignore[assignment]
    approvers: dict[TierName, ApproverRule] = {}
    otherwise: ApproverRule = ApproverRule()
    expires_seconds: Seconds = 7 * 24 * 3600
    on_expiry: Literal["refuse", "escalate", "keep"] = "refuse"
    escalate_to: ApproverRule = ApproverRule(roles=(Role.ADMIN,))
    tools_without_person: tuple[Id, ...] = ()
    decisions_without_action: tuple[Role, ...] = ()

    def __post_init__(self) -> None:
        # INVARIANT: no policy can let DELETE or PRIVILEGE pass without a person.
        missing = [tier for tier in HUMAN_ALWAYS if tier not in self.require_human]
        if missing:
            raise ValueError(f"`require_human` must name {missing[0]}: it always needs a person")
        if self.on_expiry == "escalate" and self.escalate_to.nobody:
            raise ValueError("`on_expiry: escalate` needs somebody in `escalate_to`")
        if loose := [one for one in self.tools_without_person if ALL in one]:
            raise ValueError(f"`tools_without_person` names tools one by one, and `{loose[0]}` is a pattern")

    def asks_person(self, tool_id: str, tier: str) -> bool:
        """Does a call of this tool wait for a person, whatever constraints say?"""
        return tier in HUMAN_ALWAYS and tool_id not in self.tools_without_person

    def rule_for(self, tier: str) -> ApproverRule:
        return self.approvers.get(tier, self.otherwise)  # type: ignore[call-overload, no-any-return]


class MemoryPolicy(Value, frozen=True):
    """How sure a sourced entry must be to count as confirmed."""

    confirm_above: Unit = 0.80


class ModePolicy(Value, frozen=True):
    """What holds in a mode: how much of every budget is there, and which calls are let through at all.

    A `budget_share` above 1 makes more of the budgets of episodes, and never more of a capability. Shares are
    rounded up. One of 0 leaves nothing of a budget of a capability, and 1 of each budget of an episode.
    Without `network`, calls are off of all tools that are not known to stay away from it; without `mutating`,
    those of tools that change things.
    """

    budget_share: Annotated[float, msgspec.Meta(ge=0.0, le=10.0)] = 1.0
    network: bool = True
    mutating: bool = True


class ModesPolicy(Value, frozen=True):
    """Rules of modes, and how long a session stays in a lowered one before it goes one step up."""

    rules: dict[ModeName, ModePolicy] = {}
    recover_seconds: Seconds = 300


class AttestedPolicy(Value, frozen=True):
    """What data may do that only their proposer vouches for, or that were there before the claim was worded.

    `supports` is whether attested data alone may lift a claim to `supported`: `never`, past a `person` who is
    told whose numbers they are, or as anything else may (`as_witnessed`). `eliminates` and `proves` let data
    do so that are attested or came before the wording.
    """

    supports: Literal["never", "person", "as_witnessed"] = "person"
    eliminates: bool = False
    proves: bool = False


class FirewallPolicy(Value, frozen=True):
    """How sure an experiment must be, how often a claim may be tried, and which changes need no person.

    `automatic` intents are carried out as soon as evidence warrants them. `proven` is never among them.
    """

    alpha: Annotated[float, msgspec.Meta(gt=0, le=0.5)] = 0.05
    attempts_per_claim: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 20
    automatic: tuple[IntentType, ...] = ()
    automatic_downgrades: bool = True
    intent_expires_seconds: Seconds = 7 * 24 * 3600
    attested: AttestedPolicy = AttestedPolicy()


class ContentPolicy(Value, frozen=True):
    """How much content one principal may have brought that is still kept, and how large one item may be."""

    max_bytes_per_principal: Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)] = 1024**3
    max_items_per_principal: Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)] = 100_000
    max_item_bytes: Annotated[int, msgspec.Meta(ge=1, le=MAX_ITEM_BYTES)] = MAX_ITEM_BYTES


class Policy(Value, frozen=True):
    """The rules `decide` is told to apply. `version` is what their author calls this edition of them."""

    v: Annotated[int, msgspec.Meta(ge=1, le=1)] = 1
    termination: TerminationPolicy = TerminationPolicy()
    beliefs: BeliefPolicy = BeliefPolicy()
    evidence: EvidencePolicy = EvidencePolicy()
    uncertainty: UncertaintyPolicy = UncertaintyPolicy()
    security: SecurityPolicy = SecurityPolicy()
    adversarial: AdversarialPolicy = AdversarialPolicy()
    approvals: ApprovalPolicy = ApprovalPolicy()
    constraints: dict[Id, Any] = {}
    tools: dict[Id, ToolDefinition] = {}
    schemas: dict[Id, dict[str, Any]] = {}
    memory: MemoryPolicy = MemoryPolicy()
    modes: ModesPolicy = ModesPolicy()
    firewall: FirewallPolicy = FirewallPolicy()
    content: ContentPolicy = ContentPolicy()
    tiers: TiersPolicy = TiersPolicy()
    provenance: ProvenancePolicy = ProvenancePolicy()
    arbitration: ArbitrationPolicy = ArbitrationPolicy()
    # Not in the hash while they are not given: what was adopted before there were any keeps its hash.
    limits: LimitsPolicy | UnsetType = UNSET
    capabilities: Annotated[tuple[CapabilityRule, ...], msgspec.Meta(max_length=1000)] | UnsetType = UNSET
    calls: CallsPolicy | UnsetType = UNSET
    context: ContextPolicy | UnsetType = UNSET
    catalogues: CataloguesPolicy | UnsetType = UNSET
    rules: dict[Id, Any] | UnsetType = UNSET
    scheduling: SchedulingPolicy | UnsetType = UNSET
    prove: Annotated[tuple[Guarantee, ...], msgspec.Meta(max_length=100)] | UnsetType = UNSET
    erasable: ErasablePlaces | UnsetType = UNSET
    version: Id | UnsetType = UNSET

    def __post_init__(self) -> None:
        # INVARIANT: every policy has a hash. What is free-form in it is looked at before it is in force.
        schemas = {name: {"schema": tool.schema} for name, tool in self.tools.items()}
        promised = [one.when for one in self.prove or () if one.when is not UNSET]
        free = {"constraints": self.constraints, "rules": self.rules or {}, "schemas": self.schemas}
        canonical({**free, "tools": schemas, "prove": promised})
        named = [rule.name for rule in self.capabilities or ()]
        if twice := [name for name in named if named.count(name) > 1]:
            raise ValueError(f"`capabilities` has two rules named `{twice[0]}`")
        if self.erasable is not UNSET:
            refuse_unknown(self.erasable)
        if (any_tool := self.tools.get(ALL)) is not None and not any_tool.is_run_by_caller:
            raise ValueError("`*` in `tools` stands for tools that their callers run: `executor: caller`")

    @property
    def max_timeout_ms(self) -> int:
        return (self.calls or CallsPolicy()).max_timeout_ms

    @property
    def begin_within_seconds(self) -> int:
        return (self.calls or CallsPolicy()).begin_within_seconds or BEGIN_WITHIN_SECONDS

    @property
    def bounds(self) -> LimitsPolicy:
        """What one principal may take up, given or not."""
        return self.limits or DEFAULT_LIMITS

    def tool_tier(self, tool_id: str, own: TierName) -> TierName:
        """INVARIANT: a policy raises what a tool says of itself, and never lowers it."""
        found = [own, *(tier for pattern, tier in self.tiers.tools.items() if covers(pattern, tool_id))]
        if (named := self.tools.get(tool_id)) is not None:
            found.append(named.tier)
        return max(found, key=lambda name: Tier[name])


EARLIER: Final[dict[str, dict[str, Any]]] = {
    "arbitration": {
        "constraints": 1,
        "reasons": "failure",
        "failures": "first",
        "scheduling": 1,
        "meaning": 1,
        "patterns": "linear",
    },
    "beliefs": {"conclusions": "free", "tier": "READ_ONLY"},
    "evidence": {"require": "attested", "unnamed": "untold", "otherwise": "attested"},
    "uncertainty": {"unwitnessed": "untold"},
    "provenance": {"sources": "any", "inputs": "any", "permissions": "any", "capabilities": "plain"},
}
"""How it was decided where a policy did not say: members that came later, with what was the rule before."""


def recorded(document: dict[str, Any]) -> Policy:
    """The policy of a ledger, from the document that was recorded with it.

    INVARIANT: what a document does not say is decided again as it was then, not by today's defaults.
    """
    earlier = {name: {**rules, **document.get(name, {})} for name, rules in EARLIER.items()}
    return msgspec.convert({**document, **earlier}, Policy)
