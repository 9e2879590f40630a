"""Judges by name. Each is made when it is first asked for, from what the operator has set."""

import asyncio
import threading
from pathlib import Path
from typing import Final, get_args

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.kernel.values import JudgeName
from beliefd.llm.port import LanguageModel
from beliefd.uncertainty.equivalence.port import Judge

NAMES: Final[tuple[JudgeName, ...]] = get_args(JudgeName)
RECHECKED: Final[dict[str, int]] = {"nli": 1, "llm": 2}
"""So many pairs a model that may waver is asked about twice."""


MOST_ANSWERS: Final[dict[str, int]] = {"nli": 100, "llm": 20}
"""So many answers a judge that costs time or money compares: questions grow with the square of them."""


class JudgeSettings(Struct, frozen=True, kw_only=True):
    """Where the models of judges are, and which `judge` is asked where none is named, as by the gates.

    The lexical judge has no model, the embedding judge brings its own.

    `llm_url` is the address of an OpenAI-compatible API; `smollm2` and a GGUF file run in this process.
    """

    judge: JudgeName = "lexical"
    embedding_model: Path | None = None
    nli_model: Path | None = None
    llm_url: str | None = None
    llm_model: str | None = None
    llm_key: str | None = None


class Judges:
    """A judge is made once and then shared by all threads; what it lacks is told to each who asks."""

    def __init__(self, settings: JudgeSettings | None = None) -> None:
        self.settings = settings or JudgeSettings()
        self._made: dict[str, Judge] = {}
        self._model: LanguageModel | None = None
        self._making = threading.Lock()

    def named(self, name: JudgeName) -> Judge:
        """The judge, or an error at `$.judge` that says which setting or extra it lacks."""
        with self._making:
            if name not in self._made:
                try:
                    self._made[name] = _made(name, self.settings)
                except BeliefdError as error:
                    raise invalid(f"the judge `{name}` cannot be asked: {error.message}", "$.judge") from None
            return self._made[name]

    def chosen(self, name: JudgeName | None, answers: int) -> tuple[Judge, int]:
        """The judge of that name, or this server's own; and how many pairs to ask it about twice."""
        name = name or self.settings.judge
        most = MOST_ANSWERS.get(name, answers)
        if answers > most:
            raise invalid(f"the judge `{name}` compares at most {most} answers", "$.answers")
        return self.named(name), RECHECKED.get(name, 0)

    def light(self, name: JudgeName | None) -> bool:
        """Is it asked in place? Models are loaded and asked off the event loop, however few the answers."""
        return (name or self.settings.judge) == "lexical"

    def prepare(self) -> None:
        """Make the light judge now. It is asked in place: whoever asked first would keep all others waiting
        while its word lists are imported, a tenth of a second."""
        self.named("lexical")

    def model(self) -> LanguageModel:
        """The configured language model, which the server itself can ask."""
        from beliefd.llm.opening import open_model

        if self.settings.llm_url is None:
            raise invalid("there is no model to ask; give --llm-url or BELIEFD_LLM_URL", "$.asked")
        with self._making:
            if self._model is None:
                self._model = open_model(
                    self.settings.llm_url, self.settings.llm_model, self.settings.llm_key
                )
            return self._model

    def close(self) -> None:
        """Let go of what holds a connection."""
        if self._model is not None:
            asyncio.run(self._model.close())
            self._model = None
        if (judge := self._made.pop("llm", None)) is not None:
            judge.close()  # type: ignore[attr-defined]


def _made(name: JudgeName, settings: JudgeSettings) -> Judge:
    if name == "lexical":
        from beliefd.uncertainty.equivalence.lexical import LexicalJudge

        return LexicalJudge()
    if name == "embedding":
        from beliefd.uncertainty.equivalence.embedding import EmbeddingJudge

        return EmbeddingJudge(settings.embedding_model)
    if name == "nli":
        from beliefd.uncertainty.equivalence.nli import NLIJudge

        if settings.nli_model is None:
            raise invalid("`nli_model` is not set; give --nli-model or BELIEFD_NLI_MODEL")
        return NLIJudge(settings.nli_model)
    from beliefd.llm.opening import open_model
    from beliefd.uncertainty.equivalence.llm import LLMJudge

    if settings.llm_url is None:
        raise invalid("`llm_url` is not set; give --llm-url or BELIEFD_LLM_URL")
    return LLMJudge(open_model(settings.llm_url, settings.llm_model, settings.llm_key))
