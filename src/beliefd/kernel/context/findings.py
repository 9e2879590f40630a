"""What is looked up before context is taken."""

from beliefd.kernel.values import Value


class ContextFindings(Value, frozen=True, tag_field="of", tag="context"):
    """Is what was told `kept` beside the ledger?"""

    kept: bool
