"""Language models that commands ask: which one, what for, and what it cost."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from beliefd.cli.judging import LLM_KEY, LLM_MODEL

if TYPE_CHECKING:
    from beliefd.llm.port import LanguageModel

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def model_options(required: bool) -> Callable[[F], F]:
    """`--model`, `--llm-model` and the key that goes with them."""

    def decorated(command: F) -> F:
        where = click.option(
            "--model", required=required, metavar="WHERE", help="`smollm2`, a .gguf file, or an API's URL."
        )
        return where(LLM_MODEL(LLM_KEY(command)))

    return decorated


def asked(
    question: "Callable[[LanguageModel], Awaitable[T]]",
    model: str,
    llm_model: str | None,
    llm_key: str | None,
) -> T:
    """What came of asking; how much that took is told on stderr."""
    from beliefd.kernel.errors import invalid
    from beliefd.llm.opening import open_model
    from beliefd.llm.port import ModelFailed

    async def ask() -> T:
        opened = open_model(model, llm_model, llm_key)
        try:
            return await question(opened)
        finally:
            await opened.close()
            if (spent := getattr(opened, "spent", None)) is not None:
                tokens = f"{spent.prompt_tokens} tokens asked, {spent.completion_tokens} answered"
                click.echo(f"{opened.name}: {tokens}, {spent.seconds:.1f} s", err=True)

    try:
        return asyncio.run(ask())
    except (ModelFailed, TimeoutError) as error:
        raise invalid(f"the model gave no ideas: {error or 'its time was up'}", "--model") from None
