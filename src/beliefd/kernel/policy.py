"""What may be set per deployment; its hash stands in every event it governed."""

from typing import Annotated, Any, Final, Literal

import msgspec

from beliefd.kernel.canonical import canonical
from beliefd.kernel.intents.state import IntentType
from beliefd.kernel.observations.labels import ATTESTED, Label
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.kernel.values import PEOPLE, Id, Role, TierName, Unit, Value

Seconds = Annotated[int, msgspec.Meta(ge=1, le=10 * 365 * 24 * 3600)]
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
    hypothesis if its id is that hypothesis, or if what follows a colon in it is, as in `cause:disk_full`. All
    other conclusions are free. With `free`, all are.
    """

    conclusions: Literal["survivors_only", "free"] = "survivors_only"
    eliminations: EliminationPolicy = EliminationPolicy()


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
    """How many bundles one principal may submit in a window, and which web origins may speak at all."""

    rate_limit: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)] = 1_000
    rate_window_seconds: Seconds = 60
    allowed_origins: tuple[Id, ...] = ()


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


class ApprovalPolicy(Value, frozen=True):
    """When a person must decide, who that is, and what follows when nobody does."""

    require_human: tuple[TierName, ...] = HUMAN_ALWAYS  # type: ignore[assignment]
    approvers: dict[TierName, ApproverRule] = {}
    otherwise: ApproverRule = ApproverRule()
    expires_seconds: Seconds = 7 * 24 * 3600
    on_expiry: Literal["refuse", "escalate", "keep"] = "refuse"
    escalate_to: ApproverRule = ApproverRule(roles=(Role.ADMIN,))

    def __post_init__(self) -> None:
        # INVARIANT: no policy can let DELETE or PRIVILEGE pass without a person.
        missing = [tier for tier in HUMAN_ALWAYS if tier not in self.require_human]
        if missing:
            raise ValueError(f"`require_human` must name {missing[0]}: it always needs a person")
        if self.on_expiry == "escalate" and self.escalate_to.nobody:
            raise ValueError("`on_expiry: escalate` needs somebody in `escalate_to`")

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

    def __post_init__(self) -> None:
        # INVARIANT: every policy has a hash. What is free-form in it is looked at before it is in force.
        schemas = {name: {"schema": tool.schema} for name, tool in self.tools.items()}
        canonical({"constraints": self.constraints, "schemas": self.schemas, "tools": schemas})


EARLIER: Final = {"beliefs": {"conclusions": "free"}}
"""How it was decided where a policy did not say: members that came later, with what was the rule before."""


def recorded(document: dict[str, Any]) -> Policy:
    """The policy of a ledger, from the document that was recorded with it.

    INVARIANT: what a document does not say is decided again as it was then, not by today's defaults.
    """
    return msgspec.convert({**EARLIER, **document}, Policy)
