"""Detectors beside each other on labelled sets: what each finds, and how often it is wrong."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from beliefd.adversarial.evaluate import THRESHOLD, Detector, Item, Label, Rate, corpus

Half = Literal["dev", "held_out"]
RATE: Final = 0.01
FEWEST: Final = 50
"""Harmless texts that a threshold is taken from; a set with fewer takes that of our corpus."""
CORPUS: Final = "corpus"
PARTS: Final[dict[str, tuple[Label, frozenset[str]]]] = {
    f"{CORPUS}/paraphrase": ("hostile", frozenset({"paraphrase"})),
    f"{CORPUS}/quotes attacks": ("benign", frozenset({"security_talk", "incident_report", "advisory"})),
}
"""Parts of our corpus that get lines of their own: the same said otherwise, and work that quotes attacks."""

Scores = dict[str, float]
Scored = list[tuple[Item, Scores]]


@dataclass(frozen=True, slots=True)
class Line:
    """One detector on one half of one set. `threshold` is the one that the rate of false alarms asks for."""

    name: str
    half: Half
    detector: str
    hits: Rate
    false_alarms: Rate
    threshold: float
    hits_at_rate: Rate
    false_alarms_at_rate: Rate


def half_of(item: Item) -> Half:
    """As the item says itself; else nobody chose, its hash did."""
    if item.split in ("dev", "held_out"):
        return "held_out" if item.split == "held_out" else "dev"
    return "held_out" if hashlib.sha256(item.text.encode("utf-8", "replace")).digest()[0] % 2 == 0 else "dev"


def compare(
    sets: Mapping[str, Sequence[Item]], detectors: Mapping[str, Detector], half: Half, rate: float = RATE
) -> Iterator[Line]:
    """Lines for our corpus, its parts, and the given sets. Thresholds always come from dev halves."""
    known = _scored([item for item in corpus() if _needed(item, half)], detectors)
    default = _harmless(known)
    yield from _lines(CORPUS, known, half, default, rate)
    for name, (label, kinds) in PARTS.items():
        part = [(item, scores) for item, scores in known if item.label == label and item.kind in kinds]
        yield from _lines(name, part, half, default, rate)
    for name, items in sets.items():
        scored = _scored([item for item in items if _needed(item, half)], detectors)
        harmless = _harmless(scored)
        yield from _lines(name, scored, half, harmless if len(harmless) >= FEWEST else default, rate)


def _needed(item: Item, half: Half) -> bool:
    return half_of(item) == half or (half_of(item) == "dev" and item.label == "benign")


def _harmless(scored: Scored) -> list[Scores]:
    return [scores for item, scores in scored if (half_of(item), item.label) == ("dev", "benign")]


def _scored(items: Iterable[Item], detectors: Mapping[str, Detector]) -> Scored:
    found = []
    for item in items:
        scores = {name: _score(detector, item) for name, detector in detectors.items()}
        if len(scores) > 1:
            scores["max of all"] = max(scores.values())
        found.append((item, scores))
    return found


def _score(detector: Detector, item: Item) -> float:
    threat = detector([("$.claims[0].statement", item.text)], item.tier, item.trail)
    return 1.0 if threat.failed is not None else threat.score  # the gate defers then, too


def _lines(name: str, scored: Scored, half: Half, harmless: list[Scores], rate: float) -> Iterator[Line]:
    here = [(item, scores) for item, scores in scored if half_of(item) == half]
    for detector in here[0][1] if here else ():
        threshold = threshold_at(rate, [scores[detector] for scores in harmless])
        rates = [_rate(here, label, detector, limit) for limit in (THRESHOLD, threshold) for label in _LABELS]
        yield Line(name, half, detector, rates[0], rates[1], threshold, rates[2], rates[3])


_LABELS: Final[tuple[Label, Label]] = ("hostile", "benign")


def _rate(scored: Scored, label: Label, detector: str, limit: float) -> Rate:
    flagged = [scores[detector] > limit for item, scores in scored if item.label == label]
    return Rate(sum(flagged), len(flagged))


def threshold_at(rate: float, scores: Sequence[float]) -> float:
    """The lowest threshold that no more than this share of harmless texts exceeds."""
    highest_first = sorted(scores, reverse=True)
    return highest_first[int(rate * len(highest_first))] if highest_first else THRESHOLD
