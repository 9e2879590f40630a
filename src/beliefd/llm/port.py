"""The port behind which a language model stands."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from msgspec import Struct


class Message(Struct, frozen=True):
    role: Literal["system", "user", "assistant"]
    content: str


class Ask(Struct, frozen=True, kw_only=True):
    """One question to a model. `schema` is a JSON Schema that the answer must meet, if there is one."""

    messages: Sequence[Message]
    temperature: float = 1.0
    max_tokens: int = 256
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    logprobs: bool = False

    def body(self, **of_schema: Any) -> dict[str, Any]:
        """As the body of a chat completion, in the words of OpenAI's API."""
        found: dict[str, Any] = {
            "messages": self.messages,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        if self.seed is not None:
            found["seed"] = self.seed
        if self.logprobs:
            found["logprobs"] = True
        if self.schema is not None:
            answer = {"name": "answer", **of_schema, "schema": self.schema}
            found["response_format"] = {"type": "json_schema", "json_schema": answer}
        return found


class Usage(Struct, frozen=True, kw_only=True):
    """What a question cost."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    attempts: int = 1


class Reply(Struct, frozen=True, kw_only=True):
    """What a model said. `logprobs` are those of the tokens it chose, in order, if they were asked for."""

    text: str
    model: str
    usage: Usage = Usage()
    logprobs: tuple[float, ...] | None = None


class ModelFailed(Exception):
    """The model gave no usable answer; the message says why and holds nothing that the model said."""


class LanguageModel(Protocol):
    @property
    def name(self) -> str: ...

    async def ask(self, question: Ask) -> Reply:
        """The model's answer; raises ModelFailed, or TimeoutError when its time is up."""
        ...

    async def close(self) -> None: ...
