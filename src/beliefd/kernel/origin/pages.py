"""What is done on a page: a click or a text in a field is wanted if the user speaks of what it is done to."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from beliefd.kernel.origin.arguments import Leaf
from beliefd.kernel.origin.facts import RANK
from beliefd.kernel.origin.index import Wanted
from beliefd.kernel.origin.memory import Memory
from beliefd.kernel.origin.spelling import name_words
from beliefd.kernel.origin.tools import IN_PAGES, Trade

_GIVEN: Final = RANK["system"]
_SAYS: Final = 3
"""Letters of a word that says something."""


def drives(what: Trade, session: Memory) -> bool:
    """Is it a means to whatever stands on a page: `browser_click`?"""
    return "web" in what.groups and what.verb in session.lexicon.drives


def on_page(leaves: Sequence[Leaf], session: Memory) -> tuple[list[Leaf], bool]:
    """With the handles of what the user speaks of, or gives a value for, as choices, and whether all are.

    A handle (`ref: e12`) is of a page, which is a text. The line in which it stands says what it belongs to.
    """
    handles = [leaf for leaf in leaves if leaf.kind == "object" and not IN_PAGES.isdisjoint(leaf.words)]
    given = any(_given(leaf, session) for leaf in leaves if leaf.kind in ("payload", "text", "sink"))
    meant = [leaf for leaf in handles if given or (leaf.value and _spoken_of(leaf.value, session))]
    if not handles or len(meant) < len(handles):
        return list(leaves), False
    chosen = [
        replace(leaf, kind="choice") if leaf in meant or not IN_PAGES.isdisjoint(leaf.words) else leaf
        for leaf in leaves
    ]
    return chosen, True


def _given(leaf: Leaf, session: Memory) -> bool:
    """Is it a value that the user gave, and not a word for a part of the page?"""
    if leaf.value is None or not IN_PAGES.isdisjoint(leaf.words):
        return False
    return RANK[session.origin(leaf.value).origin] <= _GIVEN


def _spoken_of(handle: Wanted, session: Memory) -> bool:
    lexicon = session.lexicon
    known = lexicon.stops | lexicon.drives | lexicon.controls | set(handle.parts)
    for place, position in session.heard.places(handle):
        words = {part for word in place.words_at(position, 0) for part in name_words(word)} - known
        says = {word for word in words if len(word) >= _SAYS}
        if 2 * len(says & session.speech.words) >= max(1, len(says)):
            return True
    return False
