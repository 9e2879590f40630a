"""A model in ONNX with its tokenizer, run by onnxruntime. Both are files; nothing is downloaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from beliefd.kernel.errors import invalid
from beliefd.uncertainty.equivalence.port import Pair
from beliefd.uncertainty.result import missing_extra

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
EXTRA: Final = "embed"
MAX_TOKENS: Final = 256
MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"


class OnnxModel:
    """Texts, or pairs of texts, in; the first output of the model and the mask of real tokens out."""

    def __init__(self, model: Path, tokenizer: Path, extra: str = EXTRA) -> None:
        for path in (model, tokenizer):
            if not path.is_file():
                raise invalid(f"there is no `{path.name}` in `{path.parent}`", str(path))
        try:
            import onnxruntime
            import tokenizers
        except ImportError as error:
            raise missing_extra(extra, error.name or "onnxruntime") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # short texts: more threads wait for each other
        try:
            self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(tokenizer))
            self._session: Any = onnxruntime.InferenceSession(
                str(model), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise bare exceptions of their own making
            raise invalid(f"cannot load `{model.parent}`: {type(error).__name__}", str(model)) from None
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        self._wanted = [one.name for one in self._session.get_inputs()]

    def run(self, texts: Sequence[str] | Sequence[Pair]) -> tuple[Floats, Integers]:
        encoded = self._tokenizer.encode_batch(list(texts))
        mask = np.asarray([one.attention_mask for one in encoded], dtype=np.int64)
        known = {
            "input_ids": np.asarray([one.ids for one in encoded], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.asarray([one.type_ids for one in encoded], dtype=np.int64),
        }
        output = self._session.run(None, {name: known[name] for name in self._wanted})[0]
        return output, mask
