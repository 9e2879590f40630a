"""`beliefd proposition`: what is believed over all sessions, and why."""

from typing import Any, get_args

import click
from click import option

from beliefd.cli.options import CLAIM, page_options
from beliefd.cli.target import Question, asks
from beliefd.kernel.intents.state import EpistemicStatus

proposition = click.Group(
    "proposition", help="See what is believed across all sessions, on what grounds, and how that came about."
)


@asks(
    proposition,
    option("--status", type=click.Choice(get_args(EpistemicStatus)), help="Only those with this status."),
    page_options("CLAIM"),
)
def list_(**asked: Any) -> Question:
    """Propositions with their epistemic status, by id."""
    return lambda calls: calls.list_propositions(**asked)


@asks(proposition, CLAIM)
def show(claim_id: str) -> Question:
    """One proposition with its evidence and intents in every session."""
    return lambda calls: calls.show_proposition(claim_id)


@asks(proposition, CLAIM, option("--cursor", metavar="PLACE", help="Go on where the page before ended."))
def why(claim_id: str, **asked: Any) -> Question:
    """The events that led to its status: experiment, run, evidence, intent, approval."""
    return lambda calls: calls.why_proposition(claim_id, **asked)
