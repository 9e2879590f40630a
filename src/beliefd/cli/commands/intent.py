"""`beliefd intent`: changes of what is believed."""

from typing import Any

import click
from click import argument

from beliefd.cli.files import read_object
from beliefd.cli.options import CONDITIONS, FILE, OF_SESSION, SESSION
from beliefd.cli.output import Exit, passed
from beliefd.cli.target import Question, asks

intent = click.Group("intent", help="Ask for changes of what is believed, and see what became of them.")


def _exit(answer: Any) -> Exit:
    return Exit.DEFERRED if answer.state == "awaiting_approval" else passed(answer.state == "executed")


@asks(intent, SESSION, FILE, CONDITIONS, exits=_exit)
def stage(session_id: str, path: str, **conditions: Any) -> Question:
    """Stage the change in FILE (JSON or YAML; `-` is stdin). Exits 0 carried out, 3 waits, 4 failed."""
    change = read_object(path, "an intent is an object with `type` and `claim_id`")
    return lambda calls: calls.stage_intent(session_id, change, **conditions)


@asks(intent, OF_SESSION)
def list_(session_id: str, **asked: Any) -> Question:
    """The write intents of a session."""
    return lambda calls: calls.list_intents(session_id, **asked)


@asks(intent, SESSION, argument("intent_id", metavar="INTENT"))
def show(session_id: str, intent_id: str) -> Question:
    """One write intent and its history."""
    return lambda calls: calls.show_intent(session_id, intent_id)
