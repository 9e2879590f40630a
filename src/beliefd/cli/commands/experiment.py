"""`beliefd experiment`: plan, run, watch and reproduce what puts a claim to the test."""

import sys
import time
from typing import TYPE_CHECKING, Any, get_args

import click
from click import argument, option

from beliefd.cli import output
from beliefd.cli.files import read_object
from beliefd.cli.language_model import ask_model
from beliefd.cli.options import CONDITIONS, FILE, OF_SESSION, SESSION, model_options, together
from beliefd.cli.output import Reply, passed, replies
from beliefd.cli.progress import progress
from beliefd.cli.target import Question, Target, asks, target_options
from beliefd.kernel.errors import invalid
from beliefd.kernel.experiments.plan import TemplateName

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls
    from beliefd.protocol.experiments import ExperimentView

EXPERIMENT = together(SESSION, argument("experiment_id", metavar="EXPERIMENT"))
PLAN_MEMBERS = ("spec", "claim", "speculation", "hints")
POLL_SECONDS = 0.1
TEMPLATES = get_args(TemplateName)
SIZE = click.IntRange(2, 5_000)
COUNT = click.IntRange(10, 1_000_000)
LEVEL = click.FloatRange(0, 0.5, min_open=True)
experiment = click.Group("experiment", help="Plan experiments, run them, and repeat recorded runs.")


@asks(experiment, SESSION, FILE, model_options(required=False), CONDITIONS)
def design(
    session_id: str,
    path: str,
    if_match: str | None,
    idempotency_key: str | None,
    notes: str | None,
    **model: Any,
) -> Question:
    """Freeze the plan in FILE (JSON or YAML; `-` is stdin).

    The file holds a whole `spec`, or a `claim` to design one for and, if there is any, the `speculation`
    or the `hints` that may inform it. With `--model` that model chooses the test, which it can make harder
    than the rule does, never easier.
    """
    given = _plan(path)
    if model["model"] is not None and "claim" in given:
        given = {"spec": _chosen(given, **model)}
    return lambda calls: calls.design_experiment(
        session_id, **given, if_match=if_match, idempotency_key=idempotency_key, notes=notes
    )


@experiment.command()
@EXPERIMENT
@CONDITIONS
@target_options
def run(target: Target, session_id: str, experiment_id: str, **conditions: Any) -> None:
    """Carry an experiment out and wait for it. Exits 0 if it completed, 4 if it failed or was cancelled."""

    def start(calls: "Calls") -> "ExperimentView":
        return calls.run_experiment(session_id, experiment_id, wait=target.as_json, **conditions)

    _follow(target, session_id, experiment_id, start)


@experiment.command()
@EXPERIMENT
@target_options
def watch(target: Target, session_id: str, experiment_id: str) -> None:
    """Show how far a run has come, until it ends."""
    _follow(target, session_id, experiment_id, lambda calls: calls.show_experiment(session_id, experiment_id))


@asks(experiment, EXPERIMENT)
def cancel(session_id: str, experiment_id: str) -> Question:
    """Stop a run; it is recorded as cancelled, and yields no evidence."""
    return lambda calls: calls.cancel_experiment(session_id, experiment_id)


@asks(experiment, EXPERIMENT, exits=lambda answer: passed(answer.reproduced))
def reproduce(session_id: str, experiment_id: str) -> Question:
    """Repeat a recorded run with its seed. Exits 0 if its hash is the recorded one, else 4."""
    return lambda calls: calls.reproduce_experiment(session_id, experiment_id)


@asks(experiment, OF_SESSION)
def list_(session_id: str, **asked: Any) -> Question:
    """The experiments of a session."""
    return lambda calls: calls.list_experiments(session_id, **asked)


@asks(experiment, EXPERIMENT)
def show(session_id: str, experiment_id: str) -> Question:
    """One experiment: its plan, its checks, what it came to."""
    return lambda calls: calls.show_experiment(session_id, experiment_id)


@replies(
    experiment,
    option("--template", multiple=True, type=click.Choice(TEMPLATES), help="Only these; all, unless given."),
    option(
        "--n", "sizes", multiple=True, type=SIZE, help="How many observations; several sizes, unless given."
    ),
    option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all random numbers."),
    option(
        "--experiments", type=COUNT, default=1_000, show_default=True, help="Per template, family and size."
    ),
    option("--alpha", type=LEVEL, default=0.025, show_default=True, help="The error that templates promise."),
    option("--beyond", is_flag=True, help="Families that are known not to be held, instead."),
)
def panel(template: tuple[str, ...], sizes: tuple[int, ...], **asked: Any) -> Reply:
    """Simulate experiments whose answer is known, and count false claims that are supported, and true ones.

    Needs no server. Observations come from many families: normal, skewed, heavy-tailed, contaminated,
    discrete, dependent. Exits 4 if false claims are supported more often than alpha, by more than chance.
    """
    from beliefd.experiments.panel.claims import CLAIMS
    from beliefd.experiments.panel.run import panel as simulated

    if idle := [name for name in template if name not in CLAIMS]:
        raise invalid(f"`{idle[0]}` has no part in chance; choose of {', '.join(CLAIMS)}", "--template")
    with progress("simulating", None) as report:
        found = simulated(
            [name for name in CLAIMS if name in template],
            sizes,
            progress=report,
            **asked,
        )
    return Reply(found, exit=passed(found.holds))


def _plan(path: str) -> dict[str, Any]:
    given = read_object(path, "a plan is an object with `spec`, or with `claim`")
    if not given.keys() & {"spec", "claim"}:
        given = {"spec": given}
    if unknown := sorted(given.keys() - set(PLAN_MEMBERS)):
        name = unknown[0][:64]
        raise invalid(f"unknown member `{name}`; known: {', '.join(PLAN_MEMBERS)}", f"$.{name}")
    return given


def _chosen(given: dict[str, Any], **model: Any) -> dict[str, Any]:
    """The plan that the verifying agent makes of a claim. Hints end here: the plan has their digest only."""
    import msgspec

    from beliefd.agents.verify import VerifyAgent
    from beliefd.kernel.experiments.testable import testable
    from beliefd.kernel.speculation.hints import extract_hints
    from beliefd.protocol.experiments import DesignRequest
    from beliefd.protocol.wire import convert

    request = convert(given, DesignRequest)
    asked, hints = request.claim, request.hints
    assert asked is not None  # noqa: S101 - asked by who calls this
    if asked.observed:
        raise invalid("a model designs on typed values only; leave `--model` out", "$.claim.observed")
    claim = testable(asked, None, asked.observed_values)
    if request.speculation is not None:
        hints = extract_hints(claim.claim_id, request.speculation)
    spec = ask_model(lambda opened: VerifyAgent(opened).design(claim, hints), **model)
    plan: dict[str, Any] = msgspec.to_builtins(spec)
    return plan


def _follow(target: Target, session_id: str, experiment_id: str, begin: Question) -> None:
    """INVARIANT: the one that is followed is asked for until it has ended, however long that takes."""
    with target.calls() as calls:
        view: ExperimentView = begin(calls)
        if view.run is not None and view.run.status == "running":
            view = _wait(calls, session_id, experiment_id)
    output.show(view, target.as_json)
    sys.exit(passed(view.run is not None and view.run.status == "completed"))


def _wait(calls: "Calls", session_id: str, experiment_id: str) -> "ExperimentView":
    with progress("running", None) as report:
        while True:
            view = calls.show_experiment(session_id, experiment_id)
            if view.run is None or view.run.status != "running":
                return view
            if view.progress is not None:
                report(view.progress.replicates, view.progress.planned)
            time.sleep(POLL_SECONDS)
