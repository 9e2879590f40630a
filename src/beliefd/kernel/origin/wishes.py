"""Who wants the call: what the user asked for, and what texts order next to its values."""

from collections.abc import Mapping
from typing import Final

from beliefd.kernel.origin.arguments import Call, Leaf, fact_of, where_is
from beliefd.kernel.origin.facts import Commanded, ValueFact
from beliefd.kernel.origin.index import FORGOTTEN, MAX_VALUE, Place, Wanted
from beliefd.kernel.origin.lexicon import ANY, BIT, forms_of, plural
from beliefd.kernel.origin.memory import Found, Memory
from beliefd.kernel.origin.spelling import folded, has_card, has_key
from beliefd.kernel.origin.tools import ToolInfo, trade
from beliefd.kernel.origin.verbs import unknown_verb
from beliefd.kernel.values import Id


def commanded_by(call: Call) -> tuple[tuple[ValueFact, ...], Commanded]:
    """Texts that order this kind of thing next to a value the user never gave."""
    if says_nothing(call):
        return _commanded_as_such(call)
    found: list[ValueFact] = []
    worst: Commanded = "none"
    for leaf in call.leaves:
        if leaf.kind == "choice" or leaf.value is None or len(leaf.text) > MAX_VALUE:
            continue
        if leaf.kind == "object" and call.session.object(leaf.value) in ("user", "own", "named"):
            continue
        for value in _looked_for(leaf, call.session):
            # Who has a text summed up gets sentences of it, whatever the next one orders.
            quoting = leaf.kind == "text" and "sourced" in call.session.speech.phrases
            how, at = _ordered(call, value, around=0 if quoting else 1)
            if how != "none":
                found.append(fact_of(leaf, at.origin, where_is(at)))
                worst = how if worst != "other" else worst
    return tuple(found), worst


def says_nothing(call: Call) -> bool:
    """Has a call no values by which to tell where it comes from: `disable_mfa()`?"""
    return all(
        leaf.kind == "choice"
        or leaf.text.lower() in _EMPTY
        or (leaf.value is None and len(leaf.text) <= MAX_VALUE)
        for leaf in call.leaves
    ) and not any(leaf.kind == "sink" for leaf in call.leaves)


_EMPTY: Final = frozenset({"", "true", "false", "none"})


def _commanded_as_such(call: Call) -> tuple[tuple[ValueFact, ...], Commanded]:
    """Texts that order what the tool does, in a sentence with its verb or its thing.

    What the user himself orders by both is his.
    """
    things, verbs = _forms_of(call.what.nouns), frozenset(forms_of(call.what.verb))
    spoken = call.session.speech.words
    if call.tier != "write" or (
        not verbs.isdisjoint(spoken) and (not things or not things.isdisjoint(spoken))
    ):
        return (), "none"
    mask, _ = _asked_of(call)
    worst: Commanded = "none"
    found: list[ValueFact] = []
    for word in sorted(things | verbs):
        for place, position in call.session.heard.found(word):
            if place.kind == "text" and place.ordered_at(position, 0) & mask and worst != "other":
                worst = "named" if place.record.named else "other"
                at = Found("named_text" if worst == "named" else "text", place)
                found.append(fact_of(Leaf("call", frozenset(), word, "text", None), at.origin, where_is(at)))
    return tuple(found), worst


def _forms_of(nouns: frozenset[str]) -> frozenset[str]:
    return frozenset(form for noun in nouns for form in (noun, plural(noun), noun.removesuffix("s")))


def _looked_for(leaf: Leaf, session: Memory) -> list[Wanted]:
    value = leaf.value
    if value is None or value.key in session.lexicon.stops or (len(value.key) < 2 and leaf.kind != "object"):
        return []
    days = [Wanted(day, (day,), True, "day") for day in value.days]
    if value.shape in ("day", "time") or (days and len(value.parts) <= 3):
        return [day for day in days if not session.said.has(day)]
    return [] if session.said.has(value) or session.told.has(value) else [value]


def _ordered(call: Call, value: Wanted, around: int) -> tuple[Commanded, Found]:
    worst: Commanded = "none"
    at = Found("model")
    mask, verbs = _asked_of(call)
    for place, position in call.session.heard.places(value):
        if _order_at(place, position, around, value, call.session) & mask or (
            place.kind == "text" and not verbs.isdisjoint(place.words_at(position, around))
        ):
            how: Commanded = "named" if place.record.named else "other"
            if worst != "other":
                worst, at = how, Found("named_text" if how == "named" else "text", place)
    if worst != "other" and call.session.heard.uncounted(value) & mask:
        return "other", Found("text")
    return worst, at


def _order_at(place: Place, position: int, around: int, value: Wanted, session: Memory) -> int:
    """What is ordered around a value. A short field orders only what it names beside something else."""
    if place.kind == "text":
        return place.ordered_at(position, around)
    if len(place.tokens) < len(value.parts) + _ORDER:
        return 0
    return session.lexicon.orders_of(place.tokens)


_ORDER: Final = 3
"""So many words besides a value may order something with it."""


def _asked_of(call: Call) -> tuple[int, frozenset[str]]:
    """What a text that orders the call says. Of what a tool does that no lexicon has a word for, its verb.

    Where nothing is known of what it does, any order may mean it.
    """
    if call.tier == "egress":
        return BIT["read"], frozenset()
    if call.what.name != "other":
        return call.what.mask, frozenset()
    return call.what.mask | ANY | FORGOTTEN, frozenset(forms_of(call.what.verb))


def is_intended(call: Call, catalogue: Mapping[Id, ToolInfo], *, delegated: bool, addressed: bool) -> bool:
    """Did the user ask for this kind of thing, with these things rather than those of another tool?"""
    speech, what = call.session.speech, call.what
    if delegated:
        return True
    if addressed and what.reads and what.verb in call.session.lexicon.hands_out:
        return True  # who says where it is to be written wants it written
    named = {what.verb, unknown_verb(call.tool.tool_id, call.session.lexicon)} - call.session.lexicon.stops
    if not speech.mask & (what.mask | _towards(call)) and speech.words.isdisjoint(named):
        return False
    if says_nothing(call) and not _named_itself(call):
        return False
    spoken_of = what.groups & speech.groups or not what.nouns.isdisjoint(speech.words)
    if spoken_of or addressed or not what.nouns:
        return True
    if says_nothing(call) and speech.words.isdisjoint(forms_of(what.verb)):
        return False  # no value, no word for its thing, and none for what is done to it
    spoken = speech.groups.difference(call.session.lexicon.anybody)
    for other in catalogue.values():
        rival = trade(other, call.session.lexicon)
        if (
            other.tool_id != call.tool.tool_id
            and not rival.reads
            and rival.mask & what.mask
            and rival.groups & spoken
        ):
            return False
    return True


def _towards(call: Call) -> int:
    """Whoever asks to buy asks to fill the cart, but not the other way round."""
    towards = call.session.lexicon.towards
    if call.what.name != "create":
        return 0
    return sum({BIT[towards[noun]] for noun in call.what.nouns if noun in towards})


def _named_itself(call: Call) -> bool:
    """To do something hard to what it has no value for, the user must speak of that thing itself.

    To pay, a word for paying will do.
    """
    what, lexicon, spoken = call.what, call.session.lexicon, call.session.speech.words
    if what.name not in lexicon.hard or not _forms_of(what.nouns).isdisjoint(spoken):
        return True
    if what.name == "pay":
        return any("pay" in (lexicon.strong.get(word), lexicon.faint.get(word)) for word in spoken)
    return not what.nouns and not frozenset(forms_of(what.verb)).isdisjoint(spoken)


def carries_secret(call: Call) -> bool:
    """A card number, a key or a word for a secret in the contents that the user's words lack."""
    lexicon = call.session.lexicon
    for leaf in call.leaves:
        if leaf.kind not in ("text", "payload"):
            continue
        plain = folded(leaf.text)
        if lexicon.secrets_in(plain) - call.session.speech.secrets:
            return True
        if (has_card(plain) or has_key(leaf.text)) and not (leaf.value and call.session.said.has(leaf.value)):
            return True
    return False
