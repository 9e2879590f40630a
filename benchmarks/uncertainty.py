"""Semantic entropy with a judge that costs nothing, the gate without a model, and conformal prediction.

LM-Polygraph does not fit beside us, so both were recorded in one process of its environment, by
`benchmarks.peers.lm_polygraph`. MAPIE runs here; both get rows of probabilities with labels.
"""

import importlib.metadata
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from mapie.classification import SplitConformalClassifier
from sklearn.base import BaseEstimator, ClassifierMixin

from beliefd.uncertainty.conformal import calibrate, predict, scores_of
from beliefd.uncertainty.equivalence.contradiction import _contradicts
from beliefd.uncertainty.equivalence.order import order
from beliefd.uncertainty.equivalence.port import Bench, Pair
from beliefd.uncertainty.equivalence.reading import read
from beliefd.uncertainty.semantic_entropy import discrete_entropy, meanings, semantic_entropy
from benchmarks.figures import TIMES_FASTER, Figure, Run, Target, alternate
from benchmarks.peers.lm_polygraph import RECORD

NAME: Final = "uncertainty"
ALL_PAIRS: Final = "all pairs"
MAPIE: Final = f"MAPIE {importlib.metadata.version('mapie')}"
ALPHA: Final = 0.1
CLASSES: Final = 10
SENTENCES: Final = (
    "The drug lowers blood pressure by 10 mg.",
    "Blood pressure is reduced by the drug.",
    "It does not reduce blood pressure.",
    "The medication decreases blood pressure, they say.",
    "It increases blood pressure.",
)


class Free:
    """Two answers mean the same if they end with the same digit."""

    name, batch = "free", 1

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        return [a[-1] == b[-1] for a, b in pairs]


def uncertainty(run: Run) -> list[Figure]:
    return [
        *(_entropy(run, k) for k in (5, 10, 100)),
        *_recorded(),
        _calls(),
        _gate(run),
        _calibration(run),
        _prediction(run),
    ]


def _answers(k: int) -> list[str]:
    return [f"answer {place} {place % 5}" for place in range(k)]


def _entropy(run: Run, k: int) -> Figure:
    answers, turns = _answers(k), run.size(max(20, 2_000 // k), 1)
    own, other = alternate(
        run.size(9, 1),
        lambda: _timed(lambda: discrete_entropy(meanings(answers, Bench(Free()))), turns),
        lambda: _timed(lambda: _all_pairs(answers), turns),
    )
    return Figure(
        benchmark=NAME, what=f"semantic entropy of {k} answers, judge for free", unit="us",
        ours=own, peer=other, peer_is=ALL_PAIRS, ratio=other / own, ratio_is=TIMES_FASTER,
    )  # fmt: skip


def _recorded() -> list[Figure]:
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    peer = f"LM-Polygraph {found['lm_polygraph']}, recorded"
    return [
        Figure(
            benchmark=NAME, what=f"semantic entropy of {row['k']} answers, judge for free", unit="us",
            ours=row["us"], peer=row["their_us"], peer_is=peer, ratio=row["their_us"] / row["us"],
            ratio_is=TIMES_FASTER, target=Target(at_least=1),
        )
        for row in found["rows"]
    ]  # fmt: skip


def _all_pairs(answers: list[str]) -> float:
    judge = Free()
    table = [[judge.entails_all([(a, b)])[0] for b in answers] for a in answers]
    clusters: list[list[int]] = []
    for place in range(len(answers)):
        home = next((one for one in clusters if table[place][one[0]] and table[one[0]][place]), None)
        if home is None:
            clusters.append([place])
        else:
            home.append(place)
    return discrete_entropy(tuple(map(tuple, clusters)))


def _calls() -> Figure:
    bench = Bench(Free())
    meanings(_answers(100), bench)
    return Figure(
        benchmark=NAME, what="questions to the judge for 100 answers", unit="calls", ours=bench.calls,
        peer=100 * 100, peer_is=ALL_PAIRS, ratio=100 * 100 / bench.calls, ratio_is="peer's calls : ours",
        target=Target(at_least=5),
    )  # fmt: skip


def _gate(run: Run) -> Figure:
    def once() -> None:
        for seen in (read, order, _contradicts):
            seen.cache_clear()  # answers that nobody has seen before
        semantic_entropy(SENTENCES)

    return Figure(
        benchmark=NAME, what="gate value of 5 sentences, lexical judge", unit="us",
        ours=min(_timed(once, run.size(20, 1)) for _ in range(run.size(50, 1))), target=Target(at_most=200),
    )  # fmt: skip


class Given(BaseEstimator, ClassifierMixin):  # type: ignore[misc]
    """A fitted classifier for MAPIE whose probabilities are the rows that it is given."""

    def __init__(self, classes: int = CLASSES) -> None:
        self.classes = classes
        self.classes_ = np.arange(classes)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict_proba(self, rows: Any) -> Any:
        return rows

    def predict(self, rows: Any) -> Any:
        return rows.argmax(axis=1)


def _mapie() -> Any:
    return SplitConformalClassifier(Given(), confidence_level=1 - ALPHA, conformity_score="lac", prefit=True)


def _labelled(count: int) -> tuple[Any, Any]:
    chance = np.random.default_rng(1)
    return chance.dirichlet(np.ones(CLASSES), count), chance.integers(0, CLASSES, count)


def _calibration(run: Run) -> Figure:
    rows, labels = _labelled(run.size(1_000_000, 1_000))
    own, other = alternate(
        run.size(11, 1),
        lambda: _timed(lambda: calibrate(scores_of(rows, labels), ALPHA), 1) / 1000,
        lambda: _timed(lambda: _mapie().conformalize(rows, labels), 1) / 1000,
    )
    return Figure(
        benchmark=NAME, what=f"conformal calibration of {len(rows):,} labelled rows", unit="ms",
        ours=own, peer=other, peer_is=MAPIE, ratio=other / own, ratio_is=TIMES_FASTER,
        target=Target(at_least=5),
    )  # fmt: skip


def _prediction(run: Run) -> Figure:
    rows, labels = _labelled(run.size(10_000, 1_000))
    calibrated = calibrate(scores_of(rows, labels), ALPHA)
    peer = _mapie().conformalize(rows, labels)
    assert (predict(calibrated, rows) == peer.predict_set(rows)[1][:, :, 0]).all()
    own, other = alternate(
        run.size(9, 1),
        lambda: _timed(lambda: predict(calibrated, rows), 1) / 1000,
        lambda: _timed(lambda: peer.predict_set(rows), 1) / 1000,
    )
    return Figure(
        benchmark=NAME, what=f"conformal sets of {len(rows):,} rows", unit="ms",
        ours=own, peer=other, peer_is=MAPIE, ratio=other / own, ratio_is=TIMES_FASTER,
        target=Target(at_least=10),
    )  # fmt: skip


def _timed(work: Callable[[], object], turns: int) -> float:
    started = time.perf_counter()
    for _ in range(turns):
        work()
    return (time.perf_counter() - started) / turns * 1e6
