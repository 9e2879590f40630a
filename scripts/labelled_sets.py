"""Detectors beside each other on public sets: `python -m scripts.labelled_sets FOLDER [NAME=FILE]...`.

FOLDER holds clones of the repositories that SETS names. Each set is written there as JSON Lines, and the
tables of docs/explanation/adversarial.md are printed: both halves, every set, with 95 % Wilson intervals.
FILE is a further set of `text` and `label` on each line.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, get_args

from beliefd.adversarial.compare import Half, Line, compare
from beliefd.adversarial.evaluate import THRESHOLD, Item, Label, read_items
from beliefd.cli.views.detectors import shown
from beliefd.steward.facts.detectors import named_detectors

Texts = Callable[[Any], Iterable[str]]


def _field(name: str) -> Texts:
    return lambda document: (one[name] for one in document)


def _by_category(document: dict[str, list[str]]) -> Iterator[str]:
    return (text for texts in document.values() for text in texts)


_CYBERSECEVAL: Final = "PurpleLlama/CybersecurityBenchmarks/datasets/prompt_injection/prompt_injection.json"
SETS: Final[dict[str, tuple[Label, Texts, str]]] = {
    "cyberseceval": ("hostile", _field("user_input"), _CYBERSECEVAL),
    "bipia": ("hostile", _by_category, "PIGuard/datasets/BIPIA_text.json"),
    "notinject": ("benign", _field("prompt"), "PIGuard/datasets/NotInject_*.json"),
    "wildguard": ("benign", _field("prompt"), "PIGuard/datasets/wildguard.json"),
}
"""By name: what its texts are, where they stand in a file, and in which files of which clone."""
RATE: Final = 0.01


def converted(folder: Path) -> Iterator[tuple[str, list[Item]]]:
    """The sets whose files are there, each text once, in the order of the files."""
    for name, (label, texts_in, files) in SETS.items():
        documents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob(files))]
        texts = dict.fromkeys(text for document in documents for text in texts_in(document))
        if texts:
            yield name, [Item(text, label, label) for text in texts]


def written(items: Iterable[Item]) -> str:
    return "".join(json.dumps({"text": one.text, "label": one.label}) + "\n" for one in items)


def table(lines: Iterable[Line]) -> Iterator[str]:
    at_rate = f"hits at {100 * RATE:g} % | false alarms there"
    yield f"| set | detector | hits above {THRESHOLD:.2f} | false alarms | {at_rate} |"
    yield "|---|---|---|---|---|---|"
    for line in lines:
        rates = (line.hits, line.false_alarms, line.hits_at_rate, line.false_alarms_at_rate)
        cells = (shown(one) if one.total else "" for one in rates)
        yield f"| {' | '.join([line.name, line.detector, *cells])} |".replace("|  ", "| ")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.labelled_sets", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("more", nargs="*", metavar="NAME=FILE")
    options = parser.parse_args()
    sets = {}
    for named in options.more:
        name, _, path = named.partition("=")
        sets[name] = list(read_items(Path(path).read_text(encoding="utf-8").splitlines()))
    sets |= dict(converted(options.folder))
    for name, items in sets.items():
        (options.folder / f"{name}.jsonl").write_text(written(items), encoding="utf-8")
    detectors = named_detectors(("builtin", "embedding"))
    for half in reversed(get_args(Half)):
        print(f"\n{half}\n")
        for row in table(compare(sets, detectors, half, RATE)):
            print(row)


if __name__ == "__main__":
    main()
