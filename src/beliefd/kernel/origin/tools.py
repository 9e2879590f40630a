"""What a tool does, from what is declared about it and, failing that, from its name."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.origin.lexicon import BIT, Class, Lexicon
from beliefd.kernel.origin.spelling import ENDING, folded, is_file_name, name_words
from beliefd.kernel.origin.verbs import described_verb, own_part, unknown_verb, verb_of, written_verb
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
    """What a tool does, in words: its verb, classes as bits, the groups of things it is about.

    `words` are those of its own name, `whole` those of its server's, too.
    """

    verb: str
    name: Class
    mask: int
    reads: bool
    words: frozenset[str]
    nouns: frozenset[str]
    groups: frozenset[str]
    whole: frozenset[str]


def trade(tool: ToolInfo, lexicon: Lexicon) -> Trade:
    bare = not properties(tool)
    about = tool.description[:400]
    return _trade(tool.tool_id, about, bool(tool.destructive), bare, tool.tier, _Held(lexicon))


def as_hinted(tool: ToolInfo, reads: bool | None, lexicon: Lexicon, *, trusted: bool = False) -> ToolInfo:
    """A tool with what its own server says: that it only reads, or that it does not.

    INVARIANT: such a word raises what a tool is taken for, and never lowers it. So it makes a reading only of
    a tool whose name and description do not tell that it does more, unless the server is `trusted`.
    """
    if not reads:
        return tool if reads is None else replace(tool, tier="write")
    told = trade(replace(tool, tier=None, destructive=None), lexicon)
    silent = told.name == "other" and not tool.destructive and not disguised(tool.tool_id)
    return replace(tool, tier="read", destructive=None) if trusted or told.reads or silent else tool


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
    verb, name = verb_of(tool_id, lexicon)
    words, whole = name_words(own_part(tool_id)), name_words(tool_id)
    told = described_verb(description, lexicon, bare=bare) if tier is None else ("", None)
    # A noun that reads gives way to what is said to be done: `schedule_query`, "Run a query every night".
    faint = name == "read" and verb not in lexicon.strong and verb != words[0]
    if faint and told[1] not in ("read", None):
        verb, name = written_verb(words, lexicon) or told
    elif name is None:
        verb, name = told[0] or verb, told[1]
    elif name == "read" and told[0] in words and told[1] != "read":
        verb, name = told  # what the name has besides is said to be done: `compute_stop`, "Stop an instance"
    things = all(word in lexicon.groups or word in lexicon.stops for word in words)
    if name is None and bare and description and things:
        name = "read"  # a thing without a verb that takes nothing: `playlists`
    verb = verb or unknown_verb(tool_id, lexicon)
    # What a server is called says what its tools are about only where they do not say it themselves.
    if not _groups(words, verb, lexicon):
        words = [*[word for word in whole if word in lexicon.groups and word not in words], *words]
    nouns = [word for word in words if word not in verb.split() and word not in lexicon.stops]
    groups = _groups(words, verb, lexicon) or _groups(words, "", lexicon)
    reads = name == "read" and not disguised(tool_id) if tier is None else tier != "write"
    if destructive:
        name, reads = ("delete" if name in (None, "read", "other") else name), False
    if name == "read" and not reads:
        name = "other"
    mask = BIT[name or "other"]
    if not reads and verb in lexicon.faint and verb not in lexicon.strong:
        mask |= lexicon.faint_mask(verb)
    if not reads and name in ("create", "update", None):  # to add a comment is to comment
        for noun in nouns:
            mask |= BIT[lexicon.faint[noun]] if lexicon.faint.get(noun) in ("send", "pay", "reserve") else 0
        if name == "create" and words and lexicon.faint.get(words[-1]) == "send":
            name = "send"
    for rule in lexicon.becomes:
        if not reads and name in rule.of and rule.group in groups:
            mask |= BIT[rule.to]
            name = rule.to
            break
    return Trade(
        verb, name or "other", mask, reads, frozenset(words), frozenset(nouns), groups, frozenset(whole)
    )


def _groups(words: list[str], verb: str, lexicon: Lexicon) -> frozenset[str]:
    """Of the things that the words name, besides the verb."""
    nouns = [word for word in words if word not in verb.split() and word not in lexicon.stops]
    pairs = [f"{left} {right}" for left, right in pairwise(words)]
    return frozenset[str]().union(*(lexicon.groups.get(noun, frozenset()) for noun in [*nouns, *pairs]))


def disguised(tool_id: str) -> bool:
    """Is a name written so that it looks like another: full-width, with invisible characters or blanks?

    INVARIANT: such a name declares nothing. Who means the tool it looks like did not speak of this one.
    """
    shown = "".join(char for char in tool_id if unicodedata.category(char) not in ("Cf", "Cc", "Cs"))
    return unicodedata.normalize("NFKC", shown).strip() != tool_id


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
    asks = _takes_hosts(name_words(tool.tool_id), lexicon)
    for name, text in texts_in(args):
        plain = _UNSEEN.sub("", folded(text[:MAX_ARGUMENT]).strip())
        # A prompt or a note may speak of an address without going there.
        prose = len(plain.split()) > _FEW or not lexicon.names["text"].isdisjoint(name_words(name))
        if is_address(plain[:_BEGIN] if prose else plain, anywhere=not prose):
            return True
        # A folder may be called like a host, so what is said to be a path is one.
        words = name_words(name)
        if not lexicon.names["path"].isdisjoint(words):
            continue
        if asks and is_host(plain, words) and (not is_file_name(plain) or lexicon.names["sink"] & set(words)):
            return True
        if _PAGE.match(plain):
            return True
    return False


def _takes_hosts(words: list[str], lexicon: Lexicon) -> bool:
    """Is a tool about hosts, pages or the web, and does not search there for words?"""
    about = any("web" in lexicon.groups.get(word, ()) for word in words)
    return not _LOOKS_UP.isdisjoint(words) or (
        (about or not _GOES.isdisjoint(words)) and "search" not in words
    )


def is_host(text: str, name: Iterable[str]) -> bool:
    """A host by name or by number, with or without a page behind it. `name` are the words of its argument."""
    if not IN_PAGES.isdisjoint(name):
        return False
    plain = folded(text[:_BEGIN]).strip()
    whole = _BARE.fullmatch(plain) or _NUMBERED.fullmatch(plain)
    return whole is not None or _PAGE.match(plain) is not None


_LOOKS_UP: Final = frozenset({"dns", "whois", "resolve", "resolver", "lookup", "ping", "dig", "nslookup"})
_GOES: Final = frozenset({"browse", "visit", "navigate", "goto", "crawl", "scrape"})
_PARTS: Final = "selector css xpath element ref uid locator field property attribute class key"
IN_PAGES: Final = frozenset(_PARTS.split())
"""Arguments that point into a page: `div.main` is no host there."""
_NAMED: Final = rf"(?:[\w-]{{1,63}}\.)+{ENDING}"
_BARE: Final = re.compile(rf"{_NAMED}\.?(?::\d+)?/?")
_NUMBERED: Final = re.compile(
    r"(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]{2,45}\])(?::\d+)?(?:[/?]\S*)?"
    r"|(?=[0-9a-f:.]{0,45}::|(?:[0-9a-f]{1,4}:){7})[0-9a-f:.]{2,45}"
)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]{1,15}:(?://|\\\\)(?=[^/\s])")
_WEB_SCHEME: Final = re.compile(r"(?:https?|wss?|ftp):[/\\]*[^/\\\s]")
"""At the begin: browsers do not need the strokes."""
_SHARED: Final = re.compile(r"[/\\]{2}[\w.-]+(?:[/\\?]|$)")
_HOSTED: Final = re.compile(rf"{_NAMED}(?::\d+)?(?:/\S*)?\?\S|{_NAMED}:\d+/")
_PAGE: Final = re.compile(rf"{_NAMED}/\S")
_UNSEEN: Final = re.compile(r"[\t\r\n]")
"""What browsers take out of an address before they read it."""
MAX_ARGUMENT: Final = 20_000
"""Characters of an argument that are read for addresses and statements."""


_FEW: Final = 6
_BEGIN: Final = 2_048


def is_address(text: str, *, anywhere: bool = True) -> bool:
    """With a scheme anywhere, or a host at its begin: `//host/`, `\\\\host\\`, `host.example/page?q=1`."""
    plain = _UNSEEN.sub("", folded(text[:MAX_ARGUMENT]).strip())
    if _WEB_SCHEME.match(plain):
        return True
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
