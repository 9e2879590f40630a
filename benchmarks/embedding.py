"""Where the threshold of the embedding judge is from: `python -m benchmarks.embedding evouna_tq.json`.

One pair of answers a question, of two systems whose answers people judged: the same if both are right, and
different if one is. Words settle some pairs. Of the others, half choose the smallest cosine from which on at
most 4 in 100 merged pairs are different, and the other half show what that choice is worth.
"""

import json
import random
import sys
from pathlib import Path
from typing import Any, Final

from beliefd.uncertainty.equivalence.embedding import ALIKE, EmbeddingJudge, by_words

WRONG_MERGES: Final = 0.04
GRID: Final = tuple(step / 20 for step in range(10, 20))
SEED: Final = 0
Labelled = tuple[str, str, bool]
Measured = tuple[float, bool]


def pairs_of(rows: list[dict[str, Any]]) -> list[Labelled]:
    """One pair a question, so that no question counts more than another."""
    chance = random.Random(SEED)
    found: list[Labelled] = []
    for row in rows:
        systems = [name.removeprefix("answer_") for name in row if name.startswith("answer_")]
        if row.get("improper") is True:
            continue
        one, other = chance.sample(systems, 2)
        right = (row[f"judge_{one}"], row[f"judge_{other}"])
        if any(right):
            found.append((row[f"answer_{one}"], row[f"answer_{other}"], all(right)))
    return found


def settled(pair: Labelled) -> bool | None:
    """What words say of a pair: merged, kept apart, or left to the model."""
    there, back = by_words(pair[0], pair[1]), by_words(pair[1], pair[0])
    if there is False or back is False:
        return False
    return True if there and back else None


def chosen(measured: list[Measured]) -> float:
    return next(limit for limit in GRID if wrong_merges(measured, limit)[1] <= WRONG_MERGES)


def wrong_merges(measured: list[Measured], limit: float) -> tuple[int, float]:
    merged = [same for cosine, same in measured if cosine >= limit]
    return len(merged), merged.count(False) / max(1, len(merged))


def main(path: Path) -> None:
    pairs = pairs_of(json.loads(path.read_bytes()))
    print(f"{len(pairs)} pairs, {sum(same for _, _, same in pairs) / len(pairs):.1%} the same")
    told = {True: "merged by words", False: "kept apart by guards", None: "left to the model"}
    for verdict, what in told.items():
        labels = [pair[2] for pair in pairs if settled(pair) is verdict]
        print(f"  {what:<21}{len(labels):>5} pairs, {sum(labels) / max(1, len(labels)):.1%} the same")
    judge = EmbeddingJudge()
    left = [pair for pair in pairs if settled(pair) is None]
    cosines = [judge.cosines([(a, b)])[0] for a, b, _ in left]
    measured = [(cosine, same) for cosine, (_, _, same) in zip(cosines, left, strict=True)]
    choosing, checking = measured[::2], measured[1::2]
    print("cosine from   merged, different (choosing half)   merged, different (checking half)")
    for limit in GRID:
        one, other = wrong_merges(choosing, limit), wrong_merges(checking, limit)
        print(f"  {limit:.2f}        {one[0]:>6} {one[1]:>9.1%} {other[0]:>26} {other[1]:>9.1%}")
    print(f"chosen: from {chosen(choosing):.2f} on; in use: from {ALIKE:.2f} on")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
