"""A local NLI cross-encoder as judge, from a directory that the user names. Nothing is downloaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from beliefd.kernel.errors import invalid
from beliefd.uncertainty.equivalence.port import Pair
from beliefd.uncertainty.result import missing_extra

BATCH: Final = 32


class NLIJudge:
    """`path` holds a sequence classifier of which one label is called `entailment`."""

    batch = BATCH

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise invalid(f"no model in `{path}`", str(path))
        try:
            import torch
            import transformers
        except ImportError as error:
            raise missing_extra("nli", error.name or "transformers") from None
        self.name = f"nli:{path.name}"
        self._torch: Any = torch
        self._tokenizer: Any = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
        self._model: Any = transformers.AutoModelForSequenceClassification.from_pretrained(
            path, local_files_only=True
        ).eval()
        self._entailment = entailment_label(self._model.config.id2label)

    def entails_all(self, pairs: Sequence[Pair]) -> list[bool]:
        given = self._tokenizer(
            [a for a, _ in pairs], [b for _, b in pairs], padding=True, truncation=True, return_tensors="pt"
        )
        with self._torch.inference_mode():
            best = self._model(**given).logits.argmax(dim=-1)
        return [int(label) == self._entailment for label in best]


def entailment_label(names: dict[int, str]) -> int:
    found = [number for number, name in names.items() if name.casefold() == "entailment"]
    if len(found) != 1:
        raise invalid("the model has no label called `entailment`", "id2label")
    return int(found[0])
