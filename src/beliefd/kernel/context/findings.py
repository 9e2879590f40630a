"""What is looked up before context is taken."""

from msgspec import UNSET, UnsetType

from beliefd.kernel.values import Value


class ContextFindings(Value, frozen=True, tag_field="of", tag="context"):
    """Is what was told `kept` beside the ledger? `opened_by` is whose credential opened the session, if it is
    not the teller's own; entries without it are older, or the teller's own."""

    kept: bool
    opened_by: str | UnsetType = UNSET
