"""Records `lm_polygraph.json`: semantic entropy with a free judge, ours and LM-Polygraph's, turn by turn.

LM-Polygraph needs torch and transformers, so it has an environment of its own, with beliefd beside it:
`pip install lm-polygraph .`, then `python -m benchmarks.peers.lm_polygraph`.
"""

import importlib.metadata
import json
import logging
import platform
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from beliefd.uncertainty.equivalence.port import Bench, Pair
from beliefd.uncertainty.semantic_entropy import discrete_entropy, meanings
from benchmarks.figures import alternate

RECORD: Final = Path(__file__).with_suffix(".json")
SIZES: Final = (5, 10, 100)
ROUNDS: Final = 9
MEANINGS: Final = 5
RANDOM: Final = 40


class Free:
    """Two answers mean the same if they end with the same digit. It counts what it is asked."""

    name, batch = "free", 1

    def __init__(self) -> None:
        self.asked = 0

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        self.asked += len(pairs)
        return [a[-1] == b[-1] for a, b in pairs]


class Encoded(dict[str, Any]):
    def to(self, _: str) -> "Encoded":
        return self


class FreeNli:
    """The same judge in the shape that LM-Polygraph asks: a tokenizer and a classifier that cost nothing."""

    batch_size, device = 64, "cpu"

    def __init__(self, judge: Free) -> None:
        import torch

        self.deberta_tokenizer = lambda pairs, **_: Encoded(pairs=pairs)
        same, other = torch.tensor([0.0, 0.0, 9.0]), torch.tensor([9.0, 0.0, 0.0])

        def classify(pairs: Sequence[Pair]) -> Any:
            said = judge.entails_all(pairs)
            return SimpleNamespace(logits=torch.stack([same if yes else other for yes in said]))

        self.deberta: Any = classify
        classify.config = SimpleNamespace(label2id={"CONTRADICTION": 0, "ENTAILMENT": 2})  # type: ignore[attr-defined]


def answers(k: int) -> list[str]:
    return [f"answer {place} {place % MEANINGS}" for place in range(k)]


def theirs(judge: Free) -> Callable[[list[str]], float]:
    """The three steps of LM-Polygraph from texts to an entropy: matrix, classes, estimate."""
    from lm_polygraph.estimators.semantic_entropy import SemanticEntropy
    from lm_polygraph.stat_calculators.semantic_classes import SemanticClassesCalculator
    from lm_polygraph.stat_calculators.semantic_matrix import SemanticMatrixCalculator

    matrix, classes = SemanticMatrixCalculator(FreeNli(judge)), SemanticClassesCalculator()
    estimate = SemanticEntropy(class_probability_estimation="frequency")

    def entropy(texts: list[str]) -> float:
        stats: dict[str, Any] = {"sample_texts": [texts]}
        stats |= matrix(stats, texts, None)
        stats |= classes(stats, texts, None)
        return float(estimate(stats)[0])

    return entropy


def ours(judge: Free) -> Callable[[list[str]], float]:
    return lambda texts: discrete_entropy(meanings(texts, Bench(judge)))


def record(k: int) -> dict[str, float | int]:
    texts, turns = answers(k), max(3, 200 // k)
    calls: list[int] = []
    entropies: list[float] = []
    for make in (ours, theirs):
        judge = Free()
        entropies.append(make(judge)(texts))
        calls.append(judge.asked)
    own, peer = ours(Free()), theirs(Free())
    mine, other = alternate(ROUNDS, lambda: timed(own, texts, turns), lambda: timed(peer, texts, turns))
    return {
        "k": k,
        "entropy": entropies[0],
        "their_entropy": entropies[1],
        "us": mine,
        "their_us": other,
        "calls": calls[0],
        "their_calls": calls[1],
    }


def random_answers(seed: int) -> list[str]:
    chance = random.Random(seed)
    return [f"answer {place} {chance.randrange(MEANINGS)}" for place in range(chance.randint(2, 12))]


def equality() -> list[dict[str, Any]]:
    """What LM-Polygraph makes of random answers, for the tests to compare with."""
    entropy = theirs(Free())
    return [{"answers": texts, "nats": entropy(texts)} for texts in map(random_answers, range(RANDOM))]


def timed(entropy: Callable[[list[str]], float], texts: list[str], turns: int) -> float:
    started = time.perf_counter()
    for _ in range(turns):
        entropy(texts)
    return (time.perf_counter() - started) / turns * 1e6


def main() -> None:
    logging.disable(logging.CRITICAL)
    found = {
        "lm_polygraph": importlib.metadata.version("lm-polygraph"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "rows": [record(k) for k in SIZES],
        "random": equality(),
    }
    RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(found["rows"], indent=1))


if __name__ == "__main__":
    main()
