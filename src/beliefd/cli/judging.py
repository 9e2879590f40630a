"""Options of commands that ask a judge of answers: which one, and where its model is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
DIRECTORY = click.Path(file_okay=False, path_type=Path)
NAMES = ("lexical", "embedding", "nli", "llm")


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
                help="OpenAI-compatible API, for the judge `llm`.",
            ),
            click.option(
                "--llm-model",
                metavar="NAME",
                envvar="BELIEFD_LLM_MODEL",
                show_envvar=True,
                help="The model to ask there.",
            ),
            click.option(
                "--llm-key",
                metavar="KEY",
                envvar="BELIEFD_LLM_KEY",
                show_envvar=True,
                help="Its API key; better in the environment than on the command line.",
            ),
        )
    ):
        command = option(command)
    return command
