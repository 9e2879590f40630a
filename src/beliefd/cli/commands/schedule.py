"""`beliefd schedule`: when a session may act, and how much."""

from typing import Any, get_args

import click
from click import argument, option

from beliefd.cli.options import CONDITIONS, SESSION
from beliefd.cli.target import Question, asks
from beliefd.kernel.scheduling.state import Kind, Running
from beliefd.kernel.substrate.guarantees import ModeName

schedule = click.Group("schedule", help="Set the mode of a session, interrupt it, and let it go on.")
WHY = argument("reason")


@asks(schedule, SESSION)
def show(session_id: str) -> Question:
    """The mode, what interrupts the session, and its episode."""
    return lambda calls: calls.show_schedule(session_id)


@asks(
    schedule,
    SESSION,
    argument("mode", type=click.Choice(get_args(ModeName))),
    WHY,
    option("--until", metavar="TIME", help="ISO-8601; the mode then ends by itself."),
    CONDITIONS,
)
def mode(session_id: str, mode: str, reason: str, **given: Any) -> Question:
    """Set the MODE of a session, for a REASON. Programs can only lower it."""
    return lambda calls: calls.set_mode(session_id, mode, reason, **given)


@asks(
    schedule,
    SESSION,
    WHY,
    option("--kind", type=click.Choice(get_args(Kind)), default="user_intent", show_default=True),
    option(
        "--running",
        type=click.Choice(get_args(Running)),
        default="drain",
        show_default=True,
        help="What becomes of calls that run.",
    ),
    option("--level", type=click.FloatRange(0, 1), help="How surprising a surprisal is."),
    CONDITIONS,
)
def interrupt(session_id: str, reason: str, kind: str, **given: Any) -> Question:
    """Stop a session, for a REASON: nothing is let through until it is resumed."""
    return lambda calls: calls.interrupt(session_id, kind, reason, **given)


@asks(schedule, SESSION, WHY, CONDITIONS)
def resume(session_id: str, reason: str, **conditions: Any) -> Question:
    """Let an interrupted session go on, for a REASON; in a new episode, if a person says so."""
    return lambda calls: calls.resume(session_id, reason, **conditions)
