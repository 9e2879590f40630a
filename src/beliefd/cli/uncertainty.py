"""`beliefd uncertainty`: measure it, and evaluate the methods on labelled answers. Needs no server."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from beliefd.cli.judging import EXITS, JSON, JUDGE, POLICY_FILE, judge_of, judge_options
from beliefd.cli.output import Exit, complain, console, errors_exit, print_json
from beliefd.cli.sampling import sample

if TYPE_CHECKING:
    from beliefd.protocol.uncertainty import MeasuredUncertainty
    from beliefd.uncertainty.evaluation import Evaluation

T = TypeVar("T")
OPERATIONS = {
    "semantic_entropy": "measure_semantic_entropy",
    "model_disagreement": "measure_model_disagreement",
    "confidence_score": "measure_confidence",
    "conformal_set": "measure_conformal_set",
}
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)


@click.group()
def uncertainty() -> None:
    """Measure how sure one may be, and how well that tells wrong from right."""


uncertainty.add_command(sample)


@uncertainty.command()
@click.argument("method", type=click.Choice(list(OPERATIONS)))
@click.argument("path", metavar="FILE")
@click.option("--policy", "policy_file", type=POLICY_FILE, help="YAML or JSON.")
@JUDGE
@judge_options
@JSON
def measure(method: str, path: str, policy_file: Path | None, as_json: bool, **asked: Any) -> None:
    """Measure with METHOD what FILE holds (JSON or YAML; `-` is stdin). Exits 3 if it should wait."""
    from beliefd.cli import uncertainty_views

    with errors_exit(as_json):
        body = _read(path)
        if (judge := asked.pop("judge")) is not None:
            body["judge"] = judge
        found = _measured(OPERATIONS[method], body, policy_file, asked)
    if as_json:
        print_json(found)
    else:
        console().print(uncertainty_views.measured(found))
    sys.exit(EXITS[found.gate_recommendation])


@uncertainty.command()
@click.argument("path", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--k", type=click.IntRange(2, 1_000), default=10, show_default=True, help="Answers a question.")
@click.option("--risk", type=SHARE, default=0.1, show_default=True, help="Share of wrong answers accepted.")
@click.option("--delta", type=SHARE, default=0.1, show_default=True, help="Chance that the promise fails.")
@click.option("--method", help="Whose threshold is written; the best one's, unless given.")
@click.option("--write-policy", type=POLICY_FILE, help="Put the certified threshold into this policy file.")
@JUDGE
@judge_options
@JSON
def evaluate(
    path: Path,
    k: int,
    risk: float,
    delta: float,
    method: str | None,
    write_policy: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Measure all methods on the labelled answers in FILE. Exits 4 if no threshold could be written."""
    from beliefd.cli import uncertainty_views
    from beliefd.kernel.errors import invalid
    from beliefd.uncertainty import evaluation

    with errors_exit(as_json):
        if method is not None and method not in evaluation.METHODS:
            raise invalid(f"`{method}` is not one of {', '.join(evaluation.METHODS)}", "--method")
        items = evaluation.load_items(path, k)
        rows = list(_progress(evaluation.measure(items, judge_of(**asked)), len(items)))
        found = evaluation.evaluate(path.name, rows, risk, delta, max(len(item.answers) for item in items))
        written = _write(found, method or found.best, write_policy) if write_policy is not None else True
    if as_json:
        print_json(found)
    else:
        console().print(uncertainty_views.evaluation(found))
    if not written:
        complain("no threshold certifies this; the policy file is unchanged")
        sys.exit(Exit.REFUSED)


@uncertainty.command()
@JUDGE
@judge_options
@JSON
def examples(as_json: bool, **asked: Any) -> None:
    """Twelve small sets of answers, and what each method makes of them."""
    from beliefd.cli import uncertainty_views
    from beliefd.uncertainty.examples import table

    with errors_exit(as_json):
        found = table(judge_of(**asked))
    if as_json:
        print_json(found)
    else:
        console().print(uncertainty_views.examples(found))


def _measured(
    operation: str, body: Any, policy_file: Path | None, settings: Mapping[str, Any]
) -> "MeasuredUncertainty":
    import beliefd
    from beliefd.client.requests import Request
    from beliefd.policy.files import load_policy
    from beliefd.protocol.operations import BY_NAME
    from beliefd.uncertainty.equivalence.judges import JudgeSettings

    policy = None if policy_file is None else load_policy(policy_file)
    with beliefd.open(":memory:", policy=policy, judges=JudgeSettings(**settings)) as embedded:
        found: MeasuredUncertainty = embedded._send(Request(BY_NAME[operation], body=body))
        return found


def _progress(rows: Iterator[T], total: int) -> Sequence[T]:
    """A bar on stderr while it takes; nothing where nobody watches."""
    from rich.progress import track

    watched = console(stderr=True)
    return list(
        track(
            rows,
            "measuring",
            total=total,
            console=watched,
            transient=True,
            disable=not watched.is_terminal,
        )
    )


def _write(found: "Evaluation", method: str, path: Path) -> bool:
    """INVARIANT: only a certified threshold gets into a policy, and the rest stays."""
    import yaml

    from beliefd.documents import read_document
    from beliefd.policy.files import parse_policy

    limit = next(one.threshold.value for one in found.scores if one.method == method)
    if limit is None:
        return False
    document = read_document(path) if path.exists() else {}
    section = {**(document.get("uncertainty") or {}), "defer_above": limit}
    section["explain_above"] = min(limit, section.get("explain_above", 0.5))
    data = yaml.safe_dump({**document, "uncertainty": section}, sort_keys=False).encode()
    parse_policy(data, str(path))
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(data)
    beside.replace(path)
    return True


def _read(path: str) -> Any:
    from beliefd.documents import parse_document, read_document
    from beliefd.kernel.errors import invalid

    document = parse_document(sys.stdin.buffer.read(), "stdin") if path == "-" else read_document(Path(path))
    if not isinstance(document, dict):
        raise invalid("the raw material is an object, such as `answers` with a list", "$")
    return document
