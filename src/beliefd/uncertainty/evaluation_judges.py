"""Judges measured on labelled pairs: which differences they merge, and which paraphrases they split.

The pairs are in `evaluation_pairs.json`, in twelve categories. The hash of a pair says in which half it is,
so that no pair can change sides: rules are tuned on the development half, and the test half is for reporting.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Final, Literal

from msgspec import Struct, convert

from beliefd.kernel.errors import invalid
from beliefd.uncertainty.equivalence.port import Bench, Judge, JudgeFailed
from beliefd.uncertainty.scoring import Interval, wilson

PAIRS: Final = "evaluation_pairs.json"
ALL: Final = "all"
Half = Literal["development", "test"]


class LabelledPair(Struct, frozen=True):
    category: str
    same: bool
    a: str
    b: str

    @property
    def half(self) -> Half:
        digest = hashlib.sha256(f"{self.a}\n{self.b}".encode()).digest()
        return "test" if digest[0] % 2 else "development"


class Errors(Struct, frozen=True):
    """How many of so many were judged wrong; the interval is Wilson's at 95 %."""

    wrong: int
    total: int
    share: Interval


class JudgeScore(Struct, frozen=True, kw_only=True):
    """One judge in one category: different answers that it merged, and paraphrases that it split."""

    judge: str
    category: str
    merged: Errors
    split: Errors


class JudgeReport(Struct, frozen=True, kw_only=True):
    half: Half
    pairs: int
    scores: list[JudgeScore]
    wrong: list[tuple[str, LabelledPair]]
    """Pairs with the judge that was wrong. Empty for the test half: who sees them would tune on them."""


@cache
def labelled_pairs() -> tuple[LabelledPair, ...]:
    text = resources.files(__package__).joinpath(PAIRS).read_text(encoding="utf-8")
    return convert(json.loads(text), tuple[LabelledPair, ...])


def measure_judges(judges: Sequence[Judge], half: Half) -> JudgeReport:
    pairs = [pair for pair in labelled_pairs() if pair.half == half]
    scores: list[JudgeScore] = []
    wrong: list[tuple[str, LabelledPair]] = []
    for judge in judges:
        judged = list(_judged(judge, pairs))
        for category in (*dict.fromkeys(pair.category for pair in pairs), ALL):
            of_these = [(pair, same) for pair, same in judged if category in (pair.category, ALL)]
            scores.append(
                JudgeScore(
                    judge=judge.name,
                    category=category,
                    merged=_errors([same for pair, same in of_these if not pair.same]),
                    split=_errors([not same for pair, same in of_these if pair.same]),
                )
            )
        if half == "development":
            wrong += [(judge.name, pair) for pair, same in judged if same != pair.same]
    return JudgeReport(half=half, pairs=len(pairs), scores=scores, wrong=wrong)


def _judged(judge: Judge, pairs: Sequence[LabelledPair]) -> Iterator[tuple[LabelledPair, bool]]:
    """INVARIANT: two answers mean the same if each entails the other, as when answers are clustered."""
    bench = Bench(judge)
    for pair in pairs:
        try:
            yield pair, bench.equivalent_to(pair.a, [pair.b]) is not None
        except JudgeFailed as failure:
            raise invalid(f"`{pair.a}` and `{pair.b}` cannot be judged: {failure}", "--judge") from None


def _errors(wrong: Sequence[bool]) -> Errors:
    return Errors(sum(wrong), len(wrong), wilson(sum(wrong), len(wrong)))
