"""One word of a command, as far as its value can be told by reading it."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from tree_sitter import Node


class Unparsed(Exception):
    """Reading stops here: the rest cannot be told."""


class Word(Struct, frozen=True):
    """`text` is its value. If not `literal`, something is put in when it runs, and `text` has a `?` there.

    If `loose`, the shell may make other words or several out of it: a glob, braces, an unquoted expansion.
    """

    text: str
    literal: bool = True
    loose: bool = False

    @property
    def may_be_option(self) -> bool:
        """May it become an option that is not written there, or split into words one of which is?"""
        return self.splits or (
            (self.loose or not self.literal) and self.text[:1] in ("?", "*", "[", "{", "-")
        )

    @property
    def splits(self) -> bool:
        """May the shell make words of it that nothing written here begins?"""
        return self.loose and not self.literal


UNKNOWN: Final = Word("?", literal=False, loose=True)
SUBSTITUTIONS: Final = frozenset({"command_substitution", "process_substitution"})
_ESCAPED: Final = re.compile(r"\\(.)", re.S)
_IN_QUOTES: Final = re.compile(r'\\([$`"\\])')
_LOOSE: Final = re.compile(r"(?<!\\)(?:\\\\)*(?:[*?\[\]]|\{(?!\})|(?<!\{)\})")
# What these put in is text and no more. Others run commands in it (`@P`, subscripts, offsets), go through
# another variable (`!`) or set one (`=`).
_PLAIN_EXPANSION: Final = re.compile(r"\$\{#?\w+\}|\$\{\w+(?::?[-+]|##?|%%?)[^$`{}\\\"'\[\]()<>]*\}", re.A)
_PLAIN_ARITHMETIC: Final = re.compile(r"\$\(\([\d\s+*/%()<>&|^~!-]*\)\)", re.A)
_ANSI: Final = re.compile(r"\\(?:([abeEfnrtv\\'\"?])|x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))", re.S)
_ANSI_LETTERS: Final = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))


def text_of(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def substitutions_in(node: Node) -> Iterator[Node]:
    """The commands that run to make this word, outermost only: each is walked on its own."""
    if node.type in SUBSTITUTIONS:
        yield node
        return
    for child in node.children:
        yield from substitutions_in(child)


def read_word(node: Node) -> Word:
    """The word at a node; what is put in by commands of its own is the walker's business."""
    reader = _READERS.get(node.type)
    if reader is None:
        raise Unparsed(f"`{node.type}` is not a word")
    return reader(node)


def _bare(node: Node) -> Word:
    raw = text_of(node)
    if node.children:
        raise Unparsed("a word with something in it that is not known")
    text = _ESCAPED.sub(r"\1", raw)
    if raw.startswith("~"):
        return Word(raw, literal=False)
    return Word(text, loose=bool(_LOOSE.search(raw)))


def _raw(node: Node) -> Word:
    return Word(text_of(node)[1:-1])


def _ansi(node: Node) -> Word:
    def one(found: re.Match[str]) -> str:
        letter, hexadecimal, octal, other = found.groups()
        if other is not None:
            raise Unparsed(f"`\\{other}` in $'...' is not read")
        if letter is not None:
            return _ANSI_LETTERS.get(letter, letter)
        code = int(hexadecimal, 16) if hexadecimal else int(octal, 8)
        if not 0 < code < 128:
            raise Unparsed("$'...' holds bytes that are no text")
        return chr(code)

    return Word(_ANSI.sub(one, text_of(node)[2:-1]))


def _string(node: Node) -> Word:
    whole, start = node.text or b"", node.start_byte
    parts: list[str] = []
    literal, at = True, 1
    for child in node.children:
        if child.type in ('"', "string_content"):
            continue
        parts += [_unquoted(whole[at : child.start_byte - start]), "?"]
        _check_expansion(child)
        literal, at = False, child.end_byte - start
    parts.append(_unquoted(whole[at:-1]))
    return Word("".join(parts), literal=literal)


def _unquoted(raw: bytes) -> str:
    return _IN_QUOTES.sub(r"\1", raw.decode("utf-8", "replace"))


def _check_expansion(node: Node) -> None:
    """INVARIANT: an expansion that could run a command that is not seen is not read at all."""
    kind, text = node.type, text_of(node)
    if kind in SUBSTITUTIONS or kind == "simple_expansion":
        return
    if kind == "expansion" and _PLAIN_EXPANSION.fullmatch(text):
        return
    if kind == "arithmetic_expansion" and _PLAIN_ARITHMETIC.fullmatch(text):
        return
    raise Unparsed(f"what `{text[:40]}` comes to cannot be told")


def _expansion(node: Node) -> Word:
    _check_expansion(node)
    # These two are always numbers, so they are as good as one that is written there.
    return Word("0") if text_of(node) in ("$?", "$#") else UNKNOWN


def _joined(node: Node) -> Word:
    end, words = node.start_byte, []
    for child in node.children:
        if child.start_byte != end:
            raise Unparsed("parts of a word with something between them")
        end = child.end_byte
        words.append(read_word(child))
    text = "".join(word.text for word in words)
    # `{}` alone stays as it is, in all shells.
    braces = any(child.type == "word" and set("{}") & set(text_of(child)) for child in node.children)
    if braces and text_of(node).count("{") == text_of(node).count("{}") == text_of(node).count("}"):
        words, braces = (
            [Word(word.text, word.literal) if word.text in "{}" else word for word in words],
            False,
        )
    return Word(
        text, literal=all(word.literal for word in words), loose=braces or any(word.loose for word in words)
    )


def _braces(node: Node) -> Word:
    return Word(text_of(node), loose=True)


_READERS: Final = {
    "word": _bare,
    "number": _bare,
    "variable_name": _bare,
    "raw_string": _raw,
    "ansi_c_string": _ansi,
    "string": _string,
    "simple_expansion": _expansion,
    "expansion": _expansion,
    "arithmetic_expansion": _expansion,
    "command_substitution": _expansion,
    "process_substitution": lambda _: Word("/dev/fd/?", literal=False),
    "concatenation": _joined,
    "brace_expression": _braces,
}
