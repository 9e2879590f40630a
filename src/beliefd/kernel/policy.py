"""What may be set per deployment; its hash stands in every event it governed."""

from typing import Annotated, Any, Literal

import msgspec

from beliefd.kernel.canonical import canonical
from beliefd.kernel.claims.bundle import ClaimType
from beliefd.kernel.intents.state import IntentType
from beliefd.kernel.names import ALL, covers, refuse_loose
from beliefd.kernel.scan.whole_words import whole_words
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.kernel.values import PEOPLE, Id, Role, Tier, TierName, Unit, Value

Seconds = Annotated[int, msgspec.Meta(ge=1, le=10 * 365 * 24 * 3600)]
HUMAN_ALWAYS = ("DELETE", "PRIVILEGE")


class TerminationPolicy(Value, frozen=True):
    """Who may end a session that has not come down to one survivor, and how settled it must be."""

    force_roles: tuple[Role, ...] = (Role.ADMIN, Role.APPROVER)
    stability_window: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0


class EvidencePolicy(Value, frozen=True):
    """What counts as evidence. `hash: strict` refuses digests that are not SHA-256."""

    min_confidence: Unit = 0.60
    hash: Literal["lenient", "strict"] = "lenient"
    max_age_seconds: Seconds | None = None


class UncertaintyPolicy(Value, frozen=True):
    explain_above: Unit = 0.50
    defer_above: Unit = 0.75

    def __post_init__(self) -> None:
        if self.explain_above > self.defer_above:
            raise ValueError("`explain_above` is larger than `defer_above`: nothing would ever be explained")


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
    defer_above: Unit = 0.70
    timeout_ms: Annotated[int, msgspec.Meta(ge=1, le=60_000)] = 1_000


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
    """What holds in a mode: how much of every budget is there, and which calls are let through at all."""

    budget_share: Unit = 1.0
    network: bool = True
    mutating: bool = True


ModeName = Literal["boost", "normal", "eco", "throttled", "offline-safe"]


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


class Policy(Value, frozen=True):
    """The rules `decide` is told to apply."""

    v: Annotated[int, msgspec.Meta(ge=1, le=1)] = 1
    termination: TerminationPolicy = TerminationPolicy()
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
    tiers: TiersPolicy = TiersPolicy()

    def __post_init__(self) -> None:
        # INVARIANT: every policy has a hash. What is free-form in it is looked at before it is in force.
        schemas = {name: {"schema": tool.schema} for name, tool in self.tools.items()}
        canonical({"constraints": self.constraints, "schemas": self.schemas, "tools": schemas})

    def tool_tier(self, tool_id: str, own: TierName) -> TierName:
        """INVARIANT: a policy raises what a tool says of itself, and never lowers it."""
        found = [own, *(tier for pattern, tier in self.tiers.tools.items() if covers(pattern, tool_id))]
        if (named := self.tools.get(tool_id)) is not None:
            found.append(named.tier)
        return max(found, key=lambda name: Tier[name])
