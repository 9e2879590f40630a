"""`beliefd session`: every verb of the belief protocol, and the questions about a session."""

import sys
from typing import Any

import click

from beliefd.cli.files import read_value
from beliefd.cli.options import CONDITIONS, CONTEXT, KEY, SESSION, json_object, page_options
from beliefd.cli.output import passed
from beliefd.cli.target import Question, Target, asks, target_options
from beliefd.kernel.canonical import MAX_SAFE_INTEGER

OBLIGATION = click.argument("obligation_id", metavar="OBLIGATION")


@click.group()
def session() -> None:
    """Open sessions, eliminate hypotheses, conclude, and ask why."""


@session.command()
@click.argument("hypotheses", nargs=-1)
@click.option("--file", "path", metavar="FILE", help="A DECLARE_SESSION body in JSON or YAML; `-` is stdin.")
@click.option("--space", default="adhoc", show_default=True, help="Id of the hypothesis space.")
@click.option("--space-version", default="1", show_default=True)
@click.option("--graph", default="none", show_default=True, help="Reference of the causal graph.")
@click.option("--graph-version", default="none", show_default=True)
@click.option(
    "--ignore-unknown", is_flag=True, help="Undeclared ids in eliminations are ignored, not refused."
)
@click.option("--metadata", type=json_object, default={}, metavar="JSON", help="Stored with the session.")
@KEY
@asks(create=True)
def declare(
    hypotheses: tuple[str, ...], path: str | None, idempotency_key: str | None, **ontology: Any
) -> Question:
    """Open a session over HYPOTHESES, or over what a file or stdin says."""
    from beliefd.kernel.commands import DeclareSession
    from beliefd.protocol.wire import convert

    if hypotheses and path:
        raise click.UsageError("give HYPOTHESES or `--file`, not both")
    if not hypotheses and path is None and not sys.stdin.isatty():
        path = "-"
    if not hypotheses and path is None:
        raise click.UsageError("name some HYPOTHESES, or a `--file` that does")
    document = list(hypotheses) if path is None else read_value(path)
    command = convert(_body(document, **ontology), DeclareSession)
    options = {"unknown_hypotheses": command.options.unknown_hypotheses}
    return lambda calls: calls.declare_session(
        command.hypotheses,
        command.ontology,
        options=options,
        metadata=command.metadata,
        idempotency_key=idempotency_key,
    )


@session.command()
@SESSION
@click.argument("hypotheses", nargs=-1, required=True)
@click.option("--source", required=True, metavar="ID", help="Who says so, for example `human://alice`.")
@click.option("--observation", required=True, metavar="ID", help="What was observed; yours to name.")
@click.option("--because", metavar="TEXT", help="The reason, in words.")
@click.option(
    "--justification", type=json_object, default={}, metavar="JSON", help="The reason, as an object."
)
@CONDITIONS
@asks()
def eliminate(
    session_id: str,
    hypotheses: tuple[str, ...],
    source: str,
    observation: str,
    because: str | None,
    justification: dict[str, Any],
    **conditions: Any,
) -> Question:
    """Rule out HYPOTHESES that an observation contradicts."""
    reasons = justification if because is None else {**justification, "because": because}
    return lambda calls: calls.eliminate(
        session_id,
        source_id=source,
        observation_id=observation,
        eliminated=hypotheses,
        justification=reasons,
        **conditions,
    )


@session.command()
@SESSION
@click.option(
    "--at", type=click.IntRange(1, MAX_SAFE_INTEGER), metavar="SEQ", help="As it was right after an event."
)
@click.option(
    "--limit", "survivors_limit", type=click.IntRange(0, 100_000), help="List at most so many survivors."
)
@click.option("--after", "survivors_after", metavar="HYPOTHESIS", help="List survivors past this one.")
@asks()
def show(session_id: str, **asked: Any) -> Question:
    """Show survivors, status and obligations."""
    return lambda calls: calls.query_belief(session_id, **asked)


@session.command()
@SESSION
@OBLIGATION
@click.argument("minimum", type=click.IntRange(0, MAX_SAFE_INTEGER))
@CONDITIONS
@asks()
def obligation(session_id: str, obligation_id: str, minimum: int, **conditions: Any) -> Question:
    """Promise MINIMUM eliminations before any conclusion or termination."""
    return lambda calls: calls.enter_obligation(session_id, obligation_id, minimum, **conditions)


@session.command("exit")
@SESSION
@OBLIGATION
@CONTEXT
@CONDITIONS
@asks(exits=lambda answer: passed(answer.approved))
def exit_(session_id: str, obligation_id: str, **given: Any) -> Question:
    """Ask to be released from an obligation."""
    return lambda calls: calls.request_exit(session_id, obligation_id, **given)


@session.command()
@SESSION
@click.argument("conclusion_id", metavar="CONCLUSION")
@CONTEXT
@CONDITIONS
@asks(exits=lambda answer: passed(answer.accepted))
def conclude(session_id: str, conclusion_id: str, **given: Any) -> Question:
    """State what the session has come to."""
    return lambda calls: calls.declare_conclusion(session_id, conclusion_id, **given)


@session.command()
@SESSION
@click.option("--force", is_flag=True, help="Although more or fewer than one survive; needs a role that may.")
@CONTEXT
@CONDITIONS
@asks(exits=lambda answer: passed(answer.approved))
def terminate(session_id: str, force: bool, context: dict[str, Any], **conditions: Any) -> Question:
    """Ask to close the session for good."""
    if force:
        context = {**context, "force": True}
    return lambda calls: calls.request_termination(session_id, context=context, **conditions)


@session.command("list")
@page_options("SESSION", "Go on after this session.")
@asks()
def list_(**asked: Any) -> Question:
    """Page through sessions, oldest first."""
    return lambda calls: calls.list_sessions(**asked)


@session.command()
@SESSION
@click.argument("hypothesis")
@asks()
def why(session_id: str, hypothesis: str) -> Question:
    """Show which observations spoke against HYPOTHESIS."""
    return lambda calls: calls.why(session_id, hypothesis)


@session.command()
@SESSION
@click.option("--without", required=True, multiple=True, metavar="SOURCE", help="Imagine it never spoke.")
@asks()
def counterfactual(session_id: str, without: tuple[str, ...]) -> Question:
    """Show what would survive had some sources never spoken."""
    return lambda calls: calls.counterfactual(session_id, without_source_ids=without)


@session.command()
@SESSION
@target_options
def watch(target: Target, session_id: str) -> None:
    """Follow a session as it happens, until it is terminated or Ctrl-C."""
    from beliefd.cli.feed import watch_session

    watch_session(target, session_id)


def _body(document: Any, **ontology: Any) -> Any:
    """A body as written, or a list of hypotheses with the ontology that the options name."""
    if not isinstance(document, list):
        return document
    return {
        "hypotheses": document,
        "ontology": {
            "hypothesis_space_id": ontology["space"],
            "hypothesis_version": ontology["space_version"],
            "causal_graph_ref": ontology["graph"],
            "causal_graph_version": ontology["graph_version"],
        },
        "options": {"unknown_hypotheses": "ignore" if ontology["ignore_unknown"] else "reject"},
        "metadata": ontology["metadata"],
    }
