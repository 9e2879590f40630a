"""What is looked up before an observation is taken."""

from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import Value


class ObservationFindings(Value, frozen=True, tag_field="of", tag="observation"):
    """The values that stand at the named place; or why there are none, and the path of what is wrong.

    `source_hash` is that of all that they were taken from, `choices` how many lists of numbers could have
    been taken out of it. `brought` says who stored it, if it is content.
    """

    values: tuple[float, ...] = ()
    source_hash: str = ""
    choices: int = 1
    brought: tuple[Bringer, ...] = ()
    problem: str = ""
    path: str = "$"
