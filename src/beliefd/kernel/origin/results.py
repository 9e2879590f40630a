"""What a tool returned, as records of fields: JSON, YAML, Python, tables, head lines, or just text."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from beliefd.kernel.origin.blocks import NotBlocks, read_blocks
from beliefd.kernel.origin.lexicon import Lexicon
from beliefd.kernel.origin.spelling import SINK_SHAPES, name_words, shape_of

MAX_PARSED: Final = 256 * 1024
"""Longer texts are not parsed: they are plain text."""
_MAX_NESTED: Final = 200
_MAX_KEY: Final = 3
"""Words in the name of a field."""
_SENTENCE: Final = re.compile(r"[.!?,](?:\s|$)")
_HEADER: Final = re.compile(r"([A-Za-z][\w /-]{0,30}):[ \t]+(\S.*)$")


def parsed(text: str, lexicon: Lexicon | None = None) -> Any:
    """A dict or list, or None if the text is just text. A lexicon knows more words that are in no key."""
    text = text.strip()
    if not text or len(text) > MAX_PARSED:
        return None
    for attempt in (_json, _python, _json_lines):
        value = attempt(text)
        if isinstance(value, dict | list) and value:
            return value
    # Prose has colons, commas and dashes, too: what programs print so has keys that look like keys.
    for attempt in (_table, _blocks, _csv, _headers):
        value = attempt(text)
        if isinstance(value, dict | list) and value and not _one_line(value):
            return value if all(is_key(key, lexicon) for key in keys(value)) else None
    return None


def is_key(key: str, lexicon: Lexicon | None = None) -> bool:
    """Is it what programs call a field: a few words without an order, and no sentence?"""
    words = key.split()
    if len(words) > _MAX_KEY or _SENTENCE.search(key):
        return False
    if lexicon is None:
        return True
    plain = name_words(key) if len(words) > 1 else [key.lower()]
    if not lexicon.prose_words.isdisjoint(plain):
        return False
    return len(words) < 2 or not any(
        lexicon.strong.get(word, "read") != "read" and word not in lexicon.things for word in plain
    )


def _one_line(value: Any) -> bool:
    """`name: value` and nothing else, as anybody writes it; but an answer of one word is a program's."""
    if isinstance(value, list):
        several = {key for item in value if isinstance(item, dict) for key in item}
        if len(value) > 1 and len(several) == len(value) and all(map(_one_line, value)):
            return True  # a list of points, each about something else
        return len(value) == 1 and _one_line(value[0])
    if not isinstance(value, dict) or len(value) != 1:
        return False
    held = next(iter(value.values()))
    return isinstance(held, str) and (len(held.split()) > 1 or shape_of(held) in SINK_SHAPES)


def keys(value: Any, depth: int = 0) -> Iterator[str]:
    """Those of all mappings in it."""
    if depth > _MAX_NESTED:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from keys(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from keys(item, depth + 1)


def _json(text: str) -> Any:
    if text[0] not in "{[":
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json_lines(text: str) -> Any:
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < 2:
        return None
    found = [_json(line.strip()) or _python(line.strip()) for line in lines]
    return found if all(isinstance(item, dict) for item in found) else None


def _python(text: str) -> Any:
    """Literals, and objects as `Name(field='value')`. Nothing is run."""
    if not re.match(r"[\[({]|[A-Z]\w*\(", text) or sum(map(text.count, "([{")) > 20_000:
        return None
    try:
        return _literal(ast.parse(text, mode="eval").body, 0)
    except (ValueError, TypeError, SyntaxError, OverflowError, RecursionError, MemoryError):
        return None


def _literal(node: ast.AST, depth: int) -> Any:
    if depth > _MAX_NESTED:
        raise ValueError
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | int | float | bool | None) else str(node.value)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_literal(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Dict) and all(node.keys):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_literal(key, depth + 1)): _literal(value, depth + 1) for key, value in pairs if key}
    if isinstance(node, ast.Call):
        if node.keywords:
            return {word.arg or "": _literal(word.value, depth + 1) for word in node.keywords}
        return " ".join(str(_literal(item, depth + 1)) for item in node.args)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand, depth + 1)
    if isinstance(node, ast.Attribute | ast.Name):
        return ast.unparse(node)
    raise ValueError


def _blocks(text: str) -> Any:
    if ":" not in text and not text.startswith("- "):
        return None
    try:
        found = read_blocks(text.replace("\r\n", "\n"))
    except (NotBlocks, RecursionError):
        return None
    if isinstance(found, dict) or all(isinstance(item, dict) for item in found):
        return found
    # A list of bare lines is a text with dashes, unless most lines are names. A longer one is a text in it.
    named = sum(isinstance(item, str | int) and len(str(item).split()) <= 3 for item in found)
    plain = all(isinstance(item, str | int) for item in found)
    return found if plain and 2 * named > len(found) else None


def _table(text: str) -> Any:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if (
        len(lines) < 3
        or not all(line.startswith("|") for line in lines)
        or not re.match(r"\|[\s:|-]+$", lines[1])
    ):
        return None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return _rows(rows[0], rows[2:])


def _csv(text: str) -> Any:
    lines = [line for line in text.split("\n") if line.strip()]
    for mark in (",", "\t", ";"):
        rows = [_cells(line, mark) for line in lines]
        plain = all(re.fullmatch(r"[\w #/()-]{1,40}", cell) for cell in rows[0])
        if len(rows) > 1 and len(rows[0]) > 1 and plain and len({len(row) for row in rows}) == 1:
            return _rows(rows[0], rows[1:])
    return None


def _cells(line: str, mark: str) -> list[str]:
    if '"' not in line:
        return [cell.strip() for cell in line.split(mark)]
    found = re.findall(rf'(?:^|{mark})(?:"((?:[^"]|"")*)"|([^{mark}]*))', line)
    return [(quoted.replace('""', '"') or plain).strip() for quoted, plain in found]


def _rows(head: list[str], rows: list[list[str]]) -> Any:
    if any(len(row) != len(head) for row in rows):
        return None
    return [dict(zip(head, row, strict=True)) for row in rows]


def _headers(text: str) -> Any:
    """`From: ..` lines up to the first empty one; what follows is the body."""
    head, _, body = text.partition("\n\n")
    found: dict[str, Any] = {}
    for line in head.split("\n"):
        matched = _HEADER.match(line.strip())
        if not matched or matched[1] in found:
            return None
        found[matched[1]] = matched[2]
    return {**found, "body": body} if len(found) > 1 else None


def fields(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str, Any]]:
    """(path, own name, value) of each leaf. Members of a list bear its name, a key may be a value too."""
    if depth > _MAX_NESTED:
        return
    if isinstance(value, dict):
        for raw, item in value.items():
            key = str(raw)
            if "@" in key or "://" in key:  # a mapping by address holds the address
                yield path, path.rpartition(".")[2], key
            yield from fields(item, f"{path}.{key}" if path else key, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from fields(item, path, depth + 1)
    elif value is not None and not isinstance(value, bool):
        yield path, path.rpartition(".")[2], value


def records(value: Any) -> list[Any]:
    """The records of a result: members of its list, also of a list under its only list-valued key.

    What only wraps others (`{"data": {"items": [..]}}`) is none.
    """
    if isinstance(value, list):
        return [one for item in value for one in (records(item) if _wraps_list(item) else [item])]
    if isinstance(value, dict):
        if len(value) > 1 and all(isinstance(item, dict) for item in value.values()):
            return [{"key": key, **item} for key, item in value.items()]
        lists = [
            item for item in value.values() if isinstance(item, list) and item and isinstance(item[0], dict)
        ]
        if len(lists) == 1:
            rest = {key: item for key, item in value.items() if item is not lists[0]}
            return [*records(lists[0]), rest]
        inner = [item for item in value.values() if isinstance(item, dict)]
        if not lists and len(inner) == 1 and len(found := records(inner[0])) > 1:
            return [*found, {key: item for key, item in value.items() if item is not inner[0]}]
    return [value]


def _wraps_list(value: Any) -> bool:
    held = next(iter(value.values())) if isinstance(value, dict) and len(value) == 1 else None
    return isinstance(held, list) and bool(held) and isinstance(held[0], dict)
