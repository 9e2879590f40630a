"""`beliefd experiment`: plan, run, watch and reproduce what puts a claim to the test."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from beliefd.cli.asking import asked as ask_model
from beliefd.cli.asking import model_options
from beliefd.cli.output import Exit, console
from beliefd.cli.reading import read_object
from beliefd.cli.session import SESSION, conditions
from beliefd.cli.target import Target, target_options

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls
    from beliefd.protocol.experiments import ExperimentView

EXPERIMENT = click.argument("experiment_id", metavar="EXPERIMENT")
CLAIM_OPTION = click.option("--claim", "claim_id", metavar="ID", help="Only those of this claim.")
PAGE_OPTIONS = click.option("--cursor", metavar="ID", help="Go on after this one.")
POLL_SECONDS = 0.1


@click.group()
def experiment() -> None:
    """Plan experiments, run them, and make recorded runs again."""


@experiment.command()
@SESSION
@click.argument("path", metavar="FILE")
@model_options(required=False)
@conditions
@target_options
def design(
    target: Target,
    session_id: str,
    path: str,
    model: str | None,
    llm_model: str | None,
    llm_key: str | None,
    **conditions: Any,
) -> None:
    """Freeze the plan in FILE (JSON or YAML; `-` is stdin).

    The file holds a whole `spec`, or a `claim` to design one for and, if there is any, the `speculation`
    or the `hints` that may inform it. With `--model` that model chooses the test, which it can make harder
    than the rule does, never easier.
    """
    from beliefd.cli import firewall_views

    given = read_object(path, "a plan is an object with `spec`, or with `claim`")
    if not given.keys() & {"spec", "claim"}:
        given = {"spec": given}
    given = _known(given)
    if model is not None and "claim" in given:
        given = {"spec": _chosen(given, model, llm_model, llm_key)}
    answer = target.ask(lambda calls: calls.design_experiment(session_id, **given, **conditions))
    target.show(answer, firewall_views.experiment)


@experiment.command()
@SESSION
@EXPERIMENT
@conditions
@target_options
def run(target: Target, session_id: str, experiment_id: str, **conditions: Any) -> None:
    """Carry an experiment out and wait for it. Exits 0 if it completed, 4 if it failed or was cancelled."""

    def start(calls: "Calls") -> "ExperimentView":
        return calls.run_experiment(session_id, experiment_id, wait=target.as_json, **conditions)

    _follow(target, session_id, experiment_id, start)


@experiment.command()
@SESSION
@EXPERIMENT
@target_options
def watch(target: Target, session_id: str, experiment_id: str) -> None:
    """Show how far a run has come, until it ends."""
    _follow(target, session_id, experiment_id, lambda calls: calls.show_experiment(session_id, experiment_id))


@experiment.command()
@SESSION
@EXPERIMENT
@target_options
def cancel(target: Target, session_id: str, experiment_id: str) -> None:
    """Stop a run; it is recorded as cancelled, and no evidence comes of it."""
    from beliefd.cli import firewall_views

    answer = target.ask(lambda calls: calls.cancel_experiment(session_id, experiment_id))
    target.show(answer, firewall_views.experiment)


@experiment.command()
@SESSION
@EXPERIMENT
@target_options
def reproduce(target: Target, session_id: str, experiment_id: str) -> None:
    """Make a recorded run again with its seed. Exits 0 if its hash is the recorded one, else 4."""
    from beliefd.cli import firewall_views

    answer = target.ask(lambda calls: calls.reproduce_experiment(session_id, experiment_id))
    target.show(answer, firewall_views.reproduced)
    sys.exit(Exit.ALLOWED if answer.reproduced else Exit.REFUSED)


@experiment.command("list")
@SESSION
@CLAIM_OPTION
@PAGE_OPTIONS
@target_options
def list_(target: Target, session_id: str, **asked: Any) -> None:
    """The experiments of a session."""
    from beliefd.cli import firewall_views

    answer = target.ask(lambda calls: calls.list_experiments(session_id, **asked))
    target.show(answer, firewall_views.experiments)


@experiment.command()
@SESSION
@EXPERIMENT
@target_options
def show(target: Target, session_id: str, experiment_id: str) -> None:
    """One experiment: its plan, its checks, what it came to."""
    from beliefd.cli import firewall_views

    answer = target.ask(lambda calls: calls.show_experiment(session_id, experiment_id))
    target.show(answer, firewall_views.experiment)


def _chosen(given: dict[str, Any], *model: Any) -> dict[str, Any]:
    """The plan that the verifying agent makes of a claim. Hints end here: the plan has their digest only."""
    import msgspec

    from beliefd.agents.verify import VerifyAgent
    from beliefd.kernel.speculation.hints import extract_hints
    from beliefd.protocol.experiments import DesignRequest
    from beliefd.protocol.wire import convert

    request = convert(given, DesignRequest)
    claim, hints = request.claim, request.hints
    assert claim is not None  # noqa: S101 - asked by who calls this
    if request.speculation is not None:
        hints = extract_hints(claim.claim_id, request.speculation)
    spec = ask_model(lambda opened: VerifyAgent(opened).design(claim, hints), *model)
    plan: dict[str, Any] = msgspec.to_builtins(spec)
    return plan


def _known(given: dict[str, Any]) -> dict[str, Any]:
    from beliefd.kernel.errors import invalid

    known = ("spec", "claim", "speculation", "hints")
    if unknown := sorted(given.keys() - set(known)):
        name = unknown[0][:64]
        raise invalid(f"unknown member `{name}`; known: {', '.join(known)}", f"$.{name}")
    return given


def _follow(target: Target, session_id: str, experiment_id: str, begin: Any) -> None:
    """INVARIANT: the one that is followed is asked for until it has ended, however long that takes."""
    from beliefd.cli import firewall_views

    with target.calls() as calls:
        view: ExperimentView = begin(calls)
        if view.run is not None and view.run.status == "running":
            view = _wait(calls, session_id, experiment_id)
    target.show(view, firewall_views.experiment)
    done = view.run is not None and view.run.status == "completed"
    sys.exit(Exit.ALLOWED if done else Exit.REFUSED)


def _wait(calls: "Calls", session_id: str, experiment_id: str) -> "ExperimentView":
    from rich.progress import Progress

    with Progress(console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("running", total=None)
        while True:
            view = calls.show_experiment(session_id, experiment_id)
            if view.run is None or view.run.status != "running":
                return view
            if view.progress is not None:
                bar.update(task, completed=view.progress.replicates, total=view.progress.planned)
            time.sleep(POLL_SECONDS)
