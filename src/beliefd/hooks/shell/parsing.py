"""From the text of a script to a tree that is taken at its word: what is doubtful is not read at all."""

import re
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from beliefd.hooks.shell.words import Unparsed

LANGUAGE: Final = Language(tree_sitter_bash.language())
MAX_DEPTH: Final = 60
MAX_NODES: Final = 8_000
OPEN_NODES: Final = frozenset({"string", "heredoc_body", "raw_string", "ansi_c_string", "heredoc_redirect"})
"""Where text may stand between the children of a node."""
NOT_POSIX: Final = frozenset(
    {"ansi_c_string", "translated_string", "herestring_redirect", "process_substitution", "brace_expression"}
)
NOT_POSIX_SIGNS: Final = frozenset({"[[", "&>", "&>>", "|&", ">&"})
_COMMENT_AFTER: Final = re.compile(rb"(?:\A|[^\\])[ \t\n;&|()]\Z|\A\Z")
MAX_BYTES: Final = 20_000
MAX_TEXTS: Final = 20
"""How many texts and lists may stand in a command: the parser's time grows with their square."""
_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\xa0\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff\ud800-\udfff]"
)


def parsed(text: str, *, posix: bool) -> Node:
    """The tree of a script. With `posix`, shells other than bash must read it in the same way."""
    source = prepared(text)
    root = Parser(LANGUAGE).parse(source).root_node
    check_tree(root, source, posix=posix)
    return root


def check_tree(root: Node, source: bytes, *, posix: bool) -> None:
    """INVARIANT: what the parser skipped, guessed or took for a comment too early is not read at all."""
    if (source[: root.start_byte] + source[root.end_byte :]).strip(b" \t\n"):
        raise Unparsed("something stands around it")  # the parser takes an escaped blank for a blank
    seen, waiting = 0, [(root, 0)]
    while waiting:
        node, depth = waiting.pop()
        seen += 1
        if seen > MAX_NODES or depth > MAX_DEPTH:
            raise Unparsed("it is too long or too deep to read")
        if node.is_error or node.is_missing:
            raise Unparsed("its grammar is not understood")
        if node.type == "comment" and not _COMMENT_AFTER.search(
            source[max(0, node.start_byte - 2) : node.start_byte]
        ):
            raise Unparsed("it is not clear whether `#` begins a comment")
        if posix and (node.type in NOT_POSIX or node.type in NOT_POSIX_SIGNS):
            raise Unparsed("shells differ in how they read it")
        _check_gaps(node, source)
        waiting += [(child, depth + 1) for child in node.children]


def _check_gaps(node: Node, source: bytes) -> None:
    if not node.children or node.type in OPEN_NODES:
        return
    at = node.start_byte
    for child in node.children:
        if source[at : child.start_byte].strip(b" \t\n"):
            raise Unparsed("something stands between its parts")
        at = max(at, child.end_byte)
    if source[at : node.end_byte].strip(b" \t\n"):
        raise Unparsed("something stands behind its parts")


def prepared(text: str) -> bytes:
    """A script as bytes, with lines joined as the shell joins them."""
    if _CONTROL.search(text):
        raise Unparsed("it holds characters that do not show")
    if len(text) > MAX_BYTES or any(text.count(sign) > MAX_TEXTS for sign in ("<<", "=(")):
        raise Unparsed("it is too long to read")
    if "\\\n" in text:
        text = _joined_lines(text)
    return text.encode()


def _joined_lines(text: str) -> str:
    """INVARIANT: lines are joined only where quotes alone decide whether they are."""
    if any(sign in text for sign in ("#", "<<", "$'", "`")):
        raise Unparsed("whether its lines belong together is not clear")
    parts, quote, at = [], "", 0
    while at < len(text):
        letter = text[at]
        if letter == "\\" and quote != "'":
            pair = text[at : at + 2]
            parts.append("" if pair == "\\\n" else pair)
            at += 2
            continue
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        parts.append(letter)
        at += 1
    return "".join(parts)
