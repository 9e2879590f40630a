"""`beliefd state`: the symbolic state, and what shall change it."""

from typing import Any, get_args

import click
from click import option

from beliefd.cli.commands.call import exit_of_permit
from beliefd.cli.files import read_list
from beliefd.cli.options import CONDITIONS, FILE, SESSION
from beliefd.cli.output import Exit
from beliefd.cli.target import Question, asks
from beliefd.kernel.substrate.tools import Qos

state = click.Group("state", help="Read the symbolic state, and propose changes and tool calls.")


@asks(state, SESSION, option("--at", metavar="SNAPSHOT", help="A past `state_snapshot_id`."))
def show(session_id: str, at: str | None) -> Question:
    """The symbolic state (F_sparse) now, or at a past snapshot."""
    return lambda calls: calls.show_state(session_id, at=at)


def _worst(answer: Any) -> Exit:
    return max(map(exit_of_permit, answer.results))


@asks(
    state,
    SESSION,
    FILE,
    option(
        "--execute",
        type=click.Choice(["server", "caller"]),
        help="Who runs the tools; a caller gets a permit for each call that is allowed.",
    ),
    option("--qos", type=click.Choice(get_args(Qos)), help="The class in which calls wait for their turn."),
    option("--source", default="agent", show_default=True, help="observer, encoder, tool or agent."),
    option("--input", "inputs", multiple=True, metavar="ID", help="A record that it was made from."),
    option("--permission", "permissions", multiple=True, metavar="CAPABILITY", help="One held for it."),
    option(
        "--snapshot", "state_snapshot_id", metavar="SNAPSHOT", help="The snapshot the proposal was made on."
    ),
    CONDITIONS,
    exits=_worst,
)
def propose(session_id: str, path: str, **given: Any) -> Question:
    """Put the candidates in FILE (a list, or an object with `candidates`; `-` is stdin) to arbitration.

    Exits 0 if all are allowed, 3 if one waits or nobody knows what came of it, 4 if one is denied.
    """
    candidates = read_list(path, "candidates")
    return lambda calls: calls.propose(session_id, candidates, **given)
