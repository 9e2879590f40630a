"""What a tool is told to do by its arguments: by a statement, a method or a command."""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from beliefd.kernel.origin.lexicon import BIT, Lexicon
from beliefd.kernel.origin.spelling import folded, name_words
from beliefd.kernel.origin.statements import Change, change_of, reads_only
from beliefd.kernel.origin.tools import MAX_ARGUMENT, ToolInfo, Trade, texts_in

_STATED: Final = frozenset(
    {"sql", "query", "statement", "mutation", "graphql", "content", "body", "code", "expression", "request"}
)
_COMMANDS: Final = frozenset({"command", "cmd", "commands", "shell", "script"})
_METHODS: Final = frozenset({"method", "verb", "operation", "action", "mode", "op"})
_WRITES: Final = frozenset({"post", "put", "patch", "delete"})
_STATEMENT: Final = re.compile(
    r"(?:^|[;({]|\bthen\b|\bas\b)\s*(?:insert\s+(?:or\s+\w+\s+)?into|replace\s+into|update\s+\S+\s+set|delete\s+from|merge\s+into"
    r"|(?:drop|alter|create|truncate|rename)\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+)?"
    r"(?:table|database|schema|index|view|user|role|function|trigger|procedure|sequence|type|extension)\b"
    r"|truncate\s+\w|grant\s+\S.*\bto\b|revoke\s+\S.*\bfrom\b|copy\s+(?:\S+|\(.{1,2000}\)|[\w.]{1,200}\s?\([^()]{1,2000}\))\s+(?:from|to)\b|call\s+\w+\s*\(|exec(?:ute)?\s+\w"
    r"|attach\s+database|load\s+data|vacuum\b|mutation\b(?=[\s({\w]*[({]))|\binto\s+(?:outfile|dumpfile)\b",
    re.S,
)
_REMARK: Final = re.compile(r"/\*.*?\*/|--[^\n]*|^\s*#[^\n]*", re.S | re.M)


def writes_by_argument(tool: ToolInfo, args: Mapping[str, Any], lexicon: Lexicon) -> bool:
    """Is a read told to write: by a statement, a method or a command that stands in its arguments?"""
    if tool.open_world or tool.examined:  # who searches there passes words on, and no statement
        return False
    declared = lexicon.names["text"] if tool.tier is not None else frozenset()
    for name, text in texts_in(args):
        words = name_words(name)
        if not words:
            continue
        plain = folded(text[:MAX_ARGUMENT]).strip()
        if not _COMMANDS.isdisjoint(words) and plain:
            return True
        if not _METHODS.isdisjoint(words) and (
            plain in _WRITES or lexicon.strong.get(plain, "read") != "read"
        ):
            return True
        if tool.tier is None and "sql" in words and plain and not reads_only(text):
            return True
        if not (_STATED - declared).isdisjoint(words) and _STATEMENT.search(_REMARK.sub(" ", plain)):
            return True
    return False


_RUNS: Final = frozenset({"run", "execute", "exec", "sql", "query"})
_ASIDE_WORDS: Final = """
    database db schema catalog warehouse params parameters args values bindings limit max rows timeout
    ms seconds connection dialect format read only project dataset region
"""
_ASIDE: Final = frozenset(_ASIDE_WORDS.split())
"""Words of arguments beside a statement that change nothing of what it does."""


def statement_of(tool: ToolInfo, what: Trade, args: Mapping[str, Any]) -> str | None:
    """The SQL that a tool does nothing but run; None for other tools."""
    if tool.destructive or "database" not in what.groups or not _RUNS & {what.verb, *what.nouns}:
        return None
    if what.name not in ("control", "other", "read"):  # `create_view`, `email_query`
        return None
    stated = [name for name in args if {"sql", "query", "statement"} & set(name_words(name))]
    beside = {word for name in args if name not in stated for word in name_words(name)}
    if len(stated) != 1 or beside - _ASIDE or not isinstance(args[stated[0]], str):
        return None
    return str(args[stated[0]])


def only_asks(tool: ToolInfo, what: Trade, args: Mapping[str, Any]) -> bool:
    """Is a tool that runs statements given one that only reads? What is declared to write does."""
    text = statement_of(tool, what, args) if tool.tier is None else None
    return text is not None and reads_only(text)


def changed_by(tool: ToolInfo, what: Trade, args: Mapping[str, Any]) -> tuple[Trade, Change | None]:
    """What a tool that runs statements does is what they say. What is not understood has no table."""
    text = statement_of(tool, what, args)
    if text is None or reads_only(text):
        return what, None
    change = change_of(text)
    if change is None:
        return what, Change("control", "", ())
    return replace(what, name=change.action, mask=BIT[change.action]), change
