"""Language models by where they are: `smollm2`, a GGUF file, or the address of an OpenAI-compatible API."""

from pathlib import Path
from typing import Final

from beliefd.kernel.errors import invalid
from beliefd.llm.port import LanguageModel, ModelFailed

SMOLLM2: Final = "smollm2"


def open_model(where: str, name: str | None = None, key: str | None = None) -> LanguageModel:
    """The model, or an error that says what it lacks."""
    try:
        if where == SMOLLM2:
            from beliefd.llm.llama import smollm2

            return smollm2()
        if where.endswith(".gguf"):
            from beliefd.llm.llama import LlamaModel

            return LlamaModel(Path(where))
    except ModelFailed as failure:
        raise invalid(str(failure)) from None
    if not where.startswith(("http://", "https://")):
        raise invalid(f"`{where}` is neither `{SMOLLM2}`, nor a .gguf file, nor the address of an API")
    if name is None:
        raise invalid("`llm_model` is not set; give --llm-model or BELIEFD_LLM_MODEL")
    from beliefd.llm.openai_http import OpenAIModel

    try:
        return OpenAIModel(where, name, api_key=key)
    except ValueError as error:
        raise invalid(str(error)) from None
