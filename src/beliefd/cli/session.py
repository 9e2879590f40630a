"""`beliefd session`: every verb of the belief protocol, and the questions about a session."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from beliefd.cli.target import Target, ruled, target_options
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.errors import BeliefdError


def json_object(value: Any) -> dict[str, Any]:
    """An option that holds a JSON object, read as strictly as a request's body."""
    from beliefd.protocol.wire import parse_object

    if isinstance(value, dict):
        return value
    try:
        return parse_object(str(value).encode("utf-8", "surrogateescape"))
    except BeliefdError as error:
        raise click.BadParameter(error.message) from None


SESSION = click.argument("session_id", metavar="SESSION")
CONTEXT = click.option(
    "--context", type=json_object, default={}, metavar="JSON", help="Stored with the request."
)
F = TypeVar("F", bound=Callable[..., Any])


def conditions(command: F) -> F:
    """`--if-match` and `--key`, under the names that the client's methods give them."""
    if_match = click.option("--if-match", metavar="EVENT", help="Only if this is still the newest event.")
    key = click.option(
        "--key", "idempotency_key", metavar="TEXT", help="Sending the same key again changes nothing."
    )
    return if_match(key(command))


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
@click.option("--key", metavar="TEXT", help="Sending the same key again changes nothing.")
@target_options
def declare(
    target: Target, hypotheses: tuple[str, ...], path: str | None, key: str | None, **ontology: Any
) -> None:
    """Open a session over HYPOTHESES, or over what a file or stdin says."""
    from beliefd.cli import views

    if hypotheses and path:
        raise click.UsageError("give HYPOTHESES or `--file`, not both")
    if not hypotheses and path is None and not sys.stdin.isatty():
        path = "-"
    if not hypotheses and path is None:
        raise click.UsageError("name some HYPOTHESES, or a `--file` that does")
    command = _declaration(list(hypotheses) if path is None else _read(path), **ontology)
    options = {"unknown_hypotheses": command.options.unknown_hypotheses}
    answer = target.ask(
        lambda calls: calls.declare_session(
            command.hypotheses,
            command.ontology,
            options=options,
            metadata=command.metadata,
            idempotency_key=key,
        ),
        create=True,
    )
    target.show(answer, views.declared)


@session.command()
@SESSION
@click.argument("hypotheses", nargs=-1, required=True)
@click.option("--source", required=True, metavar="ID", help="Who says so, for example `human://alice`.")
@click.option("--observation", required=True, metavar="ID", help="What was observed; yours to name.")
@click.option("--because", metavar="TEXT", help="The reason, in words.")
@click.option(
    "--justification", type=json_object, default={}, metavar="JSON", help="The reason, as an object."
)
@conditions
@target_options
def eliminate(
    target: Target,
    session_id: str,
    hypotheses: tuple[str, ...],
    source: str,
    observation: str,
    because: str | None,
    justification: dict[str, Any],
    **conditions: Any,
) -> None:
    """Rule out HYPOTHESES that an observation contradicts."""
    from beliefd.cli import views

    reasons = justification if because is None else {**justification, "because": because}
    answer = target.ask(
        lambda calls: calls.eliminate(
            session_id,
            source_id=source,
            observation_id=observation,
            eliminated=hypotheses,
            justification=reasons,
            **conditions,
        )
    )
    target.show(answer, views.eliminated)


@session.command()
@SESSION
@click.option(
    "--at", type=click.IntRange(1, MAX_SAFE_INTEGER), metavar="SEQ", help="As it was right after an event."
)
@click.option("--limit", type=click.IntRange(0, 100_000), help="List at most so many survivors.")
@click.option("--after", metavar="HYPOTHESIS", help="List survivors past this one.")
@target_options
def show(target: Target, session_id: str, at: int | None, limit: int | None, after: str | None) -> None:
    """Show survivors, status and obligations."""
    from beliefd.cli import views

    answer = target.ask(
        lambda calls: calls.query_belief(session_id, at=at, survivors_limit=limit, survivors_after=after)
    )
    target.show(answer, views.snapshot)


@session.command()
@SESSION
@click.argument("obligation_id", metavar="OBLIGATION")
@click.argument("minimum", type=click.IntRange(0, MAX_SAFE_INTEGER))
@conditions
@target_options
def obligation(target: Target, session_id: str, obligation_id: str, minimum: int, **conditions: Any) -> None:
    """Promise MINIMUM eliminations before any conclusion or termination."""
    from beliefd.cli import views

    answer = target.ask(
        lambda calls: calls.enter_obligation(session_id, obligation_id, minimum, **conditions)
    )
    target.show(answer, views.recorded)


@session.command("exit")
@SESSION
@click.argument("obligation_id", metavar="OBLIGATION")
@CONTEXT
@conditions
@target_options
def exit_(
    target: Target,
    session_id: str,
    obligation_id: str,
    context: dict[str, Any],
    **conditions: Any,
) -> None:
    """Ask to be released from an obligation."""
    from beliefd.cli import views

    answer = target.ask(
        lambda calls: calls.request_exit(session_id, obligation_id, context=context, **conditions)
    )
    target.show(answer, views.ruling)
    ruled(answer.approved)


@session.command()
@SESSION
@click.argument("conclusion_id", metavar="CONCLUSION")
@CONTEXT
@conditions
@target_options
def conclude(
    target: Target,
    session_id: str,
    conclusion_id: str,
    context: dict[str, Any],
    **conditions: Any,
) -> None:
    """State what the session has come to."""
    from beliefd.cli import views

    answer = target.ask(
        lambda calls: calls.declare_conclusion(session_id, conclusion_id, context=context, **conditions)
    )
    target.show(answer, views.ruling)
    ruled(answer.accepted)


@session.command()
@SESSION
@click.option("--force", is_flag=True, help="Although more or fewer than one survive; needs a role that may.")
@CONTEXT
@conditions
@target_options
def terminate(
    target: Target,
    session_id: str,
    force: bool,
    context: dict[str, Any],
    **conditions: Any,
) -> None:
    """Ask to close the session for good."""
    from beliefd.cli import views

    if force:
        context = {**context, "force": True}
    answer = target.ask(lambda calls: calls.request_termination(session_id, context=context, **conditions))
    target.show(answer, views.ruling)
    ruled(answer.approved)


@session.command("list")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True)
@click.option("--cursor", metavar="SESSION", help="Go on after this session.")
@target_options
def list_(target: Target, limit: int, cursor: str | None) -> None:
    """Page through sessions, oldest first."""
    from beliefd.cli import views

    answer = target.ask(lambda calls: calls.list_sessions(cursor=cursor, limit=limit))
    target.show(answer, views.sessions)


@session.command()
@SESSION
@click.argument("hypothesis")
@target_options
def why(target: Target, session_id: str, hypothesis: str) -> None:
    """Show which observations spoke against HYPOTHESIS."""
    from beliefd.cli import views

    target.show(target.ask(lambda calls: calls.why(session_id, hypothesis)), views.why)


@session.command()
@SESSION
@click.option("--without", required=True, multiple=True, metavar="SOURCE", help="Imagine it never spoke.")
@target_options
def counterfactual(target: Target, session_id: str, without: tuple[str, ...]) -> None:
    """Show what would survive had some sources never spoken."""
    from beliefd.cli import views

    answer = target.ask(lambda calls: calls.counterfactual(session_id, without_source_ids=without))
    target.show(answer, views.counterfactual)


@session.command()
@SESSION
@target_options
def watch(target: Target, session_id: str) -> None:
    """Follow a session as it happens, until it is terminated or Ctrl-C."""
    from beliefd.cli.feed import watch_session

    watch_session(target, session_id)


def _read(path: str) -> Any:
    from beliefd.documents import parse_document, read_document

    if path == "-":
        return parse_document(sys.stdin.buffer.read(), "stdin")
    return read_document(Path(path))


def _declaration(document: Any, **ontology: Any) -> DeclareSession:
    """A body as written, or a list of hypotheses with the ontology that the options name."""
    from beliefd.protocol.wire import convert

    if isinstance(document, list):
        document = {
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
    return convert(document, DeclareSession)
