"""`beliefd uncertainty`: measure it, and evaluate the methods on labelled answers. Needs no server."""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from beliefd.cli.files import read_object, write_bytes
from beliefd.cli.options import FILE, FILE_PATH, JUDGE_MODELS, JUDGE_NAMES, JUDGES, POLICY
from beliefd.cli.output import DECISION_EXITS, Reply, complain, passed, replies
from beliefd.cli.progress import counted, progress
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import JudgeName

if TYPE_CHECKING:
    from beliefd.protocol.uncertainty import MeasuredUncertainty
    from beliefd.uncertainty.equivalence.port import Judge
    from beliefd.uncertainty.evaluation import Evaluation
    from beliefd.uncertainty.sampling import Budget, Drawn, Manner

OPERATIONS = {
    "semantic_entropy": "measure_semantic_entropy",
    "model_disagreement": "measure_model_disagreement",
    "confidence_score": "measure_confidence",
    "conformal_set": "measure_conformal_set",
}
SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
uncertainty = click.Group(
    "uncertainty", help="Measure uncertainty, and how well it separates wrong answers from right ones."
)


@replies(uncertainty, argument("method", type=click.Choice(list(OPERATIONS))), FILE, POLICY, JUDGES)
def measure(method: str, path: str, policy_file: Path | None, **asked: Any) -> Reply:
    """Measure with METHOD what FILE holds (JSON or YAML; `-` is stdin). Exits 3 if it should wait."""
    body = read_object(path, "the raw material is an object, such as `answers` with a list")
    found = _measured(OPERATIONS[method], body, policy_file, asked)
    return Reply(found, exit=DECISION_EXITS[found.gate_recommendation])


@replies(
    uncertainty,
    argument("path", metavar="FILE", type=FILE_PATH),
    option("--k", type=click.IntRange(2, 1_000), default=10, show_default=True, help="Answers per question."),
    option("--risk", type=SHARE, default=0.1, show_default=True, help="Share of wrong answers accepted."),
    option("--delta", type=SHARE, default=0.1, show_default=True, help="Chance that the promise fails."),
    option("--method", help="Whose threshold is written; the best one's, unless given."),
    option("--write-policy", type=FILE_PATH, help="Put the certified threshold into this policy file."),
    JUDGES,
)
def evaluate(
    path: Path, k: int, risk: float, delta: float, method: str | None, write_policy: Path | None, **asked: Any
) -> Reply:
    """Measure all methods on the labelled answers in FILE. Exits 4 if no threshold could be written."""
    from beliefd.cli.views.uncertainty import evaluation as drawn
    from beliefd.uncertainty import evaluation

    if method is not None and method not in evaluation.METHODS:
        raise invalid(f"`{method}` is not one of {', '.join(evaluation.METHODS)}", "--method")
    items = evaluation.load_items(path, k)
    with progress("measuring", len(items)) as report:
        rows = list(counted(evaluation.measure(items, _judge(**asked)), report))
    found = evaluation.evaluate(path.name, rows, risk, delta, max(len(item.answers) for item in items))
    written = write_policy is None or _write(found, method or found.best, write_policy)
    if not written:
        complain("no threshold certifies this; the policy file is unchanged")
    return Reply(found, drawn(found), passed(written))


@replies(uncertainty, JUDGES)
def examples(**asked: Any) -> Reply:
    """Twelve small sets of answers, and what each method makes of them."""
    from beliefd.cli.views.uncertainty import examples as drawn
    from beliefd.uncertainty.examples import table

    found = table(_judge(**asked))
    return Reply(found, drawn(found))


@replies(
    uncertainty,
    option("--test", is_flag=True, help="Measure the test half: for a report, not for tuning."),
    option("--judge", type=click.Choice(JUDGE_NAMES), help="Only this one; else lexical and embedding."),
    JUDGE_MODELS,
)
def judges(test: bool, judge: JudgeName | None, **settings: Any) -> Reply:
    """Which differences judges merge and which paraphrases they split, on labelled pairs of answers."""
    from beliefd.cli.views.uncertainty import judges as drawn
    from beliefd.uncertainty.equivalence.judges import Judges, JudgeSettings
    from beliefd.uncertainty.evaluation_judges import measure_judges

    made = Judges(JudgeSettings(**settings))
    asked: tuple[JudgeName, ...] = ("lexical", "embedding") if judge is None else (judge,)
    found = measure_judges([made.named(name) for name in asked], "test" if test else "development")
    made.close()
    return Reply(found, drawn(found))


@replies(
    uncertainty,
    argument("question"),
    option("--model", metavar="WHERE", help="`smollm2`, a GGUF file, or an API's URL; else --llm-url."),
    option("-k", type=click.IntRange(2, 200), default=5, show_default=True, help="Answers to draw."),
    option("--temperature", type=click.FloatRange(0, 2, min_open=True), default=1.0, show_default=True),
    option("--max-tokens", type=click.IntRange(1, 4_096), default=64, show_default=True, help="Per answer."),
    option(
        "--seed", type=click.IntRange(0, 2**31), default=0, show_default=True, help="For the first answer."
    ),
    option("--weighted", is_flag=True, help="Weigh answers by the log-probabilities of their tokens."),
    option("--seconds", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True),
    option(
        "--tokens", type=click.IntRange(1), default=4_000, show_default=True, help="For all answers together."
    ),
    POLICY,
    JUDGES,
)
def sample(question: str, model: str | None, k: int, policy_file: Path | None, **asked: Any) -> Reply:
    """Ask a model QUESTION several times and measure how much its answers differ. Exits 3 to wait."""
    from beliefd.cli.views.uncertainty import sampled
    from beliefd.kernel.policy import Policy
    from beliefd.policy.files import load_policy
    from beliefd.uncertainty.sampling import Budget, Manner, measure

    policy = Policy() if policy_file is None else load_policy(policy_file)
    manner = Manner(
        temperatures=(asked.pop("temperature"),),
        max_tokens=asked.pop("max_tokens"),
        seed=asked.pop("seed"),
        logprobs=asked.pop("weighted"),
    )
    budget = Budget(calls=k, answer_tokens=asked.pop("tokens"), seconds=asked.pop("seconds"))
    opened = _open(model or asked["llm_url"], asked["llm_model"], asked["llm_key"])
    drawn = asyncio.run(_draw(opened, question, k, manner, budget))
    found = measure(drawn, _judge(**asked), policy.uncertainty)
    decision = DECISION_EXITS[found.uncertainty.gate_recommendation]
    return Reply({"drawn": drawn, "measured": found}, sampled(drawn, found), decision)


def _judge(**settings: Any) -> "Judge":
    from beliefd.uncertainty.equivalence.judges import Judges, JudgeSettings

    asked = JudgeSettings(**settings)
    return Judges(asked).named(asked.judge)


def _open(where: str | None, name: str | None, key: str | None) -> Any:
    from beliefd.llm.opening import open_model

    if where is None:
        raise invalid("there is no model to ask; give --model or BELIEFD_LLM_URL", "--model")
    return open_model(where, name, key)


async def _draw(model: Any, question: str, k: int, manner: "Manner", budget: "Budget") -> "Drawn":
    from beliefd.uncertainty.sampling import draw

    try:
        return await draw(model, question, k, manner, budget)
    finally:
        await model.close()


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
    write_bytes(beside, data)
    if path.exists():  # who could read the policy still can: a server may run as somebody else
        shutil.copymode(path, beside)
    beside.replace(path)
    return True
