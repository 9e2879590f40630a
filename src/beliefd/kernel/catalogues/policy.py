"""What a policy says about catalogues."""

from typing import Final, Literal

from beliefd.kernel.values import Value


class CataloguesPolicy(Value, frozen=True):
    """What becomes of tools that others offer.

    With `new_tools: ask`, a tool that comes new into a catalogue waits for a person; with `pin` it counts as
    it is. With `trust_annotations`, a tool that does not say that it destroys nothing has the tier DELETE.
    """

    new_tools: Literal["pin", "ask"] = "pin"
    trust_annotations: bool = False


CATALOGUES: Final = CataloguesPolicy()
