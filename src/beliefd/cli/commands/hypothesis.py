"""`beliefd hypothesis`: ideas, which count for nothing."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from beliefd.cli.files import write_bytes
from beliefd.cli.language_model import ask_model
from beliefd.cli.options import CLAIM, CONDITIONS, OF_SESSION, SESSION, model_options
from beliefd.cli.target import Question, asks
from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    from beliefd.kernel.speculation.hints import Speculation

STATEMENT = argument("statement", metavar="STATEMENT")
IDEA = ("statement", "mechanism", "prediction")
hypothesis = click.Group("hypothesis", help="Note ideas as speculation, which never counts as evidence.")


@asks(
    hypothesis,
    SESSION,
    CLAIM,
    STATEMENT,
    option("--mechanism", default="", help="How it would come about."),
    option("--prediction", default="", help="What would be seen if it were so."),
    CONDITIONS,
)
def note(session_id: str, claim_id: str, **given: Any) -> Question:
    """Note an alternative to CLAIM."""
    idea = {name: given.pop(name) for name in IDEA}
    return lambda calls: calls.speculate(session_id, claim_id, [idea], **given)


@asks(
    hypothesis,
    SESSION,
    CLAIM,
    STATEMENT,
    model_options(required=True),
    option("--seed", type=click.IntRange(min=0), help="For a model that takes one."),
    option("--out", type=click.Path(dir_okay=False, writable=True), help="Keep the ideas in this file too."),
)
def imagine(session_id: str, claim_id: str, **asked: Any) -> Question:
    """Have a language model imagine alternatives to CLAIM, which STATEMENT puts into words, and note them.

    The file of `--out` is the `speculation` that a plan may be informed by.
    """
    ideas = _imagined(**asked)
    noted = [{name: getattr(one, name) for name in IDEA} for one in ideas.alternatives]
    return lambda calls: calls.speculate(session_id, claim_id, noted)


def _imagined(statement: str, seed: int | None, out: str | None, **model: Any) -> "Speculation":
    import msgspec

    from beliefd.agents.speculative import SpeculativeAgent

    ideas = ask_model(lambda opened: SpeculativeAgent(opened).speculate(statement, seed=seed), **model)
    if not ideas.alternatives:
        raise invalid("the model imagined no alternative", "--model")
    if out is not None:
        write_bytes(Path(out), msgspec.json.format(msgspec.json.encode(ideas)) + b"\n")
    return ideas


@asks(hypothesis, OF_SESSION)
def list_(session_id: str, **asked: Any) -> Question:
    """The speculative hypotheses of a session."""
    return lambda calls: calls.list_hypotheses(session_id, **asked)
