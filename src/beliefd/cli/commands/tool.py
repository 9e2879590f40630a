"""`beliefd tool`: the tools that agents can ask for."""

import click

from beliefd.cli.target import Question, asks

tool = click.Group("tool", help="See which tools agents can ask for.")


@asks(tool)
def list_() -> Question:
    """The tools of the server and what they take."""
    return lambda calls: calls.list_tools()
