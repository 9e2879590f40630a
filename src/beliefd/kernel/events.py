"""What was decided, as values. An event is the `delta` of a ledger entry and all that `evolve` needs."""

from typing import Any, Final

from beliefd.kernel.claims.events import (
    ApprovalClosed,
    ApprovalDecided,
    BundleGated,
    GrantGiven,
    GrantRevoked,
)
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.firewall.events import (
    ClaimSpeculated,
    EvidenceLinked,
    ExperimentDesigned,
    IntentStaged,
    RunRecorded,
    RunStarted,
    Speculated,
)
from beliefd.kernel.happening import Happening
from beliefd.kernel.substrate.events import (
    Arbitrated,
    CapabilityIssued,
    CapabilityRevoked,
    OutcomeRecorded,
    Remembered,
)
from beliefd.kernel.values import Object


class Declared(Happening, frozen=True, tag="declared"):
    """The session began; its universe is in the entry's payload."""


class Eliminated(Happening, frozen=True, tag="eliminated", gc=False):
    """`eliminated` left the survivors; `ignored` were no longer (or never) among them."""

    ignored: tuple[str, ...] = ()


class ObligationEntered(Happening, frozen=True, tag="obligation_entered"):
    obligation_id: str
    min_total_eliminations: int


class ExitRuled(Happening, frozen=True, tag="exit_ruled"):
    obligation_id: str
    approved: bool
    reason: str


class ConclusionRuled(Happening, frozen=True, tag="conclusion_ruled"):
    conclusion_id: str
    accepted: bool
    reason: str


class TerminationRuled(Happening, frozen=True, tag="termination_ruled"):
    approved: bool
    reason: str


class Merged(Happening, frozen=True, tag="merged"):
    """A replica's eliminations were taken over; `eliminated` are those that were new here."""

    ignored: tuple[str, ...] = ()


class Refused(Happening, frozen=True, tag="refused"):
    """Nothing happened, and this is why."""

    code: Code
    message: str
    details: Object = {}


def refused(code: Code, message: str, path: str, **details: Any) -> Refused:
    """A refusal that points at what it is about."""
    return Refused(code=code, message=message, details={"path": path, **details})


def refused_by(error: BeliefdError) -> Refused:
    """What a guard raises, as the record of a refusal."""
    return Refused(code=error.code, message=error.message, details=error.details or {})


Event = (
    Declared
    | Eliminated
    | ObligationEntered
    | ExitRuled
    | ConclusionRuled
    | TerminationRuled
    | Merged
    | Refused
    | BundleGated
    | ApprovalDecided
    | ApprovalClosed
    | GrantGiven
    | GrantRevoked
    | Arbitrated
    | OutcomeRecorded
    | CapabilityIssued
    | CapabilityRevoked
    | Remembered
    | Speculated
    | ClaimSpeculated
    | ExperimentDesigned
    | RunStarted
    | RunRecorded
    | EvidenceLinked
    | IntentStaged
)
KINDS: Final[dict[type, str]] = {kind: str(kind.__struct_config__.tag) for kind in Event.__args__}


def kind_of(event: Event) -> str:
    return KINDS[type(event)]
