"""The arguments of a call, sorted: whom it reaches, what it is about, what it carries."""

import re
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.origin.facts import ValueFact
from beliefd.kernel.origin.index import MAX_VALUE, Wanted, wanted
from beliefd.kernel.origin.memory import Found, Memory
from beliefd.kernel.origin.spelling import (
    SINK_SHAPES,
    atoms,
    folded,
    has_strange_address,
    joined_accounts,
    name_words,
)
from beliefd.kernel.origin.tools import Tier, ToolInfo, Trade, closed_set

SHOWN: Final = 80
"""Characters of a value that a fact repeats; a longer one is a text."""

_MEMBER: Final = re.compile(r"^(?:user|serviceAccount|group|domain):(?=[\w.+-]+(?:@[\w.-]+)?$)")
"""What kind of member an address is, as policies of clouds write it."""

MAX_HEAD: Final = 20_000


class Leaf(Struct, frozen=True):
    """One value of a call, sorted."""

    name: str
    words: frozenset[str]
    text: str
    kind: str
    value: Wanted | None


class Call(Struct, frozen=True):
    session: Memory
    tool: ToolInfo
    what: Trade
    tier: Tier
    leaves: tuple[Leaf, ...]


def sorted_leaves(name: str, value: Any, tool: ToolInfo, session: Memory) -> list[Leaf]:
    """A value as leaves: by its name and its shape, each address in it apart."""
    leaf = _leaf(name, value, tool, session)
    if leaf.kind != "choice" and _breaks_the_line(leaf, session):
        # A program may take the next line for a head line, and that for whom it is to reach.
        return [leaf, replace(leaf, kind="sink", value=None)]
    if leaf.kind == "text":
        return [leaf, *_head_sinks(leaf, session)]
    if leaf.kind == "choice" or len(leaf.text) > MAX_VALUE:
        return [leaf]
    plain = joined_accounts(folded(leaf.text))
    strange = leaf.kind == "sink" and has_strange_address(plain)
    if leaf.value and leaf.value.single:
        return [replace(leaf, value=None)] if strange else [leaf]
    inner = [
        Leaf(name, leaf.words, atom.key, "sink", Wanted(atom.key, atom.parts, True, atom.shape))
        for atom in atoms(plain, session.lexicon.month_of)
        if atom.shape in SINK_SHAPES
    ]
    if not inner:
        return [leaf]
    if strange:  # what the tool makes of it is not what is found in it
        return [replace(leaf, value=None), *inner]
    return inner if leaf.kind == "sink" else [leaf, *inner]


def _breaks_the_line(leaf: Leaf, session: Memory) -> bool:
    """Has a field of one line, like a subject, several? The user's own lines are his."""
    if len(leaf.text.strip().splitlines()) < 2:
        return False
    one_line = session.lexicon.names["label"] & leaf.words
    return bool(one_line) and not (leaf.value and session.said.has(leaf.value))


def _head_sinks(leaf: Leaf, session: Memory) -> list[Leaf]:
    """Whom a message reaches that is given whole, with its head."""
    found = []
    words: frozenset[str] = frozenset()
    for line in leaf.text[:MAX_HEAD].lstrip().splitlines():
        name, mark, rest = line.partition(":")
        if line[:1] in (" ", "\t"):  # the line before goes on
            rest = line
        elif mark and name.replace("-", "").isalnum():
            words = frozenset(name_words(name))
        else:
            break
        for atom in atoms(folded(rest), {}) if words & session.lexicon.names["sink"] else ():
            if atom.shape == "email":
                value = Wanted(atom.key, atom.parts, True, atom.shape)
                found.append(Leaf(leaf.name, leaf.words | words, atom.key, "sink", value))
    return found


def _leaf(name: str, value: Any, tool: ToolInfo, session: Memory) -> Leaf:
    names, text = session.lexicon.names, _MEMBER.sub("", _text(value))
    words = name_words(name)
    one = wanted(text, session.lexicon.month_of) if len(text) <= MAX_VALUE else None
    shape = one.shape if one else "word"
    if closed_set(tool, name) or (words and words[0] in names["quote"] and len(words) > 1):
        kind = "choice"
    elif shape in SINK_SHAPES and not (shape == "url" and "_".join(words) in names["text"]):
        kind = "sink"  # but a message that is nothing but a link passes on a link
    else:
        number = isinstance(value, int | float) and "id" not in words and len(text) < 5
        kind = _kind(words, text, session) if not number else _kind_of_number(words, session)
    return Leaf(name, frozenset(words), text, kind, one)


def _kind(words: list[str], text: str, session: Memory) -> str:
    names, every = session.lexicon.names, frozenset(words)
    last, joined = words[-1] if words else "", "_".join(words)
    if (last in names["id"] or joined in names["id"]) and not every & (names["by_id"] | names["secret"]):
        return "object" if len(text) <= SHOWN else "text"
    if joined in names["text"] or last in names["text"]:
        return "text"
    if every & names["path"] and not every & names["url"]:
        return "path"
    if (every & names["sink"] or joined in names["sink"]) and last not in names["neutral"]:
        return "sink"
    short = len(text) <= SHOWN and "\n" not in text and text.count(" ") <= 6
    return "payload" if short else "text"


def _kind_of_number(words: list[str], session: Memory) -> str:
    """A count of guests is no guest."""
    return "object" if words and words[-1] in session.lexicon.names["id"] else "payload"


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def where_is(found: Found) -> str:
    if found.place is None:
        return "nowhere in what the session was told"
    record = found.place.record
    if record.how == "said":
        return {"user": "the user's text", "system": "the system text"}.get(
            record.tool, "the user's own addresses"
        )
    field = f"`{found.place.path}` of " if found.place.path else ""
    return f"{field}result {record.item} of {record.tool}"


def fact_of(leaf: Leaf, origin: Any, where: str, **more: Any) -> ValueFact:
    shown = leaf.text if len(leaf.text) <= SHOWN else f"{leaf.text[:SHOWN]}..."
    shown = shown.encode(errors="replace").decode()
    shape = leaf.value.shape if leaf.value else "word"
    return ValueFact(argument=leaf.name, value=shown, origin=origin, where=where, shape=shape, **more)
