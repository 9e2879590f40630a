"""The honest measurement of a detector: hits and false alarms on labelled text, with their uncertainty."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Final, Literal

from beliefd.adversarial.builtin import assess
from beliefd.kernel.claims.threat import Threat

THRESHOLD: Final = 0.70
"""The gate defers above this score, unless policy says otherwise."""

SWEEP: Final = (0.10, 0.25, 0.40, 0.50, 0.60, 0.70, 0.75, 0.80, 0.90, 0.95)

Detector = Callable[[Sequence[tuple[str, str]], int, Sequence[int]], Threat]
Label = Literal["hostile", "benign"]


class BadItem(ValueError):
    """A line of a labelled file that cannot be measured."""


@dataclass(frozen=True, slots=True)
class Item:
    """One labelled text; `tier` and `trail` matter to escalation chains only."""

    text: str
    label: Label
    kind: str
    split: str = "all"
    tier: int = 0
    trail: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of `total` were flagged, with the 95 % Wilson interval of the rate."""

    flagged: int
    total: int

    @property
    def rate(self) -> float:
        return self.flagged / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        if not self.total:
            return 0.0, 1.0
        z = 1.959964
        spread = z * math.sqrt(self.rate * (1 - self.rate) / self.total + (z / (2 * self.total)) ** 2)
        middle, scale = self.rate + z * z / (2 * self.total), 1 + z * z / self.total
        return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of text in one split."""

    split: str
    label: Label
    kind: str
    flagged: Rate


@dataclass(frozen=True, slots=True)
class Step:
    """What another threshold would have given in one split."""

    split: str
    threshold: float
    hits: Rate
    false_alarms: Rate


@dataclass(frozen=True, slots=True)
class Report:
    """Hits are flagged hostile texts, false alarms flagged benign ones."""

    detector: str
    threshold: float
    rows: tuple[Row, ...]
    sweep: tuple[Step, ...]

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(sorted({row.split for row in self.rows}))

    def total(self, split: str, label: Label) -> Rate:
        rates = [row.flagged for row in self.rows if (row.split, row.label) == (split, label)]
        return Rate(sum(rate.flagged for rate in rates), sum(rate.total for rate in rates))


def evaluate(items: Iterable[Item], *, detector: Detector = assess, threshold: float = THRESHOLD) -> Report:
    """Run a detector over labelled items, each as a bundle of its own."""
    scored, name = [], "none"
    for item in items:
        threat = detector([("$.claims[0].statement", item.text)], item.tier, item.trail)
        scored.append((item, threat.score))
        name = threat.detector
    groups = sorted({(item.split, item.label, item.kind) for item, _ in scored})
    rows = tuple(
        Row(
            *group,
            _rate((s for item, s in scored if (item.split, item.label, item.kind) == group), threshold),
        )
        for group in groups
    )
    return Report(name, threshold, rows, tuple(_sweep(scored)))


def _rate(scores: Iterable[float], threshold: float) -> Rate:
    flagged = [score > threshold for score in scores]
    return Rate(sum(flagged), len(flagged))


def _sweep(scored: Sequence[tuple[Item, float]]) -> Iterator[Step]:
    for split in sorted({item.split for item, _ in scored}):
        hostile, benign = (
            [score for item, score in scored if (item.split, item.label) == (split, label)]
            for label in ("hostile", "benign")
        )
        for threshold in SWEEP:
            yield Step(split, threshold, _rate(hostile, threshold), _rate(benign, threshold))


def read_items(lines: Iterable[str]) -> Iterator[Item]:
    """Items of a JSON Lines file with `text`, `label` and optionally `kind`, `split`, `tier`, `trail`."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield _item(json.loads(line))
            except ValueError as error:
                raise BadItem(f"line {number}: {error}") from None


def _item(fields: object) -> Item:
    if not isinstance(fields, dict):
        raise ValueError("an item is a JSON object")
    text, label = fields.get("text"), fields.get("label")
    if not isinstance(text, str):
        raise ValueError(f"`text` must be a string, not `{text}`")
    if label not in ("hostile", "benign"):
        raise ValueError(f"`label` must be `hostile` or `benign`, not `{label}`")
    tier, trail = fields.get("tier", 0), fields.get("trail", [])
    if not isinstance(trail, list) or not all(type(number) is int for number in [tier, *trail]):
        raise ValueError("`tier` must be an integer and `trail` a list of integers")
    kind, split = str(fields.get("kind", label)), str(fields.get("split", "all"))
    return Item(text, label, kind, split, tier, tuple(trail))


def corpus() -> tuple[Item, ...]:
    """The labelled texts that come with the package."""
    lines = resources.files(__package__).joinpath("corpus.jsonl").read_text(encoding="utf-8").split("\n")
    return tuple(read_items(lines))
