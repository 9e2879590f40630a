"""The base that all events share, and the event of a refusal, which every rule can end in."""

from typing import Any

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Object


class EventBase(Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """Base of all events. `eliminated` is always there, because the contract promises it in every delta."""

    eliminated: tuple[str, ...] = ()


class Refused(EventBase, frozen=True, tag="refused"):
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
