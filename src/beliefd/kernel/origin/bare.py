"""Which results are just text, whatever they look like: whoever wrote it chose its shape."""

from collections.abc import Mapping
from typing import Any, Final

from beliefd.kernel.canonical import canonical
from beliefd.kernel.origin.index import Wanted, wanted
from beliefd.kernel.origin.lexicon import BIT, Lexicon
from beliefd.kernel.origin.naming import leaves
from beliefd.kernel.origin.results import fields, parsed
from beliefd.kernel.origin.spelling import SINK_SHAPES, atoms, folded, joined_accounts, name_words
from beliefd.kernel.origin.tools import ToolInfo, properties, trade
from beliefd.kernel.origin.verbs import own_part

_GIVES_NEW: Final = BIT["create"] | BIT["send"] | BIT["reserve"] | BIT["draft"] | BIT["pay"]
"""Writes whose results are new. What others return was there before, whoever wrote it."""


def is_bare(tool: ToolInfo, args: Mapping[str, Any], lexicon: Lexicon) -> bool:
    """Is the result the content of a file, or what a command printed?"""
    given = {word for name in (*args, *properties(tool)) for word in (name, *name_words(name))}
    if given & lexicon.names["shell"]:
        return True
    what = trade(tool, lexicon)
    words = name_words(own_part(tool.tool_id))
    held = bool(what.nouns & set(lexicon.raw)) or bool(set(words[-1:]) & set(lexicon.raw))
    by_path = bool(given & lexicon.names["path"])
    verb_alone = not set(words) - set(what.verb.split())
    if not what.reads or what.verb not in lexicon.raw_verbs:
        return verb_alone and by_path
    return (held and (by_path or what.verb == "read")) or (verb_alone and by_path)


def holds_one(tool: ToolInfo, lexicon: Lexicon) -> bool:
    """Does the tool give one document, by whatever key? Its author chose how it looks (`get_document`)."""
    what = trade(tool, lexicon)
    if not what.reads or what.verb.split()[0] not in lexicon.raw_verbs:
        return False
    return not what.nouns or not what.words.isdisjoint(lexicon.raw)


def wraps(value: Any, args: Mapping[str, Any], lexicon: Lexicon) -> bool:
    """Is it what a program says of a document? Then it repeats the id that was asked for."""
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return False
    asked = {folded(str(one)).strip() for one in args.values() if isinstance(one, str | int)}
    return any(
        not lexicon.names["id"].isdisjoint(name_words(str(name))) and folded(str(held)).strip() in asked
        for name, held in value.items()
    )


def is_plain(tool: ToolInfo, lexicon: Lexicon) -> bool:
    """Does the name say nothing of what is returned? `Read`, `Grep`, `Bash` give anything."""
    what = trade(tool, lexicon)
    things = what.words <= lexicon.groups.keys()
    if what.reads and things and tool.tier is not None:  # declared: `playlists` gives them, `Task` does one
        things = what.words.isdisjoint(noun for nouns in lexicon.nouns.values() for noun in nouns)
    return not what.nouns and not (what.reads and things)


def agree(text: str, structured: Any) -> bool:
    """Do the two say the same? Programs read the one, models the other."""
    shown = text.removesuffix(canonical(structured).decode()).strip()
    told = parsed(shown) if shown[:1] in ("{", "[") else None
    if told is not None:
        return bool(told == structured)
    held = {key for _, _, value in fields(structured) for key in _addresses(str(value))}
    return _addresses(shown) <= held


def _addresses(text: str) -> set[str]:
    return {atom.key for atom in atoms(joined_accounts(folded(text)), {}) if atom.shape in SINK_SHAPES}


def how_written(tool: ToolInfo, lexicon: Lexicon) -> str:
    """A form on a page answers with what the page says: that is nobody's own, though it was a write."""
    what = trade(tool, lexicon)
    makes = bool(what.mask & _GIVES_NEW)
    outside = tool.open_world is None and not what.whole.isdisjoint(lexicon.open_world)
    if tool.open_world or tool.tier == "egress" or (outside and not makes):
        return "open"
    return "own" if makes else "listed"


def given_values(args: Mapping[str, Any], lexicon: Lexicon) -> list[Wanted]:
    """The values of a call, each in its one spelling."""
    found = (wanted(str(value), lexicon.month_of) for _, value in leaves(args))
    return [one for one in found if one is not None]


def echoes(given: list[Wanted], text: str, lexicon: Lexicon) -> bool:
    """Was the value in the call itself, among what was given? Then the write gave nothing new."""
    one = wanted(text, lexicon.month_of) if len(text) < 500 else None
    return one is None or any(other.key == one.key or f" {one.key} " in f" {other.key} " for other in given)
