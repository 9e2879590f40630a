"""`beliefd hypothesis`, `evidence` and `intent`: what is imagined, what counts, what shall be believed."""

import sys
from typing import TYPE_CHECKING, Any

import click

from beliefd.cli.asking import asked as ask_model
from beliefd.cli.asking import model_options
from beliefd.cli.experiment import CLAIM_OPTION, PAGE_OPTIONS
from beliefd.cli.output import Exit
from beliefd.cli.reading import read_object
from beliefd.cli.session import SESSION, conditions
from beliefd.cli.target import Target, target_options

if TYPE_CHECKING:
    from beliefd.kernel.speculation.hints import Speculation


@click.group()
def hypothesis() -> None:
    """Note ideas in the speculative lane, where nothing counts."""


@hypothesis.command()
@SESSION
@click.argument("claim_id", metavar="CLAIM")
@click.argument("statement", metavar="STATEMENT")
@click.option("--mechanism", default="", help="How it would come about.")
@click.option("--prediction", default="", help="What would be seen if it were so.")
@conditions
@target_options
def note(target: Target, session_id: str, claim_id: str, statement: str, **given: Any) -> None:
    """Note an alternative to CLAIM."""
    from beliefd.cli import firewall_views

    idea = {
        "statement": statement,
        "mechanism": given.pop("mechanism"),
        "prediction": given.pop("prediction"),
    }
    answer = target.ask(lambda calls: calls.speculate(session_id, claim_id, [idea], **given))
    target.show(answer, firewall_views.speculation)


@hypothesis.command()
@SESSION
@click.argument("claim_id", metavar="CLAIM")
@click.argument("statement", metavar="STATEMENT")
@model_options(required=True)
@click.option("--seed", type=click.IntRange(min=0), help="For a model that takes one.")
@click.option(
    "--out", type=click.Path(dir_okay=False, writable=True), help="Keep the ideas in this file too."
)
@target_options
def imagine(target: Target, session_id: str, claim_id: str, statement: str, **asked: Any) -> None:
    """Have a language model imagine alternatives to CLAIM, which STATEMENT puts into words, and note them.

    The file of `--out` is the `speculation` that a plan may be informed by.
    """
    from beliefd.cli import firewall_views

    ideas = _imagined(statement, **asked)
    noted = [{name: getattr(one, name) for name in IDEA} for one in ideas.alternatives]
    answer = target.ask(lambda calls: calls.speculate(session_id, claim_id, noted))
    target.show(answer, firewall_views.speculation)


IDEA = ("statement", "mechanism", "prediction")


def _imagined(statement: str, seed: int | None, out: str | None, **model: Any) -> "Speculation":
    from pathlib import Path

    import msgspec

    from beliefd.agents.speculative import SpeculativeAgent
    from beliefd.kernel.errors import invalid

    ideas = ask_model(lambda opened: SpeculativeAgent(opened).speculate(statement, seed=seed), **model)
    if not ideas.alternatives:
        raise invalid("the model imagined no alternative", "--model")
    if out is not None:
        Path(out).write_bytes(msgspec.json.format(msgspec.json.encode(ideas)) + b"\n")
    return ideas


@hypothesis.command("list")
@SESSION
@CLAIM_OPTION
@PAGE_OPTIONS
@target_options
def list_hypotheses(target: Target, session_id: str, **asked: Any) -> None:
    """The speculative hypotheses of a session."""
    from beliefd.cli import firewall_views

    answer = target.ask(lambda calls: calls.list_hypotheses(session_id, **asked))
    target.show(answer, firewall_views.hypotheses)


@click.group()
def evidence() -> None:
    """Let what runs have minted count for a claim."""


@evidence.command()
@SESSION
@click.argument("claim_id", metavar="CLAIM")
@click.argument("run_id", metavar="RUN")
@click.argument("role", metavar="ROLE")
@conditions
@target_options
def link(target: Target, session_id: str, **given: Any) -> None:
    """Link the evidence of RUN to CLAIM as support, refute, undercut or replicate."""
    from beliefd.cli import firewall_views

    target.show(target.ask(lambda calls: calls.link_evidence(session_id, **given)), firewall_views.linked)


@evidence.command("list")
@SESSION
@CLAIM_OPTION
@PAGE_OPTIONS
@target_options
def list_evidence(target: Target, session_id: str, **asked: Any) -> None:
    """The evidence of a session, linked or not."""
    from beliefd.cli import firewall_views

    answer = target.ask(lambda calls: calls.list_evidence(session_id, **asked))
    target.show(answer, firewall_views.evidence)


@evidence.command()
@SESSION
@target_options
def discoveries(target: Target, session_id: str) -> None:
    """Which of all claims tested in a session can be believed together."""
    from beliefd.cli import firewall_views

    answer = target.ask(lambda calls: calls.list_discoveries(session_id))
    target.show(answer, firewall_views.discoveries)


@click.group()
def intent() -> None:
    """Ask for changes of what is believed, and see what became of them."""


@intent.command()
@SESSION
@click.argument("path", metavar="FILE")
@conditions
@target_options
def stage(target: Target, session_id: str, path: str, **conditions: Any) -> None:
    """Stage the change in FILE (JSON or YAML; `-` is stdin). Exits 0 carried out, 3 waits, 4 failed."""
    from beliefd.cli import firewall_views

    change = read_object(path, "an intent is an object with `type` and `claim_id`")
    answer = target.ask(lambda calls: calls.stage_intent(session_id, change, **conditions))
    target.show(answer, firewall_views.intent)
    waits = answer.state == "awaiting_approval"
    sys.exit(Exit.DEFERRED if waits else Exit.ALLOWED if answer.state == "executed" else Exit.REFUSED)


@intent.command("list")
@SESSION
@CLAIM_OPTION
@PAGE_OPTIONS
@target_options
def list_intents(target: Target, session_id: str, **asked: Any) -> None:
    """The write intents of a session."""
    from beliefd.cli import firewall_views

    answer = target.ask(lambda calls: calls.list_intents(session_id, **asked))
    target.show(answer, firewall_views.intents)


@intent.command()
@SESSION
@click.argument("intent_id", metavar="INTENT")
@target_options
def show(target: Target, session_id: str, intent_id: str) -> None:
    """One write intent and its life so far."""
    from beliefd.cli import firewall_views

    target.show(target.ask(lambda calls: calls.show_intent(session_id, intent_id)), firewall_views.intent)
