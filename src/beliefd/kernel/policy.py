"""What may be set per deployment; its hash stands in every event it governed."""

from typing import Annotated, Any, Final, Literal, TypeVar, get_args

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.canonical import MAX_SAFE_INTEGER, canonical
from beliefd.kernel.catalogues.policy import CataloguesPolicy
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
from beliefd.kernel.values import PEOPLE, ClaimType, Id, JudgeName, Method, Role, Tier, TierName, Unit, Value

Seconds = Annotated[int, msgspec.Meta(ge=1, le=10 * 365 * 24 * 3600)]
MAX_ITEM_BYTES = 16 * 1024 * 1024
"""The largest body that content can come in."""
HUMAN_ALWAYS = ("DELETE", "PRIVILEGE")
MAX_READ_BYTES = 128 * 1024
"""So much text the slowest of our rules read in about half a second."""


class TerminationPolicy(Value, frozen=True):
    """Who may end a session that has not come down to one survivor, and how settled it must be."""

    force_roles: tuple[Role, ...] = (Role.ADMIN, Role.APPROVER)
    stability_window: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0


EvidenceState = Literal["attested", "stored", "witnessed"]
"""How far evidence is known here, from least to most: `get_args` gives them in their order."""
T = TypeVar("T")
DOWN_FROM: Final[dict[TierName, tuple[TierName, ...]]] = {
    tier.name: tuple(lower.name for lower in sorted(Tier, reverse=True) if lower <= tier)  # type: ignore[misc]
    for tier in Tier
}
"""A tier and those below it, from the highest down."""


def by_tier(rules: dict[TierName, T], tier: TierName, otherwise: T) -> T:
    """The rule of the highest tier that has one and is not above this one: it holds until the next."""
    for name in DOWN_FROM[tier]:
        if name in rules:
            return rules[name]
    return otherwise


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


KNOWN_BY_DEFAULT: Final[dict[ClaimType, dict[TierName, EvidenceState]]] = {
    "FACT": {"WRITE_LIMITED": "stored"}
}


class EvidencePolicy(Value, frozen=True):
    """What counts as evidence. `hash: strict` refuses digests that are not SHA-256.

    `require` is how far a claim's best evidence must be known here: in one word, or by type of claim, or by
    tier too. What is said of a tier holds for those above it, until one of them has a word of its own. Of a
    type or a tier that it leaves out the default holds, or with `otherwise: attested` nothing is asked for.
    What is said of a tier below the one that a default begins at takes nothing from it.
    That a claim names no evidence at all is published with it, unless `unnamed` is `untold`.
    """

    min_confidence: Unit = 0.60
    hash: Literal["lenient", "strict"] = "lenient"
    max_age_seconds: Seconds | None = None
    require: EvidenceState | dict[ClaimType, EvidenceState | dict[TierName, EvidenceState]] = msgspec.field(
        default_factory=lambda: {**KNOWN_BY_DEFAULT}
    )
    unnamed: Literal["told", "untold"] = "told"
    otherwise: Literal["default", "attested"] = "default"

    def required(self, claim_type: ClaimType, tier: TierName) -> EvidenceState:
        if isinstance(self.require, str):
            return self.require
        said = self.require.get(claim_type, {})
        if isinstance(said, str):
            return said
        # INVARIANT: whoever says something of one type or tier has said nothing of another.
        usual = KNOWN_BY_DEFAULT.get(claim_type, {}) if self.otherwise == "default" else {}
        nearest = next((name for name in DOWN_FROM[tier] if name in said or name in usual), None)
        asked = by_tier(said, tier, "attested")
        if nearest is None or nearest in said:
            return asked
        return max(asked, usual[nearest], key=get_args(EvidenceState).index)


class MeasurementRule(Value, frozen=True):
    """What the measurement must be that a claim cites. Nothing named is nothing asked for.

    `witnessed`: its answers were drawn by the server, or by somebody else than who proposes.
    """

    methods: tuple[Method, ...] = ()
    min_k: Annotated[int, msgspec.Meta(ge=0, le=200)] = 0
    judges: tuple[JudgeName, ...] = ()
    witnessed: bool = False


class UncertaintyPolicy(Value, frozen=True):
    """From where on uncertainty is told, and from where on a person is asked.

    `require` is whether it must have been measured, by whomever (`measured`) or by somebody else than who
    proposes (`witnessed`): in one word, or by tier, as in `evidence.require`. `missing` is what becomes of a
    claim that brings no measurement where one is required: it waits, or the server asks its own model first
    (`sample`). That nobody else has measured a claim is published with it, unless `unwitnessed` is `untold`.
    """

    explain_above: Unit = 0.50
    defer_above: Unit = 0.75
    require: Literal["declared", "measured", "witnessed"] | dict[TierName, MeasurementRule] = "declared"
    missing: Literal["wait", "sample"] = "wait"
    unwitnessed: Literal["told", "untold"] = "told"

    def __post_init__(self) -> None:
        if self.explain_above > self.defer_above:
            raise ValueError("`explain_above` is larger than `defer_above`: nothing would ever be explained")

    def required(self, tier: TierName) -> MeasurementRule | None:
        """What a claim of this tier must cite; None if what it declares will do."""
        if isinstance(self.require, str):
            witnessed = self.require == "witnessed"
            return None if self.require == "declared" else MeasurementRule(witnessed=witnessed)
        return by_tier(dict[TierName, MeasurementRule | None](self.require), tier, None)


class SecurityPolicy(Value, frozen=True):
    """How many bundles one principal may submit in a window, and which web origins may speak at all.

    `relays` are the agents that a principal may speak for beside itself: by id, or all of `prefix/*`.
    """

    rate_limit: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] = 1_000
    rate_window_seconds: Seconds = 60
    allowed_origins: tuple[Id, ...] = ()
    relays: dict[Id, tuple[Id, ...]] = {}

    def __post_init__(self) -> None:
        refuse_loose((one for origins in self.relays.values() for one in origins), "/", "relays")

    def speaks_for(self, principal_id: str, origin: str) -> bool:
        """INVARIANT: who is not named here speaks for itself alone."""
        named = self.relays.get(principal_id, ())
        return origin == principal_id or any(covers(pattern, origin) for pattern in named)


class AdversarialPolicy(Value, frozen=True):
    """From which threat on a person decides, and what detectors may cost: a longer bundle is not read at all.

    `detectors` names those that must be asked, else all that the server was started with are. `combine` makes
    one score of theirs: the highest (`max`), the lowest (`min`), or one minus the product of what each leaves
    (`noisy_or`). `max_bytes` of text are read, 131072 unless given.
    """

    defer_above: Unit = 0.70
    timeout_ms: Annotated[int, msgspec.Meta(ge=1, le=60_000)] = 1_000
    # Not in the hash while they are not given: what was adopted before there were any keeps its hash.
    detectors: Annotated[tuple[Id, ...], msgspec.Meta(max_length=10)] | UnsetType = UNSET
    combine: Literal["max", "min", "noisy_or"] | UnsetType = UNSET
    max_bytes: Annotated[int, msgspec.Meta(ge=1, le=64 * 1024 * 1024)] | UnsetType = UNSET

    @property
    def asked(self) -> tuple[str, ...]:
        """Detectors that policy insists on, each once."""
        return tuple(dict.fromkeys(self.detectors or ()))

    @property
    def budget(self) -> int:
        return self.max_bytes or MAX_READ_BYTES


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
