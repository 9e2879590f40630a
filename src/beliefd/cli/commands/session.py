"""`beliefd session`: every verb of the belief protocol, and the questions about a session."""

import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

import click
from click import argument, option

from beliefd.cli.files import read_value
from beliefd.cli.options import AT, CONDITIONS, CONTEXT, KEY, NOTES, SESSION, json_object, page_options
from beliefd.cli.output import passed
from beliefd.cli.target import Question, Target, asks, target_options
from beliefd.kernel.canonical import MAX_SAFE_INTEGER
from beliefd.kernel.errors import BeliefdError, Code

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls

LOOKED_AT: Final = 10_000
"""So many hypotheses that stand are compared with a name that is none."""
OBLIGATION = argument("obligation_id", metavar="OBLIGATION")


def citation(value: Any) -> dict[str, str]:
    """An option that names a recorded thing, as in `call=call-1`; which kinds there are is checked later."""
    kind, equals, name = str(value).partition("=")
    if not (kind and equals and name):
        raise click.BadParameter("write KIND=ID, for example `observation=obs-1`")
    return {kind: name}


session = click.Group("session", help="Open sessions, eliminate hypotheses, conclude, and ask why.")


@asks(
    session,
    argument("hypotheses", nargs=-1),
    option("--file", "path", metavar="FILE", help="A DECLARE_SESSION body in JSON or YAML; `-` is stdin."),
    option("--space", default="adhoc", show_default=True, help="Id of the hypothesis space."),
    option("--space-version", default="1", show_default=True),
    option("--graph", default="none", show_default=True, help="Reference of the causal graph."),
    option("--graph-version", default="none", show_default=True),
    option("--in", "in_space", metavar="SPACE", help="The space that the session begins in."),
    option("--ignore-unknown", is_flag=True, help="Undeclared ids in eliminations are ignored, not refused."),
    option("--metadata", type=json_object, default={}, metavar="JSON", help="Stored with the session."),
    KEY,
    NOTES,
    create=True,
)
def declare(
    hypotheses: tuple[str, ...],
    path: str | None,
    in_space: str | None,
    idempotency_key: str | None,
    notes: str | None,
    **ontology: Any,
) -> Question:
    """Open a session over HYPOTHESES, or over what a file or stdin says."""
    from beliefd.kernel.beliefs.commands import DeclareSession
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
        space=in_space or command.space or None,
        idempotency_key=idempotency_key,
        notes=notes,
    )


@asks(
    session,
    SESSION,
    argument("eliminated", nargs=-1, required=True, metavar="HYPOTHESES..."),
    option(
        "--source", "source_id", required=True, metavar="ID", help="Who says so, for example `human://alice`."
    ),
    option(
        "--observation",
        "observation_id",
        required=True,
        metavar="ID",
        help="What was observed; yours to name.",
    ),
    option("--because", metavar="TEXT", help="The reason, in words."),
    option("--justification", type=json_object, default={}, metavar="JSON", help="The reason, as an object."),
    option(
        "--cites",
        type=citation,
        multiple=True,
        metavar="KIND=ID",
        help="What it rests on: `call=ID`, `observation=ID` or `run=ID` of this session.",
    ),
    CONDITIONS,
)
def eliminate(
    session_id: str,
    because: str | None,
    justification: dict[str, Any],
    cites: tuple[dict[str, str], ...],
    **observed: Any,
) -> Question:
    """Rule out HYPOTHESES that an observation contradicts."""
    reasons = justification if because is None else {**justification, "because": because}

    def eliminated(calls: "Calls") -> Any:
        try:
            return calls.eliminate(session_id, justification=reasons, cites=cites or None, **observed)
        except BeliefdError as error:
            raise _with_meant(calls, session_id, error) from None

    return eliminated


def _with_meant(calls: "Calls", session_id: str, error: BeliefdError) -> BeliefdError:
    """With the hypothesis that was probably meant. It is no word of the ledger, which stays as it is."""
    if error.code is not Code.INVALID_HYPOTHESIS_ID:
        return error
    try:
        known = calls.query_belief(session_id, survivors_limit=LOOKED_AT).survivors
    except BeliefdError:
        return error
    wrong = (error.details or {}).get("hypotheses") or ()
    meant = dict.fromkeys(near for one in wrong for near in get_close_matches(one, known, 1))
    if not meant:
        return error
    names = ", ".join(f"`{one}`" for one in meant)
    return BeliefdError(error.code, f"{error.message}; did you mean {names}?", error.details)


@asks(
    session,
    SESSION,
    AT,
    option(
        "--limit", "survivors_limit", type=click.IntRange(0, 100_000), help="List at most so many survivors."
    ),
    option("--after", "survivors_after", metavar="HYPOTHESIS", help="List survivors past this one."),
    option("--obligations-before", metavar="OBLIGATION", help="List obligations entered before this one."),
    option("--conclusions-after", metavar="CONCLUSION", help="List conclusions past this one, by name."),
)
def show(session_id: str, **asked: Any) -> Question:
    """Show survivors, status and obligations."""
    return lambda calls: calls.query_belief(session_id, **asked)


@asks(session, SESSION, OBLIGATION, argument("minimum", type=click.IntRange(0, MAX_SAFE_INTEGER)), CONDITIONS)
def obligation(session_id: str, obligation_id: str, minimum: int, **conditions: Any) -> Question:
    """Promise MINIMUM eliminations before any conclusion or termination."""
    return lambda calls: calls.enter_obligation(session_id, obligation_id, minimum, **conditions)


@asks(session, SESSION, OBLIGATION, CONTEXT, CONDITIONS, exits=lambda answer: passed(answer.approved))
def exit_(session_id: str, obligation_id: str, **given: Any) -> Question:
    """Ask to be released from an obligation."""
    return lambda calls: calls.request_exit(session_id, obligation_id, **given)


@asks(
    session,
    SESSION,
    argument("conclusion_id", metavar="CONCLUSION"),
    CONTEXT,
    CONDITIONS,
    exits=lambda answer: passed(answer.accepted),
)
def conclude(session_id: str, conclusion_id: str, **given: Any) -> Question:
    """Declare the conclusion of the session."""
    return lambda calls: calls.declare_conclusion(session_id, conclusion_id, **given)


@asks(
    session,
    SESSION,
    option(
        "--force", is_flag=True, help="Even if not exactly one hypothesis survives; needs a role that may."
    ),
    CONTEXT,
    CONDITIONS,
    exits=lambda answer: passed(answer.approved),
)
def terminate(session_id: str, force: bool, context: dict[str, Any], **conditions: Any) -> Question:
    """Ask to close the session; this is final."""
    if force:
        context = {**context, "force": True}
    return lambda calls: calls.request_termination(session_id, context=context, **conditions)


@asks(session, page_options("SESSION", "Continue after this session."))
def list_(**asked: Any) -> Question:
    """Page through sessions, oldest first."""
    return lambda calls: calls.list_sessions(**asked)


@asks(
    session,
    SESSION,
    argument("hypothesis"),
    option("--source", "source_id", metavar="SOURCE", help="Only what it said."),
    option("--principal", metavar="PRINCIPAL", help="Only what whoever has this id said or tried."),
    option("--cursor", metavar="PLACE", help="Go on where the page before ended."),
)
def why(session_id: str, hypothesis: str, **asked: Any) -> Question:
    """Show which observations spoke against HYPOTHESIS, and what else was tried on it."""
    return lambda calls: calls.why(session_id, hypothesis, **asked)


@asks(
    session,
    SESSION,
    option(
        "--without", "without_source_ids", multiple=True, metavar="SOURCE", help="Leave out what it said."
    ),
    option(
        "--without-principal",
        "without_principals",
        multiple=True,
        metavar="PRINCIPAL",
        help="Leave out what whoever has this id said, under any source.",
    ),
    option("--without-attested", is_flag=True, help="Leave out all that nobody else has witnessed."),
    option("--conclusions-after", metavar="EVENT", help="Weigh the conclusions that follow this one."),
)
def counterfactual(session_id: str, conclusions_after: str | None, **without: Any) -> Question:
    """Show what would survive had some sources or principals never spoken."""
    if not any(without.values()):
        raise click.UsageError(
            "say what to leave out: `--without`, `--without-principal`, `--without-attested`"
        )
    return lambda calls: calls.counterfactual(session_id, conclusions_after=conclusions_after, **without)


@session.command()
@SESSION
@target_options
def watch(target: Target, session_id: str) -> None:
    """Follow a session live, until it is terminated or Ctrl-C."""
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


REASON = option("--reason", default="", help="Why; it stands in the record.")


@asks(session, SESSION, REASON, CONDITIONS)
def seal(session_id: str, reason: str, **conditions: Any) -> Question:
    """Let nothing more be written into a session; `beliefd store archive` can then put it away."""
    return lambda calls: calls.seal_session(session_id, reason, **conditions)


@asks(session, SESSION, REASON, CONDITIONS)
def unseal(session_id: str, reason: str, **conditions: Any) -> Question:
    """Let a sealed session go on."""
    return lambda calls: calls.unseal_session(session_id, reason, **conditions)
