"""What can be asked about observations."""

from typing import Annotated, Final

import msgspec

from beliefd.kernel import patterns
from beliefd.kernel.experiments.plan import Hex64, UnitName
from beliefd.kernel.values import Id, Value

MAX_VALUES: Final = 5_000
Quantity = Annotated[str, msgspec.Meta(pattern=patterns.REFERENCE)]
"""The name of what was measured, such as `pool_wait`: no spaces, so no sentence fits in."""
Pointer = Annotated[str, msgspec.Meta(pattern=patterns.POINTER, max_length=512)]
Measured = Annotated[float, msgspec.Meta(ge=-1e150, le=1e150)]
"""A number whose square is still one."""
Values = Annotated[tuple[Measured, ...], msgspec.Meta(min_length=1, max_length=MAX_VALUES)]
SOURCES: Final = ("call_id", "content", "values")


class Observe(Value, frozen=True, tag_field="verb", tag="OBSERVE"):
    """Take values out of a call's recorded result, or out of stored content; or type them.

    `pointer` leads to a number or a list (RFC 6901), `each` from every item of that list to its number. Of
    content that is CSV, `column` names the column.
    """

    quantity: Quantity
    unit: UnitName = "1"
    call_id: Id | None = None
    content: Hex64 | None = None
    values: Values | None = None
    pointer: Pointer = ""
    each: Pointer = ""
    column: Id | None = None

    def __post_init__(self) -> None:
        given = [name for name in SOURCES if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("give one of `call_id`, `content` and `values`")
        if self.values is not None and (self.pointer or self.each or self.column):
            raise ValueError("typed `values` are not looked up: leave `pointer`, `each` and `column` out")
        if self.column is not None and (self.content is None or self.pointer or self.each):
            raise ValueError("`column` is for CSV under `content`, without `pointer` and `each`")


ObservationCommand = Observe
