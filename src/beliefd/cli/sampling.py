"""`beliefd uncertainty sample`: ask a model several times, and say how sure it may be taken to be."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from beliefd.cli.judging import EXITS, JSON, JUDGE, POLICY_FILE, judge_of, judge_options
from beliefd.cli.output import console, errors_exit, print_json

if TYPE_CHECKING:
    from beliefd.uncertainty.sampling import Budget, Drawn, Manner


@click.command()
@click.argument("question")
@click.option("--model", metavar="WHERE", help="`smollm2`, a GGUF file, or an API's URL; else --llm-url.")
@click.option("-k", type=click.IntRange(2, 200), default=5, show_default=True, help="Answers to draw.")
@click.option("--temperature", type=click.FloatRange(0, 2, min_open=True), default=1.0, show_default=True)
@click.option("--max-tokens", type=click.IntRange(1, 4_096), default=64, show_default=True, help="An answer.")
@click.option(
    "--seed", type=click.IntRange(0, 2**31), default=0, show_default=True, help="Of the first answer."
)
@click.option("--weighted", is_flag=True, help="Weigh answers by the log-probabilities of their tokens.")
@click.option("--seconds", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True)
@click.option(
    "--tokens", type=click.IntRange(1), default=4_000, show_default=True, help="All answers together."
)
@click.option("--policy", "policy_file", type=POLICY_FILE, help="YAML or JSON.")
@JUDGE
@judge_options
@JSON
def sample(
    question: str, model: str | None, k: int, policy_file: Path | None, as_json: bool, **asked: Any
) -> None:
    """Ask a model QUESTION several times and measure how far apart its answers are. Exits 3 to wait."""
    from beliefd.cli import uncertainty_views
    from beliefd.kernel.policy import Policy
    from beliefd.policy.files import load_policy
    from beliefd.uncertainty.sampling import Budget, Manner, measure

    with errors_exit(as_json):
        policy = Policy() if policy_file is None else load_policy(policy_file)
        manner = Manner(
            temperature=asked.pop("temperature"),
            max_tokens=asked.pop("max_tokens"),
            seed=asked.pop("seed"),
            logprobs=asked.pop("weighted"),
        )
        budget = Budget(calls=k, answer_tokens=asked.pop("tokens"), seconds=asked.pop("seconds"))
        where = model or asked["llm_url"]
        opened = _open(where, asked["llm_model"], asked["llm_key"])
        drawn = asyncio.run(_draw(opened, question, k, manner, budget))
        found = measure(drawn, judge_of(**asked), policy.uncertainty)
    if as_json:
        print_json({"drawn": drawn, "measured": found})
    else:
        console().print(uncertainty_views.sampled(drawn, found))
    sys.exit(EXITS[found.uncertainty.gate_recommendation])


def _open(where: str | None, name: str | None, key: str | None) -> Any:
    from beliefd.kernel.errors import invalid
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
