"""`beliefd evidence`: what runs have minted, and what it counts for."""

from typing import Any

import click
from click import argument

from beliefd.cli.options import CLAIM, CONDITIONS, OF_SESSION, SESSION
from beliefd.cli.target import Question, asks

evidence = click.Group("evidence", help="Link the evidence of runs to claims, and list it.")


@asks(
    evidence, SESSION, CLAIM, argument("run_id", metavar="RUN"), argument("role", metavar="ROLE"), CONDITIONS
)
def link(session_id: str, **given: Any) -> Question:
    """Link the evidence of RUN to CLAIM as support, refute, undercut or replicate."""
    return lambda calls: calls.link_evidence(session_id, **given)


@asks(evidence, OF_SESSION)
def list_(session_id: str, **asked: Any) -> Question:
    """The evidence of a session, linked or not."""
    return lambda calls: calls.list_evidence(session_id, **asked)


@asks(evidence, SESSION)
def discoveries(session_id: str) -> Question:
    """Which of all claims tested in a session can be believed together."""
    return lambda calls: calls.list_discoveries(session_id)
