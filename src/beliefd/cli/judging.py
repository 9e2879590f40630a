"""What commands that measure have in common: which judge to ask, where its model is, how to exit."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from beliefd.cli.output import Exit

if TYPE_CHECKING:
    from beliefd.uncertainty.equivalence.judges import JudgeName
    from beliefd.uncertainty.equivalence.port import Judge

F = TypeVar("F", bound=Callable[..., Any])
DIRECTORY = click.Path(file_okay=False, path_type=Path)
POLICY_FILE = click.Path(dir_okay=False, path_type=Path)
NAMES = ("lexical", "embedding", "nli", "llm")
JUDGE = click.option("--judge", type=click.Choice(NAMES), help="Who says which answers mean the same.")
JSON = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
EXITS = {
    "EXECUTE": Exit.ALLOWED,
    "EXPLAIN": Exit.ALLOWED,
    "DEFER": Exit.DEFERRED,
    "REFUSE": Exit.REFUSED,
}


def judge_of(judge: "JudgeName | None", **settings: Any) -> "Judge":
    from beliefd.uncertainty.equivalence.judges import Judges, JudgeSettings

    return Judges(JudgeSettings(**settings)).named(judge or "lexical")


LLM_MODEL = click.option(
    "--llm-model",
    metavar="NAME",
    envvar="BELIEFD_LLM_MODEL",
    show_envvar=True,
    help="The model to ask there.",
)
LLM_KEY = click.option(
    "--llm-key",
    metavar="KEY",
    envvar="BELIEFD_LLM_KEY",
    show_envvar=True,
    help="Its API key; better in the environment than on the command line.",
)


def judge_options(command: F) -> F:
    """Where the models of judges are; the names are those of JudgeSettings."""
    for option in reversed(
        (
            click.option(
                "--embedding-model",
                type=DIRECTORY,
                envvar="BELIEFD_EMBEDDING_MODEL",
                show_envvar=True,
                help="Directory of an embedding model in ONNX; the extra `embed` brings one.",
            ),
            click.option(
                "--nli-model",
                type=DIRECTORY,
                envvar="BELIEFD_NLI_MODEL",
                show_envvar=True,
                help="Directory of an NLI cross-encoder, for the judge `nli`.",
            ),
            click.option(
                "--llm-url",
                metavar="URL",
                envvar="BELIEFD_LLM_URL",
                show_envvar=True,
                help="OpenAI-compatible API, for the judge `llm`; or `smollm2`, or a GGUF file.",
            ),
            LLM_MODEL,
            LLM_KEY,
        )
    ):
        command = option(command)
    return command
