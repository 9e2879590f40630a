"""What is known of a shell command before it runs: found by reading it, recorded with the decision."""

from typing import Literal

from beliefd.kernel.values import Value

Reach = Literal["reads", "project", "asks"]
UNKNOWN_PATH = "?"
"""Stands for a path or a host that cannot be told by reading the command."""


class ShellFacts(Value, frozen=True):
    """What a command may do. Everything that is not known for sure counts as the worse of the two.

    `reach` sums it up: it only reads; it changes nothing but files inside the project; or somebody must be
    asked. `runs` are programs that nothing is known about. `outside` are those of `writes` and `deletes` that
    lie outside the project, cannot be told, or steer programs that run later (`.git`, settings of agents).
    INVARIANT: symbolic links cannot be seen by reading, so paths are resolved by their text alone.
    """

    reach: Reach
    read_only: bool
    writes: tuple[str, ...] = ()
    deletes: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    privilege: bool = False
    unparsed: bool = False
    why: tuple[str, ...] = ()
