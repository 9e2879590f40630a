"""Asking the language model that `--model` names, and telling on stderr what that took."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    from beliefd.llm.port import LanguageModel

T = TypeVar("T")


def ask_model(
    question: "Callable[[LanguageModel], Awaitable[T]]",
    model: str,
    llm_model: str | None,
    llm_key: str | None,
) -> T:
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
