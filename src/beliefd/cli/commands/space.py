"""`beliefd space`: who sees what, and who may do what where."""

import click
from click import argument

from beliefd.cli.target import Question, asks

space = click.Group("space", help="Make and list spaces, which keep sessions and content apart.")


@asks(space, argument("name"), create=True)
def create(name: str) -> Question:
    """Make a space. Tokens get rights in it with `token create --space`."""
    return lambda calls: calls.create_space(name)


@asks(space)
def list_() -> Question:
    """Show the spaces that there are, and what you may do in them."""
    return lambda calls: calls.list_spaces()
