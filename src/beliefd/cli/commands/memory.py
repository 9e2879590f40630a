"""`beliefd memory`: what a session remembers, and how sure that is."""

from typing import Any

import click
from click import option

from beliefd.cli.files import read_object
from beliefd.cli.options import CONDITIONS, FILE, SESSION
from beliefd.cli.target import Question, asks

AN_ENTRY = "an entry is an object with `memory_id`, `kind`, `value` and `confidence`"
memory = click.Group("memory", help="Put entries into the memory of a session, and read them.")


@asks(memory, SESSION, FILE, CONDITIONS)
def add(session_id: str, path: str, **conditions: Any) -> Question:
    """Take the entry in FILE (JSON or YAML; `-` is stdin) into memory, if it is what it says it is."""
    entry = read_object(path, AN_ENTRY)
    return lambda calls: calls.remember(session_id, entry, **conditions)


@asks(
    memory,
    SESSION,
    option("--show", type=click.Choice(["live", "review"]), help="All that has not expired, or what is due."),
)
def list_(session_id: str, show: str | None) -> Question:
    """The entries of a session that have not expired, with what confirms them."""
    return lambda calls: calls.list_memory(session_id, show=show)
