"""What can be asked of a catalogue."""

from typing import Annotated

import msgspec

from beliefd.kernel.catalogues.state import OfferedTool
from beliefd.kernel.values import Upstream, Value


class PinTools(Value, frozen=True, tag_field="verb", tag="PIN_TOOLS"):
    """All tools that `upstream` offers now. What is new is pinned; what changed is asked about."""

    upstream: Upstream
    tools: Annotated[tuple[OfferedTool, ...], msgspec.Meta(max_length=1_000)]

    def __post_init__(self) -> None:
        names = [tool.name for tool in self.tools]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"tool `{twice[0][:64]}` is offered twice")


CatalogueCommand = PinTools
