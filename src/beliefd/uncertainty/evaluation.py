"""Methods measured on labelled answers: discrimination, calibration, and thresholds that are certified."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from beliefd.documents import read_bytes
from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.uncertainty.confidence_score import Bin, expected_calibration_error, fit_isotonic, reliability
from beliefd.uncertainty.equivalence.lexical import LexicalJudge
from beliefd.uncertainty.equivalence.port import Bench, Judge, JudgeFailed
from beliefd.uncertainty.model_disagreement import apart, graded, outside_majority
from beliefd.uncertainty.result import check_answers
from beliefd.uncertainty.rouge import rouge_l, words
from beliefd.uncertainty.scoring import Interval, aurac, auroc, risk_coverage, with_interval
from beliefd.uncertainty.semantic_entropy import (
    Clusters,
    discrete_entropy,
    meanings,
    neighbour_entropy,
    normalised,
)
from beliefd.uncertainty.thresholds import Threshold, learn_then_test

RIGHT_ABOVE: Final = 0.3
"""An answer is right if its ROUGE-L with the reference is above this (Kuhn, Gal, Farquhar, 2023)."""
MAX_ROWS: Final = 1_000_000
MIN_ROWS: Final = 20
SYSTEM: Final = "answer_"


class Item(Struct, frozen=True):
    """The answers to one question. `wrong` None: the most frequent meaning is compared with `reference`."""

    answers: tuple[str, ...]
    wrong: bool | None = None
    reference: str = ""


class Score(Struct, frozen=True, kw_only=True):
    """One method on one file."""

    method: str
    auroc: Interval
    aurac: Interval
    ece: float
    ece_calibrated: float
    threshold: Threshold
    risk_coverage: list[tuple[float, float]]
    reliability: tuple[Bin, ...]


class Evaluation(Struct, frozen=True, kw_only=True):
    file: str
    questions: int
    answers: int
    wrong: float
    scores: list[Score]
    best: str
    verdict: str


def load_items(path: Path, k: int) -> list[Item]:
    """Labelled answers in one of three shapes, each cut to its first `k` answers."""
    try:
        rows = json.loads(read_bytes(path))
    except ValueError as error:
        raise invalid(f"`{path}` is no JSON: {error}", str(path)) from None
    if not isinstance(rows, list) or len(rows) < MIN_ROWS:
        raise invalid(f"`{path}` must be a list of at least {MIN_ROWS} questions", "$")
    found = (_item(row, place, k) for place, row in enumerate(rows[:MAX_ROWS]))
    return [item for item in found if item is not None]


def _item(row: Any, place: int, k: int) -> Item | None:
    path = f"$[{place}]"
    if not isinstance(row, dict):
        raise invalid("a question is an object", path)
    if row.get("improper") is True:
        return None
    if isinstance(row.get("samples"), list) and isinstance(row.get("answer"), str):
        return Item(tuple(map(str, row["samples"][:k])), reference=row["answer"])
    if isinstance(row.get("answers"), list) and isinstance(row.get("wrong"), bool):
        return Item(tuple(map(str, row["answers"][:k])), wrong=row["wrong"])
    systems = [name.removeprefix(SYSTEM) for name in row if name.startswith(SYSTEM)][:k]
    if len(systems) > 1 and all(isinstance(row.get(f"judge_{name}"), bool) for name in systems):
        right = sum(row[f"judge_{name}"] for name in systems)
        return Item(tuple(str(row[f"{SYSTEM}{name}"]) for name in systems), wrong=2 * right < len(systems))
    raise invalid(
        "a question has `samples` and a reference `answer`, or `answers` and `wrong`, "
        "or `answer_x` and `judge_x` for each system x",
        path,
    )


METHODS: Final[dict[str, Callable[[Sequence[str], Clusters], float]]] = {
    "semantic_entropy": lambda answers, clusters: normalised(discrete_entropy(clusters), len(answers)),
    "nearest_neighbour_entropy": lambda answers, _: neighbour_entropy([words(text) for text in answers]),
    "model_disagreement": lambda answers, _: graded(answers),
    "majority_share": lambda _, clusters: outside_majority(clusters),
}


def measure(items: Sequence[Item], judge: Judge | None = None) -> Iterator[tuple[dict[str, float], bool]]:
    """The value of every method and whether the answer was wrong, question by question.

    A judge other than the lexical one does not grade: disagreement is then the share of pairs kept apart.
    """
    judge = judge or LexicalJudge()
    for place, item in enumerate(items):
        try:
            check_answers(item.answers)
        except BeliefdError:
            # Nothing was said: as uncertain as can be, and wrong.
            yield dict.fromkeys(METHODS, 1.0), True
            continue
        try:
            clusters = meanings(item.answers, Bench(judge))
        except JudgeFailed as failure:
            raise invalid(f"question {place} cannot be measured: {failure}", f"$[{place}]") from None
        values = {name: method(item.answers, clusters) for name, method in METHODS.items()}
        if not isinstance(judge, LexicalJudge):
            values["model_disagreement"] = apart(clusters)
        yield values, _wrong(item, clusters)


def _wrong(item: Item, clusters: Clusters) -> bool:
    if item.wrong is not None:
        return item.wrong
    given = item.answers[clusters[0][0]]
    return rouge_l(words(given), words(item.reference)) <= RIGHT_ABOVE


def evaluate(
    name: str, rows: Sequence[tuple[dict[str, float], bool]], risk: float, delta: float, answers: int
) -> Evaluation:
    wrong = [bad for _, bad in rows]
    scores = [score(method, [values[method] for values, _ in rows], wrong, risk, delta) for method in METHODS]
    best = max(scores, key=lambda one: one.auroc.value)
    return Evaluation(
        file=name,
        questions=len(rows),
        answers=answers,
        wrong=sum(wrong) / len(wrong),
        scores=scores,
        best=best.method,
        verdict=_verdict(best, scores),
    )


def score(method: str, values: Sequence[float], wrong: Sequence[bool], risk: float, delta: float) -> Score:
    confident = [min(1.0, max(0.0, 1 - value)) for value in values]
    right = [not bad for bad in wrong]
    return Score(
        method=method,
        auroc=with_interval(auroc, values, wrong),
        aurac=with_interval(aurac, values, wrong),
        ece=expected_calibration_error(confident, right),
        ece_calibrated=_cross_fitted_ece(confident, right),
        threshold=learn_then_test(values, wrong, risk, delta),
        risk_coverage=risk_coverage(np.asarray(values), np.asarray(wrong)),
        reliability=reliability(confident, right),
    )


def _cross_fitted_ece(confident: list[float], right: list[bool]) -> float:
    """Calibrated on one half and measured on the other, both ways: never on what it was fitted to."""
    calibrated = [0.0] * len(confident)
    for half in (0, 1):
        learnt, held = range(half, len(confident), 2), range(1 - half, len(confident), 2)
        try:
            fitted = fit_isotonic([confident[at] for at in learnt], [right[at] for at in learnt])
        except BeliefdError:
            return float("nan")
        for at in held:
            calibrated[at] = fitted.apply(confident[at])
    return expected_calibration_error(calibrated, right)


def _verdict(best: Score, scores: Sequence[Score]) -> str:
    """What the intervals allow to say, which is often that several methods are equally good."""
    close = [one.method for one in scores if one is not best and one.auroc.value >= best.auroc.low]
    if not close:
        return f"these answers support `{best.method}` as default"
    return f"`{best.method}` is highest, but {', '.join(f'`{name}`' for name in close)} within its interval"
