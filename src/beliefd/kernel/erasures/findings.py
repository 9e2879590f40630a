"""What is looked up before something is erased."""

from beliefd.kernel.values import Value


class ErasureFindings(Value, frozen=True, tag_field="of", tag="erasure"):
    """`unknown` are those of the digests that this ledger does not mention."""

    unknown: tuple[str, ...] = ()
