"""What is looked up before an observation is taken."""

from msgspec import UNSET, UnsetType

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import Value


class ObservationFindings(Value, frozen=True, tag_field="of", tag="observation"):
    """The values that stand at the named place; or why there are none, and the path of what is wrong.

    `source_hash` is that of all that they were taken from, `choices` how many lists of numbers could have
    been taken out of it. `brought` says who stored it, if it is content; `recorded_at` when it was
    recorded, if it is the result of a call, and `elsewhere` that this was before the session came here.
    """

    values: tuple[float, ...] = ()
    source_hash: str = ""
    choices: int = 1
    brought: tuple[Bringer, ...] = ()
    recorded_at: str | UnsetType = UNSET
    elsewhere: bool | UnsetType = UNSET
    problem: str = ""
    path: str = "$"
