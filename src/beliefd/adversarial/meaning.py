"""A detector that compares meanings: windows of text, embedded by a model, weighed by a linear head.

The head was fitted to sentences of our own (`exemplars.txt`) by `python -m scripts.detector_head`, for the
model of the extra `embed`. Who calls this brings the model; here is only arithmetic.
"""

import json
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from typing import Final

import msgspec

from beliefd.adversarial import characters
from beliefd.adversarial.assessing import signal
from beliefd.adversarial.evaluate import Label
from beliefd.kernel.claims.threat import Signal, Threat

DETECTOR: Final = "embedding@1"
RESEMBLES: Final = "resembles_attack"
WINDOW: Final = 300
"""Characters of the longest window; about as long as the sentences that the head was fitted to."""
SHORTEST: Final = 40
"""Sentences shorter than this are read together with the next one."""
MAX_WINDOWS: Final = 128
"""Windows read of one bundle. More of them is an answer by itself: nobody vouches for what was not read."""
TOLD_FROM: Final = 0.5
MAX_SIGNALS: Final = 8
KEPT: Final = 4_096
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")

Embed = Callable[[Sequence[str]], Iterable[Iterable[float]]]
"""Texts in, a vector of length one for each out."""


class Head(msgspec.Struct, frozen=True):
    """Weights for a vector's members. `at_limit` is the sum that is worth exactly the gate's 0.70."""

    exemplars: str
    weights: tuple[float, ...]
    at_limit: float

    def score(self, vector: Iterable[float]) -> float:
        total = sum(weight * float(member) for weight, member in zip(self.weights, vector, strict=True))
        return round(1.0 / (1.0 + math.exp(self.at_limit - total) * (0.3 / 0.7)), 4)


def fitted_head() -> Head:
    """The head that comes with the package."""
    data = resources.files(__package__).joinpath("head.json").read_bytes()
    return msgspec.json.decode(data, type=Head)


def exemplars(text: str | None = None) -> list[tuple[str, Label]]:
    """The sentences that the head is fitted to, with what they are."""
    if text is None:
        text = resources.files(__package__).joinpath("exemplars.txt").read_text(encoding="utf-8")
    found: list[tuple[str, Label]] = []
    label: Label = "benign"
    for line in text.split("\n"):
        if line.startswith("["):
            label = "hostile" if line == "[hostile]" else "benign"
        elif line and not line.startswith("#"):
            found.append((line, label))
    return found


def windows(text: str) -> list[str]:
    """All of a text in pieces: sentences, short ones together with the next, long ones cut between words."""
    found, held = [], ""
    for sentence in _sentences(characters.visible(text)):
        if held and len(held) < SHORTEST and len(held) + len(sentence) < WINDOW:
            held = f"{held} {sentence}"
            continue
        if held:
            found.append(held)
        held = sentence
    return [*found, held] if held else found


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        rest = sentence.strip()
        while len(rest) > WINDOW:
            space = rest.rfind(" ", WINDOW // 2, WINDOW)
            cut = WINDOW if space < 0 else space
            yield rest[:cut].strip()
            rest = rest[cut:].strip()
        if rest:
            yield rest


class MeaningDetector:
    """The highest score of any window. Windows are embedded one by one, so company changes no score."""

    one_at_a_time = True

    def __init__(self, embed: Embed, head: Head | None = None) -> None:
        self._embed = embed
        self._head = head or fitted_head()
        self._seen: OrderedDict[str, float] = OrderedDict()
        self._turn = threading.Lock()

    def __call__(self, texts: Sequence[tuple[str, str]], _tier: int, _trail: Sequence[int] = ()) -> Threat:
        placed = [(path, window) for path, text in texts for window in windows(text)]
        distinct = dict.fromkeys(window for _, window in placed)
        if len(distinct) > MAX_WINDOWS:
            failed = f"too long to be looked at: {len(distinct)} passages, at most {MAX_WINDOWS} are read"
            return Threat(detector=DETECTOR, failed=failed)
        with self._turn:
            scores = {window: self._score(window) for window in distinct}
        signals = {
            signal(RESEMBLES, scores[window], path, window)
            for path, window in placed
            if scores[window] > TOLD_FROM
        }
        return Threat(
            detector=DETECTOR,
            score=max(scores.values(), default=0.0),
            signals=tuple(sorted(signals, key=_strongest_first)[:MAX_SIGNALS]),
        )

    def _score(self, window: str) -> float:
        found = self._seen.get(window)
        if found is None:
            # No tokenizer takes half of a surrogate pair.
            (vector,) = self._embed([window.encode("utf-8", "replace").decode()])
            found = self._seen[window] = self._head.score(vector)
            if len(self._seen) > KEPT:
                self._seen.popitem(last=False)
        return found


def _strongest_first(one: Signal) -> tuple[float, str, str]:
    return -one.weight, one.path, one.excerpt


def head_json(head: Head) -> str:
    """As it is kept in the package: one weight a line would be long, seven digits are plenty."""
    fields = {**msgspec.to_builtins(head), "weights": [round(weight, 5) for weight in head.weights]}
    return json.dumps({**fields, "at_limit": round(head.at_limit, 5)}, separators=(",", ":")) + "\n"
