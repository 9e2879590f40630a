"""What a policy says about catalogues."""

from typing import Final, Literal

from beliefd.kernel.values import Upstream, Value


class CataloguesPolicy(Value, frozen=True):
    """What becomes of tools that others offer.

    With `new_tools: ask`, a tool that comes new into a catalogue waits for a person; with `pin` it counts as
    it is. What a tool says of itself makes it more dangerous, and never less than its name tells, but where
    `trust_annotations` is true, or names its upstream: there, a tool only reads if it says so, and has the
    tier DELETE if it does not say that it destroys nothing.
    """

    new_tools: Literal["pin", "ask"] = "pin"
    trust_annotations: bool | tuple[Upstream, ...] = False

    def trusts(self, upstream: str) -> bool:
        told = self.trust_annotations
        return told if isinstance(told, bool) else upstream in told


CATALOGUES: Final = CataloguesPolicy()
