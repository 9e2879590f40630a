"""The base that all events share."""

from msgspec import Struct


class Happening(Struct, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """Base of all events. `eliminated` is always there, because the contract promises it in every delta."""

    eliminated: tuple[str, ...] = ()
