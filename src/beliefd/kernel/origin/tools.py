"""What a tool does, from what is declared about it and, failing that, from its name."""

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from msgspec import Struct

from beliefd.kernel.origin.lexicon import BIT, Class, Lexicon
from beliefd.kernel.origin.spelling import name_words
from beliefd.kernel.values import Id, Object, Value

Tier = Literal["read", "egress", "write"]


class ToolInfo(Value, frozen=True):
    """What is pinned or declared about a tool. `tier` None: the verb in the name decides, unknown = write."""

    tool_id: Id
    description: str = ""
    schema: Object = {}
    tier: Tier | None = None
    open_world: bool | None = None
    destructive: bool | None = None
    identity: bool = False


class Trade(Struct, frozen=True):
    """What a tool does, in words: its verb, classes as bits, the groups of things it is about."""

    verb: str
    name: Class
    mask: int
    reads: bool
    words: frozenset[str]
    nouns: frozenset[str]
    groups: frozenset[str]


def trade(tool: ToolInfo, lexicon: Lexicon) -> Trade:
    bare = not properties(tool)
    about = tool.description[:400]
    return _trade(tool.tool_id, about, bool(tool.destructive), bare, tool.tier, _Held(lexicon))


class _Held:
    """A lexicon for a cache that knows it by identity already."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon = lexicon

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.lexicon is self.lexicon

    def __hash__(self) -> int:
        return id(self.lexicon)


@lru_cache(4_096)
def _trade(
    tool_id: str, description: str, destructive: bool, bare: bool, tier: Tier | None, held: _Held
) -> Trade:
    lexicon = held.lexicon
    verb, name = _verb(tool_id, lexicon)
    if name is None:
        verb, name = _described(description, lexicon) if tier is None else ("", None)
    words = name_words(tool_id)
    if name is None and bare and description and all(word in lexicon.groups for word in words):
        name = "read"  # a thing without a verb that takes nothing: `playlists`
    verb = verb or _unknown_verb(tool_id, lexicon)
    nouns = [word for word in words if word not in verb.split() and word not in lexicon.stops]
    pairs = [f"{left} {right}" for left, right in pairwise(words)]
    groups = frozenset[str]().union(*(lexicon.groups.get(noun, frozenset()) for noun in [*nouns, *pairs]))
    if not groups:
        groups = frozenset().union(*(lexicon.groups.get(word, frozenset()) for word in words))
    reads = name == "read" if tier is None else tier != "write"
    if destructive:
        name, reads = ("delete" if name in (None, "read", "other") else name), False
    if name == "read" and not reads:
        name = "other"
    mask = BIT[name or "other"]
    if not reads and name in ("create", "update", None):  # to add a comment is to comment
        for noun in nouns:
            mask |= BIT[lexicon.faint[noun]] if lexicon.faint.get(noun) in ("send", "pay", "reserve") else 0
    for rule in lexicon.becomes:
        if not reads and name in rule.of and rule.group in groups:
            mask |= BIT[rule.to]
            name = rule.to
            break
    return Trade(verb, name or "other", mask, reads, frozenset(words), frozenset(nouns), groups)


def _verb(tool_id: str, lexicon: Lexicon) -> tuple[str, Class | None]:
    """The verb of a name: of its last part first, a plain verb before one that may be a noun."""
    parts = [
        part
        for piece in tool_id.split("__")
        for part in piece.replace("/", ".").replace(":", ".").split(".")
        if part
    ]
    for piece in (*parts[-1:], tool_id):
        words = name_words(piece)
        found = _strong(words, lexicon)
        if found and found[1] == "read" and (other := _second(words, lexicon)):
            return other
        faint = _of(words, lexicon.faint)
        if not found and words and words[-1] in lexicon.endings:
            return words[-1], "read"
        if found or faint:
            return found or faint or ("", None)
    return "", None


def _strong(words: list[str], lexicon: Lexicon) -> tuple[str, Class] | None:
    """The first plain verb. One that is a thing too (`smart_lock_get_status`) gives way to another."""
    first = _of(words, lexicon.strong)
    if first is None or first[0] not in lexicon.groups:
        return first
    rest = words[words.index(first[0]) + 1 :]
    if (other := _strong(rest, lexicon)) is not None:
        return other
    reading = next((word for word in words if word in lexicon.endings), None)
    return (reading, "read") if reading and not _second(words, lexicon) else first


def _unknown_verb(tool_id: str, lexicon: Lexicon) -> str:
    """A verb that no lexicon has is the first word of the last part."""
    words = name_words(re.split(r"__|[./:]", tool_id)[-1]) or name_words(tool_id)
    return next((word for word in words if word not in lexicon.groups), words[0] if words else "")


def _of(words: list[str], verbs: Mapping[str, Class]) -> tuple[str, Class] | None:
    for at, word in enumerate(words):
        pair = f"{word} {words[at + 1]}" if at + 1 < len(words) else ""
        if pair in verbs:
            return pair, verbs[pair]
        if word in verbs:
            return word, verbs[word]
    return None


def _second(words: list[str], lexicon: Lexicon) -> tuple[str, Class] | None:
    """`find_and_delete`, `get_or_create`: what is done after the reading counts."""
    for at, word in enumerate(words[:-1]):
        if (
            word in ("and", "or", "then")
            and (found := _of(words[at + 1 :], lexicon.strong))
            and found[1] != "read"
        ):
            return found
    return None


def _described(description: str, lexicon: Lexicon) -> tuple[str, Class | None]:
    """The verb its description begins with, for names without one."""
    words = name_words(description[:80])[:2]
    for word in words:
        for base in (word, word.removesuffix("s"), word.removesuffix("es")):
            if base in lexicon.strong:
                return base, lexicon.strong[base]
    return "", None


def properties(tool: ToolInfo) -> Mapping[str, Any]:
    found = tool.schema.get("properties")
    return found if isinstance(found, dict) else {}


def closed_set(tool: ToolInfo, name: str) -> bool:
    """Is the argument one of values that the tool itself lists?"""
    spec = properties(tool).get(name)
    if not isinstance(spec, dict):
        return False
    nested = [spec.get(key) for key in ("anyOf", "oneOf", "allOf")]
    lists = [some for some in nested if isinstance(some, list)]
    options = [spec, *(item for some in lists for item in some if isinstance(item, dict))]
    shared = tool.schema.get("$defs")
    for item in options:
        target = str(item.get("$ref", "")).rpartition("/")[2]
        resolved = shared.get(target, item) if isinstance(shared, dict) else item
        if isinstance(resolved, dict) and ("enum" in resolved or "const" in resolved):
            return True
    return spec.get("type") == "boolean"


def goes_out(tool: ToolInfo, args: Mapping[str, Any], lexicon: Lexicon) -> bool:
    """Does a read take an address of somewhere else?"""
    named = lexicon.names["url"]
    if any(word in named for name in (*properties(tool), *args) for word in name_words(name)):
        return True
    return any(
        isinstance(value, str) and value[:8].casefold().startswith(("http://", "https://"))
        for value in args.values()
    )
