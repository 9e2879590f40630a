"""What a statement changes, held against what the user speaks of: its table, its schema, its rows."""

import re
from typing import Final

from beliefd.kernel.origin.arguments import Call, Leaf, fact_of, where_is
from beliefd.kernel.origin.facts import ValueFact
from beliefd.kernel.origin.lexicon import plural
from beliefd.kernel.origin.memory import Found
from beliefd.kernel.origin.spelling import name_words
from beliefd.kernel.origin.statements import Change, Compared

_UNKNOWN: Final = ("text", "model")
_USUAL_SCHEMAS: Final = ("public", "dbo", "main")


def tables(call: Call, change: Change | None) -> tuple[ValueFact, ...]:
    """What a statement changes. To delete from it, the user must speak of it: that it exists will not do."""
    if change is None:
        return ()
    if not change.table:
        unread = Leaf("statement", frozenset(), "", "object", None)
        return (fact_of(unread, "model", "a statement, or several, that are not understood"),)
    leaf = Leaf("table", frozenset(), change.table, "object", call.session.heard.wanted(change.table))
    if not _aimed(call, change):
        aside = fact_of(leaf, "model", "a statement that changes other rows than the user speaks of")
        return (aside,)
    for part in change.schema:
        if (known := _schema_origin(call, part)) in _UNKNOWN:
            inside = Leaf("schema", frozenset(), part, "object", call.session.heard.wanted(part))
            return (fact_of(inside, known, where_is(Found("model"))),)
    if _spoken_of(call, change.table):
        return (fact_of(leaf, "user", "the user's text"),)
    found = call.session.object(leaf.value) if leaf.value else "model"
    if change.action != "delete" and found in ("listed", "queried", "named"):
        found = "named"
    elif found == "named":
        found = "listed"
    where = where_is(call.session.origin(leaf.value)) if leaf.value else where_is(Found("model"))
    return (fact_of(leaf, found, where),)


def _spoken_of(call: Call, name: str) -> bool:
    spoken = call.session.speech.words
    return any(
        form in spoken for word in name_words(name) for form in (word, plural(word), word.removesuffix("s"))
    )


def _schema_origin(call: Call, name: str) -> str:
    """What is before a table's name: customers of `audit` are others than those of the shop."""
    if name.lower() in _USUAL_SCHEMAS or _spoken_of(call, name):
        return "user"
    one = call.session.heard.wanted(name)
    return call.session.object(one) if one else "model"


def _aimed(call: Call, change: Change) -> bool:
    """Where the user gave the key of a row, are rows with such a key changed and no others?"""
    speech = call.session.speech
    written = {one.key for text in change.assigned if (one := call.session.heard.wanted(text))}
    keys = {word for word in speech.words if _is_key(word)} - written - set(name_words(change.table))
    if change.action == "create" or not keys:
        return True
    if change.rows is None:
        return False
    several = "plural" in speech.phrases or not speech.words.isdisjoint(call.session.lexicon.ranges)
    return several or all(any(_is_meant(call, one, keys) for one in row) for row in change.rows)


def _is_key(word: str) -> bool:
    """A number, a word with one (`t-55`) or an address, but no day and no time."""
    return "@" in word or (any(char.isdigit() for char in word) and re.search(r"\d[-:]\d", word) is None)


def _is_meant(call: Call, compared: Compared, keys: set[str]) -> bool:
    """By values that the user gave, or of records that he speaks of. A day may be worked out from his."""
    if not compared.exact:
        return not keys.isdisjoint(name_words(compared.values[0]))
    beside = {leaf.value.key for leaf in call.leaves if leaf.value}
    for text in compared.values:
        one = call.session.heard.wanted(text)
        if one is None:
            if text or beside.isdisjoint(keys):
                return False
        elif call.session.object(one) not in ("user", "own", "named"):
            return False
    return True
