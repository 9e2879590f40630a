"""A local NLI cross-encoder as judge, from a directory that the user names. Nothing is downloaded."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from beliefd.kernel.errors import invalid
from beliefd.uncertainty.equivalence.contradiction import unless_contradicted
from beliefd.uncertainty.equivalence.onnx import MODEL, TOKENIZER, OnnxModel
from beliefd.uncertainty.equivalence.port import Pair
from beliefd.uncertainty.result import missing_extra

BATCH: Final = 32
CONFIG: Final = "config.json"
Best = Callable[[Sequence[Pair]], list[int]]
"""The number of the likeliest label, for each pair."""


class NLIJudge:
    """`path` holds a classifier of pairs, one of whose labels `config.json` calls `entailment`.

    With a `model.onnx` and a `tokenizer.json` onnxruntime runs it (extra `nli`), otherwise transformers does.
    """

    batch = BATCH

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise invalid(f"no model in `{path}`", str(path))
        self.name = f"nli:{path.name}"
        self._entailment = entailment_label(_labels(path / CONFIG))
        self._best = _with_onnx(path) if (path / MODEL).is_file() else _with_transformers(path)

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        return unless_contradicted(pairs, self._entails)

    def _entails(self, pairs: Sequence[Pair]) -> list[bool]:
        return [label == self._entailment for label in self._best(pairs)]


def entailment_label(names: dict[int, str]) -> int:
    found = [number for number, name in names.items() if name.casefold() == "entailment"]
    if len(found) != 1:
        raise invalid("the model has no label called `entailment`", "id2label")
    return int(found[0])


def _labels(config: Path) -> dict[int, str]:
    try:
        found = json.loads(config.read_bytes())["id2label"]
        return {int(number): str(name) for number, name in found.items()}
    except OSError:
        raise invalid(f"there is no `{config.name}` in `{config.parent}`", str(config)) from None
    except (ValueError, LookupError, AttributeError, TypeError):
        raise invalid(f"`{config}` does not say in `id2label` what its labels mean", str(config)) from None


def _with_onnx(path: Path) -> Best:
    model = OnnxModel(path / MODEL, path / TOKENIZER, extra="nli")
    return lambda pairs: [int(label) for label in model.run(pairs)[0].argmax(axis=-1)]


def _with_transformers(path: Path) -> Best:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise missing_extra("transformers", error.name or "transformers") from None
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    model: Any = transformers.AutoModelForSequenceClassification.from_pretrained(
        path, local_files_only=True
    ).eval()

    def best(pairs: Sequence[Pair]) -> list[int]:
        given = tokenizer(
            [a for a, _ in pairs], [b for _, b in pairs], padding=True, truncation=True, return_tensors="pt"
        )
        with torch.inference_mode():
            return [int(label) for label in model(**given).logits.argmax(dim=-1)]

    return best
