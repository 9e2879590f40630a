"""`beliefd observation`: values that do not change any more, and who has witnessed them."""

from typing import Any

import click
from click import argument, option

from beliefd.cli.options import CONDITIONS, SESSION
from beliefd.cli.target import Question, asks

observation = click.Group("observation", help="Take values from recorded results or stored content.")


@asks(
    observation,
    SESSION,
    argument("quantity", metavar="QUANTITY"),
    option("--unit", default="1", help="Of the values; `1` is a bare number."),
    option("--call", "call_id", metavar="ID", help="A call whose recorded result holds the values."),
    option("--content", metavar="SHA256", help="Stored content that holds them."),
    option("--value", "values", type=float, multiple=True, help="A value that you type; may be repeated."),
    option("--pointer", default="", help="JSON pointer to a number or a list."),
    option("--each", default="", help="JSON pointer from every item of that list to its number."),
    option("--column", help="The column, if the content is CSV."),
    CONDITIONS,
)
def take(session_id: str, **given: Any) -> Question:
    """Take the values of QUANTITY from where they are recorded, or type them."""
    values = list(given.pop("values")) or None
    return lambda calls: calls.observe(session_id, values=values, **given)


@asks(observation, SESSION, option("--cursor", metavar="ID", help="Continue after this one."))
def list_(session_id: str, **asked: Any) -> Question:
    """The observations of a session, without their values."""
    return lambda calls: calls.list_observations(session_id, **asked)


@asks(observation, SESSION, argument("observation_id", metavar="OBSERVATION"))
def show(session_id: str, observation_id: str) -> Question:
    """One observation with its values, and who has witnessed them."""
    return lambda calls: calls.show_observation(session_id, observation_id)
