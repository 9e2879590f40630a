"""Judges by name. Each is made when it is first asked for, from what the operator has set."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.uncertainty.equivalence.lexical import LexicalJudge
from beliefd.uncertainty.equivalence.port import Judge

JudgeName = Literal["lexical", "embedding", "nli", "llm"]
NAMES: Final[tuple[JudgeName, ...]] = ("lexical", "embedding", "nli", "llm")
RECHECKED: Final[dict[str, int]] = {"nli": 1, "llm": 2}
"""So many pairs a model that may waver is asked about twice."""


MOST_ANSWERS: Final[dict[str, int]] = {"nli": 100, "llm": 20}
"""So many answers a judge that costs time or money compares: questions grow with the square of them."""


class JudgeSettings(Struct, frozen=True, kw_only=True):
    """Where the models of judges are. The lexical judge has none, the embedding judge brings its own.

    `llm_url` is the address of an OpenAI-compatible API; `smollm2` and a GGUF file run in this process.
    """

    embedding_model: Path | None = None
    nli_model: Path | None = None
    llm_url: str | None = None
    llm_model: str | None = None
    llm_key: str | None = None


class Judges:
    """A judge is made once and then shared by all threads; what it lacks is told to each who asks."""

    def __init__(self, settings: JudgeSettings | None = None) -> None:
        self.settings = settings or JudgeSettings()
        self._made: dict[str, Judge] = {"lexical": LexicalJudge()}
        self._making = threading.Lock()
        self._makers: dict[str, Callable[[], Judge]] = {
            "embedding": self._embedding,
            "nli": self._nli,
            "llm": self._llm,
        }

    def named(self, name: JudgeName) -> Judge:
        """The judge, or an error at `$.judge` that says which setting or extra it lacks."""
        with self._making:
            if name not in self._made:
                try:
                    self._made[name] = self._makers[name]()
                except BeliefdError as error:
                    raise invalid(f"the judge `{name}` cannot be asked: {error.message}", "$.judge") from None
            return self._made[name]

    def close(self) -> None:
        """Let go of what holds a connection."""
        if (judge := self._made.pop("llm", None)) is not None:
            judge.close()  # type: ignore[attr-defined]

    def _embedding(self) -> Judge:
        from beliefd.uncertainty.equivalence.embedding import EmbeddingJudge

        return EmbeddingJudge(self.settings.embedding_model)

    def _nli(self) -> Judge:
        from beliefd.uncertainty.equivalence.nli import NLIJudge

        if self.settings.nli_model is None:
            raise _unset("nli_model", "--nli-model", "BELIEFD_NLI_MODEL")
        return NLIJudge(self.settings.nli_model)

    def _llm(self) -> Judge:
        from beliefd.llm.opening import open_model
        from beliefd.uncertainty.equivalence.llm import LLMJudge

        if self.settings.llm_url is None:
            raise _unset("llm_url", "--llm-url", "BELIEFD_LLM_URL")
        return LLMJudge(open_model(self.settings.llm_url, self.settings.llm_model, self.settings.llm_key))


def _unset(setting: str, option: str, variable: str) -> BeliefdError:
    return invalid(f"`{setting}` is not set; give {option} or {variable}")
