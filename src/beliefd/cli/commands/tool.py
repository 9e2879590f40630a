"""`beliefd tool`: the tools that agents can ask for."""

from typing import Any

import click
from click import argument, option

from beliefd.cli.files import read_list
from beliefd.cli.options import FILE, IN_SPACE, NOTES
from beliefd.cli.target import Question, asks

UPSTREAM = argument("upstream", metavar="UPSTREAM")
tool = click.Group("tool", help="See which tools agents can ask for, and pin those of other servers.")


@asks(tool)
def list_() -> Question:
    """The tools of the server and what they take."""
    return lambda calls: calls.list_tools()


@asks(tool, UPSTREAM, option("--in", "space", metavar="SPACE", help="The space that it is in."))
def catalogue(upstream: str, space: str | None) -> Question:
    """What is pinned of the tools of another server, and what waits for a person."""
    return lambda calls: calls.show_catalogue(upstream, space=space)


@asks(tool, UPSTREAM, FILE, IN_SPACE, NOTES, create=True)
def pin(upstream: str, path: str, **given: Any) -> Question:
    """Pin the tools in FILE, as another server lists them. What has changed since waits for a person."""
    tools = read_list(path, "tools")
    return lambda calls: calls.pin_tools(upstream, tools, **given)
