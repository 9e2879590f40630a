"""What the gates of claims ask for: evidence, uncertainty, who may speak and how often, and threats."""

from typing import Annotated, Final, Literal, TypeVar, get_args

import msgspec
from msgspec import UNSET, UnsetType

from beliefd.kernel.names import covers, refuse_loose
from beliefd.kernel.values import ClaimType, Id, JudgeName, Method, Seconds, Tier, TierName, Unit, Value

MAX_READ_BYTES = 128 * 1024
"""So much text the slowest of our rules read in about half a second."""
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
