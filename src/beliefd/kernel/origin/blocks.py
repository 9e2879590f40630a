"""Block YAML as programs print it, read without a library: all of it, or it is a plain text."""

import re
from typing import Any, Final

from msgspec import Struct

MAX_DEPTH: Final = 16
_KEY: Final = re.compile(
    r"""(?P<key>'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|[^\s\-?:,\[\]{}#&*!|>'"%@`][^:#]*?|-?[\d.]+|[\w.+-]+@[\w.-]+):(?:\s+|$)"""
)
_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b", "_": "\xa0", "N": "\x85", "a": "\a", "b": "\b",
}  # fmt: skip
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.S)


class NotBlocks(ValueError):
    """The text is something else."""


class _Reader(Struct):
    lines: list[str]
    at: int = 0

    def indent(self) -> int:
        """Of the next line that is not empty; -1 at the end."""
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1
        if self.at >= len(self.lines):
            return -1
        line = self.lines[self.at]
        return len(line) - len(line.lstrip(" "))


def read_blocks(text: str) -> Any:
    """A list of mappings or a mapping; everything else raises `NotBlocks`."""
    reader = _Reader(text.split("\n"))
    if reader.indent() != 0:
        raise NotBlocks
    value = _node(reader, 0, 0)
    if reader.indent() != -1 or not isinstance(value, dict | list):
        raise NotBlocks
    return value


def _node(reader: _Reader, indent: int, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise NotBlocks
    line = reader.lines[reader.at][indent:]
    return (
        _list(reader, indent, depth)
        if line == "-" or line.startswith("- ")
        else _mapping(reader, indent, depth)
    )


def _list(reader: _Reader, indent: int, depth: int) -> list[Any]:
    found = []
    while reader.indent() == indent:
        line = reader.lines[reader.at][indent:]
        if not (line == "-" or line.startswith("- ")):
            break
        rest = line[1:].lstrip(" ")
        inner = indent + len(line) - len(rest)
        if _KEY.match(rest) or rest.startswith("- "):
            reader.lines[reader.at] = " " * inner + rest  # the first key stands where its siblings do
            found.append(_node(reader, inner, depth + 1))
        else:
            reader.at += 1
            found.append(_scalar(reader, rest, indent))
    return found


def _mapping(reader: _Reader, indent: int, depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while reader.indent() == indent:
        line = reader.lines[reader.at][indent:]
        matched = _KEY.match(line)
        if not matched or line.startswith("- "):
            raise NotBlocks
        key = str(_plain(matched["key"]))
        if key in found:  # written twice: somebody wrote into somebody else's record
            raise NotBlocks
        rest = line[matched.end() :]
        reader.at += 1
        found[key] = _scalar(reader, rest, indent) if rest else _below(reader, indent, depth)
    if not found:
        raise NotBlocks
    return found


def _below(reader: _Reader, indent: int, depth: int) -> Any:
    """What a key without a value on its line holds: a deeper block, or a list at the same indent."""
    deeper = reader.indent()
    listed = deeper == indent and reader.lines[reader.at][indent:].startswith("-")
    return _node(reader, deeper, depth + 1) if deeper > indent or listed else None


def _scalar(reader: _Reader, first: str, indent: int) -> Any:
    if re.match(r"[|>][+-]?\d?$", first):
        return _literal(reader, indent)
    if first[:1] in "'\"":
        return _quoted(reader, first)
    pieces = [first]
    while reader.at < len(reader.lines):
        line = reader.lines[reader.at]
        if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
            break
        if ": " in line or line.endswith(":"):  # a key inside of a plain text: no program prints that
            raise NotBlocks
        pieces.append(line.strip())
        reader.at += 1
    return _plain(_fold(pieces))


def _fold(pieces: list[str]) -> str:
    text = pieces[0]
    empty = 0
    for piece in pieces[1:]:
        if not piece:
            empty += 1
            continue
        text += "\n" * empty if empty else " "
        text += piece
        empty = 0
    return text.rstrip()


def _literal(reader: _Reader, indent: int) -> str:
    pieces = []
    while reader.at < len(reader.lines):
        line = reader.lines[reader.at]
        if line.strip() and len(line) - len(line.lstrip(" ")) <= indent:
            break
        pieces.append(line.strip())
        reader.at += 1
    return "\n".join(pieces).strip()


def _quoted(reader: _Reader, first: str) -> str:
    quote, pieces, line = first[0], [], first[1:]
    end = re.compile(r"(?:[^']|'')*'(?!')" if quote == "'" else r'(?:[^"\\]|\\.)*"')
    while True:
        if closed := end.match(line):
            if line[closed.end() :].strip():
                raise NotBlocks
            pieces.append(line[: closed.end() - 1])
            break
        pieces.append(line.strip() if pieces else line.rstrip())
        if reader.at >= len(reader.lines):
            raise NotBlocks
        line = reader.lines[reader.at].strip()
        reader.at += 1
    if quote == "'":
        return _fold(pieces).replace("''", "'")
    return _unescaped(_fold_escaped(pieces))


def _fold_escaped(pieces: list[str]) -> str:
    """A backslash at the end of a line joins it with the next."""
    text, empty, joined = pieces[0], 0, False
    for piece in pieces[1:]:
        joined = (len(text) - len(text.rstrip("\\"))) % 2 == 1 and not empty
        if not piece:
            empty += 1
            continue
        text = text[:-1] + piece if joined else text + ("\n" * empty or " ") + piece
        empty = 0
    return text


def _unescaped(text: str) -> str:
    def resolved(found: "re.Match[str]") -> str:
        code = found[1] or found[2] or found[3]
        return (
            chr(int(code, 16))
            if code and int(code, 16) < 0x110000
            else _ESCAPES.get(found[4] or "", found[4] or "")
        )

    return _ESCAPE.sub(resolved, text)


def _plain(raw: str) -> Any:
    text = raw.strip()
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text[:1] == '"' and text[-1:] == '"' and len(text) > 1:
        return _unescaped(text[1:-1])
    if text in ("", "~", "null", "Null", "None"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if text in ("[]", "{}"):
        return []
    if text[0] == "[" and text[-1] == "]":
        return [_plain(item) for item in text[1:-1].split(",")]
    if re.fullmatch(r"-?\d{1,15}", text):
        return int(text)
    return text
