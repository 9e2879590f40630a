"""The verb in a tool's name, and whether the name reads. What is not known to read does not.

Names are read in their order: `balance_transfer` transfers, `transfer_history` shows. A word that no
lexicon has may be a verb (`obliterate_history`), so it makes no reading of what follows it, unless a verb
that is nothing else (`get`) does.
"""

import re
from collections.abc import Mapping
from typing import Final

from beliefd.kernel.origin.lexicon import Class, Lexicon
from beliefd.kernel.origin.spelling import name_words

Verb = tuple[str, Class | None]
_NONE: Final[Verb] = ("", None)
_JOINS: Final = frozenset({"and", "or", "then"})
_PARTED: Final = re.compile(r"__|[./:]")


def own_part(tool_id: str) -> str:
    """Without the names of servers and name spaces: `mcp__search__obliterate_index` does not search."""
    return next((part for part in reversed(_PARTED.split(tool_id)) if name_words(part)), tool_id)


def verb_of(tool_id: str, lexicon: Lexicon) -> Verb:
    """Of the tool's own part. A verb that writes counts in a name space, too (`delete.user`)."""
    own = own_part(tool_id)
    found = _joined(name_words(own), lexicon)
    if found[1] is not None or own == tool_id:
        return found
    around = _joined(name_words(tool_id), lexicon)
    return around if around[1] != "read" else found


def unknown_verb(tool_id: str, lexicon: Lexicon) -> str:
    """A verb that no lexicon has is the first word of the own part."""
    words = name_words(own_part(tool_id))
    return next((word for word in words if word not in lexicon.groups), words[0] if words else "")


def written_verb(words: list[str], lexicon: Lexicon) -> Verb | None:
    """A verb in a name that may be a noun and does not read: `schedule` of `schedule_query`."""
    return _first(words, {word: name for word, name in lexicon.faint.items() if name != "read"})


def described_verb(description: str, lexicon: Lexicon, *, bare: bool) -> Verb:
    """The verb that a description begins with. Of a `bare` tool, which takes nothing, things are no verbs."""
    words = name_words(description[:80])
    for at, word in enumerate(words[:2]):
        if words[at + 1 : at + 2] in (["and"], ["or"]) and not _tells(words[at + 2 : at + 3], lexicon):
            return _NONE  # `Verify and secure ..`: what is done besides may be anything
        if word in lexicon.tells:
            return word, "read"
        things = bare and word in lexicon.groups
        for base in (word,) if things else (word, word.removesuffix("s"), word.removesuffix("es")):
            if base in lexicon.strong and base not in lexicon.narrow:
                return base, lexicon.strong[base]
    return _NONE


def _tells(words: list[str], lexicon: Lexicon) -> bool:
    return any(
        word in lexicon.tells or lexicon.strong.get(base) == "read"
        for word in words
        for base in (word, word.removesuffix("s"), word.removesuffix("es"))
    )


def _joined(words: list[str], lexicon: Lexicon) -> Verb:
    """`get_or_create`, `search_and_book`: reads only if all that is done reads."""
    pieces: list[list[str]] = [[]]
    for word in words:
        if word in _JOINS:
            pieces.append([])
        else:
            pieces[-1].append(word)
    first = _verb(pieces[0], lexicon)
    if first[1] not in ("read", None):
        return first
    for piece in pieces[1:]:
        verb = _verb(piece, lexicon)
        if verb[1] not in ("read", None):
            return verb
        if verb[1] is None and not all(word in lexicon.known_words for word in piece):
            return _NONE
    return first


def _verb(words: list[str], lexicon: Lexicon) -> Verb:
    found = _strong(words, lexicon)
    if found is None:
        return _faint(words, lexicon)
    if found[1] != "read":
        return found
    if not _is_wide(found[0], words, lexicon):
        return _narrowed(found[0], lexicon)
    return _besides(words, lexicon) or found


def _strong(words: list[str], lexicon: Lexicon) -> Verb | None:
    """The first plain verb. One that is a thing too (`smart_lock_get_status`) gives way to one that reads."""
    first = _first(words, lexicon.strong)
    if first is None or first[0] not in lexicon.groups:
        return first
    rest = words[words.index(first[0]) + 1 :]
    if (other := _strong(rest, lexicon)) is not None:
        homograph = other[1] == "read" and other[0] in lexicon.qualities
        return first if homograph else other
    # `check_lock_status`, `TwitterManagerSearchTweet`: what is looked at is a thing.
    reading = _reading(words, lexicon)
    return reading if reading and not _besides(words, lexicon) else first


def _reading(words: list[str], lexicon: Lexicon) -> Verb | None:
    """A word that makes a reading of the name, with nothing unknown before it."""
    for at, word in enumerate(words):
        if word in lexicon.endings:
            return (word, "read") if _known(words[:at], lexicon) else None
    return None


def _known(words: list[str], lexicon: Lexicon) -> bool:
    return all(word in lexicon.known_words for word in words)


def _besides(words: list[str], lexicon: Lexicon) -> Verb | None:
    """`find_replace`, `instances_describe_terminate`: a verb that is no thing does what it says."""
    if words[-1:] and words[-1] in lexicon.endings:
        return None  # `get_delete_history`
    for word in words:
        name = lexicon.strong.get(word, "read")
        if name != "read" and word not in lexicon.things and word not in lexicon.groups:
            return word, name
    return None


def _faint(words: list[str], lexicon: Lexicon) -> Verb:
    """Of words that may be nouns, what is done counts before what is looked at."""
    writes = written_verb(words, lexicon)
    if words and words[-1] in lexicon.endings and _known(words[:-1], lexicon):
        sent = writes is not None and writes[0] == words[0] and writes[1] == "send"
        if not (sent and words[-1] in lexicon.sendable):  # `post_status`, but `transfer_status`
            return words[-1], "read"
    found = _first(words, {word: name for word, name in lexicon.faint.items() if name == "read"})
    if found and found[0] not in lexicon.otherwise and not _is_wide(found[0], words, lexicon):
        words = [word for word in words if word != found[0]]  # a name: `compute_list_instances`
        return _faint(words, lexicon)
    if found is None:
        return writes or _NONE
    at, last = words.index(found[0].split()[0]), found[0].split()[-1] == words[-1]
    known = _known(words[:at], lexicon)
    if found[0] in lexicon.shown:  # a thing, and no verb: `current_weather`, `git_log`
        reads = last and writes is None and known
    else:
        reads = at == 0 or (writes is None and known)
        if not known and (writes is None or at < words.index(writes[0].split()[0])):
            return _NONE  # `AmazonViewOrder`: its description says whether the first word is a verb
    if not reads:
        return writes or _NONE
    return found if _is_wide(found[0], words, lexicon) else _narrowed(found[0], lexicon)


def _is_wide(verb: str, words: list[str], lexicon: Lexicon) -> bool:
    """`open` reads a page, and opens a door: some verbs read only with things of some groups."""
    groups = lexicon.narrow.get(verb)
    if groups is None:
        return True
    things = [lexicon.groups[word] for word in words if word != verb and word in lexicon.groups]
    return bool(things) and all(not thing.isdisjoint(groups) for thing in things)


def _narrowed(verb: str, lexicon: Lexicon) -> Verb:
    return verb, lexicon.otherwise.get(verb)


def _first(words: list[str], verbs: Mapping[str, Class]) -> tuple[str, Class] | None:
    for at, word in enumerate(words):
        pair = f"{word} {words[at + 1]}" if at + 1 < len(words) else ""
        if pair in verbs:
            return pair, verbs[pair]
        if word in verbs:
            return word, verbs[word]
    return None
