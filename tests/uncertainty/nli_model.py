"""A classifier of pairs made of a table of words: as small as a model in ONNX can be, and as real."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

LABELS = {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}
# What each word adds to the three logits: entailment unless a word speaks against it.
WORDS = {
    "[PAD]": (0, 0, 0),
    "[UNK]": (0, 0, 0),
    "[SEP]": (0, 0, 1),
    "not": (5, 0, 0),
    "perhaps": (0, 5, 0),
}


def write_model(path: Path, labels: dict[str, str] = LABELS) -> Path:
    """The three files that a directory for the judge needs."""
    path.mkdir(exist_ok=True)
    onnx.save(_graph(), str(path / "model.onnx"))
    _tokenizer().save(str(path / "tokenizer.json"))
    (path / "config.json").write_text(json.dumps({"id2label": labels}))
    return path


def _graph() -> onnx.ModelProto:
    """logits = sum over the tokens of the table's rows."""
    table = np.asarray(list(WORDS.values()), dtype=np.float32)
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"], axis=0),
        helper.make_node("ReduceSum", ["rows", "axes"], ["logits"], keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "pairs",
        [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 3])],
        [
            numpy_helper.from_array(table, "table"),
            numpy_helper.from_array(np.asarray([1], dtype=np.int64), "axes"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)


def _tokenizer() -> Tokenizer:
    numbers = {word: number for number, word in enumerate(WORDS)}
    tokenizer = Tokenizer(WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="$A", pair="$A [SEP] $B:1", special_tokens=[("[SEP]", numbers["[SEP]"])]
    )
    return tokenizer
