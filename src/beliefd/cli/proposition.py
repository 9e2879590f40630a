"""`beliefd proposition`: what is believed over all sessions, and why."""

from typing import Any, get_args

import click

from beliefd.cli.target import Target, target_options
from beliefd.kernel.intents.state import EpistemicStatus

CLAIM = click.argument("claim_id", metavar="CLAIM")


@click.group()
def proposition() -> None:
    """See what is believed over all sessions, on what grounds, and how it came to that."""


@proposition.command("list")
@click.option("--status", type=click.Choice(get_args(EpistemicStatus)), help="Only those with this status.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True)
@click.option("--cursor", metavar="CLAIM", help="Go on after this one.")
@target_options
def list_(target: Target, **asked: Any) -> None:
    """Propositions with their epistemic status, by id."""
    from beliefd.cli import knowledge_views

    target.show(target.ask(lambda calls: calls.list_propositions(**asked)), knowledge_views.propositions)


@proposition.command()
@CLAIM
@target_options
def show(target: Target, claim_id: str) -> None:
    """One proposition with its evidence and intents in every session."""
    from beliefd.cli import knowledge_views

    target.show(target.ask(lambda calls: calls.show_proposition(claim_id)), knowledge_views.proposition)


@proposition.command()
@CLAIM
@target_options
def why(target: Target, claim_id: str) -> None:
    """The events that led to its status: experiment, run, evidence, intent, approval."""
    from beliefd.cli import knowledge_views

    target.show(target.ask(lambda calls: calls.why_proposition(claim_id)), knowledge_views.why)
