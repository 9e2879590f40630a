"""What a tool does, from what is declared about it and, failing that, from its name."""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal

from msgspec import Struct

from beliefd.kernel.origin.lexicon import BIT, Class, Lexicon
from beliefd.kernel.origin.spelling import folded, name_words
from beliefd.kernel.values import Id, Object, Value

Tier = Literal["read", "egress", "write"]


class ToolInfo(Value, frozen=True):
    """What is pinned or declared about a tool. `tier` None: the verb in the name decides, unknown = write.

    `examined`: its command or the files it writes were looked into, and `tier` is what came of that.
    """

    tool_id: Id
    description: str = ""
    schema: Object = {}
    tier: Tier | None = None
    open_world: bool | None = None
    destructive: bool | None = None
    identity: bool = False
    examined: bool = False


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
    reads = name == "read" and not disguised(tool_id) if tier is None else tier != "write"
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


def disguised(tool_id: str) -> bool:
    """Is a name written so that it looks like another: full-width, with invisible characters or blanks?

    INVARIANT: such a name declares nothing. Who means the tool it looks like did not speak of this one.
    """
    shown = "".join(char for char in tool_id if unicodedata.category(char) not in ("Cf", "Cc", "Cs"))
    return unicodedata.normalize("NFKC", shown).strip() != tool_id


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
    return _besides(words, lexicon)


def _besides(words: list[str], lexicon: Lexicon) -> tuple[str, Class] | None:
    """`find_replace`, `instances_describe_terminate`: a verb that is no thing does what it says."""
    if words[-1:] and words[-1] in lexicon.endings:
        return None  # `get_delete_history`
    for word in words:
        name = lexicon.strong.get(word, "read")
        if name != "read" and word not in lexicon.things and word not in lexicon.groups:
            return word, name
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
    asks = not _LOOKS_UP.isdisjoint(name_words(tool.tool_id))
    for name, text in texts_in(args):
        plain = folded(text[:MAX_ARGUMENT]).strip()
        # A prompt or a note may speak of an address without going there.
        prose = len(plain.split()) > _FEW or not lexicon.names["text"].isdisjoint(name_words(name))
        if is_address(plain[:_BEGIN] if prose else plain, anywhere=not prose):
            return True
        if asks and _BARE.fullmatch(plain):
            return True
        # A folder may be called like a host, so what is said to be a path is one.
        if _PAGE.match(plain) and lexicon.names["path"].isdisjoint(name_words(name)):
            return True
    return False


_LOOKS_UP: Final = frozenset({"dns", "whois", "resolve", "resolver", "lookup", "ping", "dig", "nslookup"})
_BARE: Final = re.compile(r"(?:[\w-]{1,63}\.)+[a-z][a-z0-9-]{1,62}\.?")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,15}:(?://|\\\\)(?=[^/\s])")
_SHARED: Final = re.compile(r"[/\\]{2}[\w.-]+(?:[/\\?]|$)")
_HOSTED: Final = re.compile(
    r"(?:[\w-]{1,63}\.)+[a-z]{2,24}(?::\d+)?(?:/\S*)?\?\S|(?:[\w-]{1,63}\.)+[a-z]{2,24}:\d+/"
)
_PAGE: Final = re.compile(r"(?:[\w-]{1,63}\.)+[a-z]{2,24}/\S")
MAX_ARGUMENT: Final = 20_000
"""Characters of an argument that are read for addresses and statements."""


_FEW: Final = 6
_BEGIN: Final = 2_048


def is_address(text: str, *, anywhere: bool = True) -> bool:
    """With a scheme anywhere, or a host at its begin: `//host/`, `\\\\host\\`, `host.example/page?q=1`."""
    plain = folded(text[:MAX_ARGUMENT]).strip()
    if (_SCHEME.search(plain) if anywhere else _SCHEME.match(plain)) or _SHARED.match(plain):
        return True
    return _HOSTED.match(plain) is not None


def texts_in(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """(name, text) of everything in arguments that is text, keys of objects as well."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping) and depth < MAX_NESTED:
        for key, item in value.items():
            yield name, str(key)
            yield from texts_in(item, str(key), depth + 1)
    elif isinstance(value, list | tuple) and depth < MAX_NESTED:
        for item in value:
            yield from texts_in(item, name, depth + 1)
    elif isinstance(value, Mapping | list | tuple):
        yield name, str(value)


MAX_NESTED: Final = 64
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
    r"|truncate\s+\w|grant\s+\S.*\bto\b|revoke\s+\S.*\bfrom\b|copy\s+\S+\s+(?:from|to)\b|call\s+\w+\s*\(|exec(?:ute)?\s+\w"
    r"|attach\s+database|load\s+data|vacuum\b|mutation\b(?=[\s({\w]*[({]))",
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
        if not (_STATED - declared).isdisjoint(words) and _STATEMENT.search(_REMARK.sub(" ", plain)):
            return True
    return False
