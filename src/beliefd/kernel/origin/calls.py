"""Works out the facts about one call. What it reads of the session are lookups."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.origin.addresses import hosts_around, is_alone, is_closed, is_host_known, leads_out
from beliefd.kernel.origin.arguments import Call, Leaf, fact_of, sorted_leaves, where_is
from beliefd.kernel.origin.facts import RANK, CallFacts, Trust, ValueFact, reason
from beliefd.kernel.origin.index import Wanted
from beliefd.kernel.origin.memory import Found, Memory
from beliefd.kernel.origin.naming import leaves
from beliefd.kernel.origin.pages import drives, on_page
from beliefd.kernel.origin.queries import changed_by, only_asks, writes_by_argument
from beliefd.kernel.origin.spelling import (
    SINK_SHAPES,
    atoms,
    folded,
    host_of,
    joined_accounts,
    name_words,
)
from beliefd.kernel.origin.tables import tables
from beliefd.kernel.origin.tools import Tier, ToolInfo, Trade, goes_out, trade
from beliefd.kernel.origin.wishes import carries_secret, commanded_by, is_intended
from beliefd.kernel.values import Id, Object

MAX_LEAVES: Final = 256
"""Values of one call that are looked at; a call with more is untrusted as a whole."""
MAX_CHARACTERS: Final = 200_000
"""Characters of one call that are looked at, for the same reason."""
_TRUSTED: Final = RANK["named_field"]
_MEANT: Final = ("user", "named_field")
"""Whoever is reached is spoken of."""
_MAKES: Final = ("create", "update", "draft")
MAX_REASONS: Final = 20
_PASSED_ON: Final = ("url", "host", "email", "iban")
"""Shapes inside of texts that lead whoever reads the text to somebody."""
_GIVES_POWER: Final = ("share", "pay", "control")
"""What these do is done to somebody, whatever the argument is called."""
_FEW: Final = 7
"""A payload of so few characters says nothing."""


def call_facts(session: Memory, tool: ToolInfo, args: Object, catalogue: Mapping[Id, ToolInfo]) -> CallFacts:
    what, change = changed_by(tool, trade(tool, session.lexicon), args)
    found, crowded = _looked_at(args)
    if change is not None:
        found += [(column or "value", value) for column, value in change.values][:MAX_LEAVES]
        crowded = crowded or len(change.values) > MAX_LEAVES
    pieces = [leaf for name, value in found for leaf in sorted_leaves(name, value, tool, session)]
    if what.name in _GIVES_POWER:
        pieces = [_as_sink(leaf, session) for leaf in pieces]
    driven = False
    if drives(what, session):
        pieces, driven = on_page(pieces, session)
    call = Call(session, tool, what, _tier(tool, what, args, session), tuple(pieces))
    said = {kind: kind in session.speech.phrases for kind in session.lexicon.says}
    orders, commanded = commanded_by(call)
    sinks = _sinks(call, said)
    out = [leaf for leaf in pieces if leads_out(leaf)] if call.tier == "egress" else []
    closed, known = [is_closed(call, leaf) for leaf in out], [is_host_known(call, leaf) for leaf in out]
    facts = CallFacts(
        tool_id=tool.tool_id,
        tier=call.tier,
        action=what.name,
        hard=what.name in session.lexicon.hard or bool(tool.destructive),
        intended=driven
        or is_intended(
            call,
            catalogue,
            delegated=said["delegated"] and bool(session.named_orders & what.mask),
            addressed=any(sink.origin in _MEANT and sink.trust == "trusted" for sink in sinks),
        ),
        sinks=sinks,
        links=_links(call),
        payload=_payload(call),
        objects=(*_objects(call), *_amounts(call, said), *tables(call, change)),
        orders=orders,
        commanded=commanded,
        secret=carries_secret(call),
        nth=session.counts.get(tool.tool_id, 0) + session.pending.get(tool.tool_id, 0),
        mentions=max(session.speech.mentions[what.name], int(what.verb in session.speech.words)),
        fresh=any(_fresh(call, leaf) for leaf in pieces),
        crowded=crowded,
        truncated=session.heard.left_out,
        user_spoke=bool(session.asked),
        url_known=all(map(any, zip(closed, known, strict=True))),
        closed=all(closed) if out else UNSET,
        host_known=all(known) if out else UNSET,
    )
    return _concluded(replace(facts, **said, **_named_alike(call)))


def _as_sink(leaf: Leaf, session: Memory) -> Leaf:
    """Of an argument whose name says nothing, a text that brings its value may have named somebody."""
    if leaf.kind != "payload" or leaf.value is None or leaf.value.shape != "word" or not leaf.words:
        return leaf
    if leaf.words & session.lexicon.known_words or leaf.value.key in session.lexicon.stops:
        return leaf
    named = session.origin(leaf.value).origin in ("text", "named_text")
    return replace(leaf, kind="sink") if named else leaf


def _looked_at(args: Object) -> tuple[list[tuple[str, Any]], bool]:
    """The values of a call that there is room for, and whether there are more."""
    found = leaves(args)
    kept, room = [], MAX_CHARACTERS
    for name, value in found[:MAX_LEAVES]:
        room -= len(value) if isinstance(value, str) else 1
        if room >= 0:
            kept.append((name, value))
    return kept, len(kept) < len(found)


def _concluded(facts: CallFacts) -> CallFacts:
    """With the flags that rules read, which follow from the other facts."""
    meant = facts.selector or facts.described
    objects = [
        one for one in facts.objects if one.origin in _UNKNOWN or (one.origin == "listed" and not meant)
    ]
    links = [
        one
        for one in facts.links
        if one.origin == "text" or (one.origin == "named_text" and not _wanted(one, facts))
    ]
    payload = [one for one in facts.payload if one.origin in ("text", "named_text")]
    sinks = [sink for sink in facts.sinks if _foreign(sink, facts)]
    suspicious = [*sinks, *objects, *links, *payload, *facts.orders]
    return replace(
        facts,
        sink_trust=max((sink.trust for sink in facts.sinks), key=_TRUST.index, default="none"),
        sink_foreign=bool(sinks) or facts.crowded,
        sink_in_text=any(sink.origin != "model" or sink.trust == "refused" for sink in sinks),
        place_foreign=bool(sinks) and not facts.crowded and all(sink.shape == "path" for sink in sinks),
        object_foreign=bool(objects),
        link_foreign=bool(links),
        payload_foreign=bool(payload),
        over_quota=facts.hard
        and not facts.plural
        and not facts.fresh
        and facts.nth >= max(1, facts.mentions),
        reasons=tuple(dict.fromkeys(reason(one) for one in suspicious))[:MAX_REASONS],
    )


def _wanted(link: ValueFact, facts: CallFacts) -> bool:
    """Whoever has a document passed on wants the people in it, and asks for its links."""
    if link.shape in ("url", "host"):
        return facts.links_wanted and link.trust == "sole"
    return facts.sourced or facts.delegated or facts.granted


def _fresh(call: Call, leaf: Leaf) -> bool:
    """Somebody or something that the user speaks of, and that no call of this tool was about."""
    if leaf.value is None or leaf.kind not in ("sink", "object"):
        return False
    if leaf.value.key in call.session.used.get(call.tool.tool_id, ()):
        return False
    if leaf.kind == "object":
        return call.session.object(leaf.value) in ("user", "named")
    return call.session.origin(leaf.value, sink=True).origin == "user"


_UNKNOWN: Final = ("text", "model")
_TRUST: Final[tuple[Trust, ...]] = ("trusted", "field", "sole", "foreign", "refused")


def _foreign(sink: ValueFact, facts: CallFacts) -> bool:
    if sink.trust == "field":
        return not facts.selector or (sink.external and facts.hard)
    return sink.trust in ("foreign", "refused")


def _tier(tool: ToolInfo, what: Trade, args: Object, session: Memory) -> Tier:
    if tool.tier == "egress" or (tool.examined and tool.tier is not None):
        return tool.tier
    if only_asks(tool, what, args):
        return "read"
    if not what.reads or (
        tool.tier is None and what.verb in session.lexicon.hands_out and _hands_out(args, session)
    ):
        return "write"
    if writes_by_argument(tool, args, session.lexicon):
        return "write"
    return "egress" if goes_out(tool, args, session.lexicon) else "read"


def _hands_out(args: Object, session: Memory) -> bool:
    """`export` to somewhere is no reading."""
    outlets = session.lexicon.names["outlet"]
    return any(word in outlets for name in args for word in name_words(name))


def _sinks(call: Call, said: Mapping[str, bool]) -> tuple[ValueFact, ...]:
    found = []
    for leaf in call.leaves:
        if leaf.kind not in ("sink", "path") or call.tier == "read":
            continue
        if leaf.value is None:  # too long to look up, or without a word: nobody gave that
            found.append(fact_of(leaf, "model", where_is(Found("model")), external=True, trust="foreign"))
            continue
        at = call.session.origin(leaf.value, sink=True)
        if (
            leaf.kind == "path"
            and call.what.name not in call.session.lexicon.hard
            and _harmless_path(leaf.text)
        ):
            continue
        fact = fact_of(
            leaf,
            at.origin,
            where_is(at),
            external=_external(call, leaf),
            trust=_trust(call, leaf, at, said),
        )
        found.append(replace(fact, shape="path") if leaf.kind == "path" else fact)
    return tuple(found)


def _harmless_path(path: str) -> bool:
    """A name inside of where the tool works, nothing hidden. Orders to write there are found apart."""
    pieces = path.replace("\\", "/").split("/")
    return (
        not path.startswith(("/", "~"))
        and ":" not in path
        and not any(piece.startswith(".") for piece in pieces)
    )


def _external(call: Call, leaf: Leaf) -> bool:
    assert leaf.value is not None  # noqa: S101
    if leaf.value.shape == "email":
        return host_of(leaf.value.key) not in call.session.own_hosts
    return leaf.value.shape in SINK_SHAPES


def _trust(call: Call, leaf: Leaf, at: Found, said: Mapping[str, bool]) -> Trust:
    assert leaf.value is not None  # noqa: S101
    if leaf.value.key in call.session.refused_sinks and at.origin not in ("user", "system"):
        return "refused"
    if RANK[at.origin] <= _TRUSTED:
        return "trusted"
    if at.origin == "field":
        # "The latest" chooses among records, and not whom else it goes to, nor whom a stranger made of it.
        return "foreign" if at.doubted or call.session.addressed(leaf.value.shape) else "field"
    # A page whose address the user typed is spoken of as well, though strangers may write in it.
    spoken_of = at.place is not None and (at.origin == "named_text" or at.place.record.keyed)
    if at.place is not None and spoken_of:
        alone = len(at.place.record.shapes.get(leaf.value.shape, ())) == 1
        if alone and (said["granted"] or _conamed(call, leaf.value)):
            return "sole"
    if at.origin == "named_text":
        # A person by name, in a task that the user has made from a document: no address, nothing leaves.
        by_name = leaf.value.shape == "word" and not any(char.isdigit() for char in leaf.value.key)
        if (
            by_name
            and leaf.kind == "sink"
            and call.what.name in _MAKES
            and (said["sourced"] or said["delegated"])
        ):
            return "sole"
    return "foreign"


def _named_alike(call: Call) -> dict[str, Any]:
    """Does the user name all whom it goes to, and among how many was each chosen, at most?"""
    values = [leaf.value for leaf in call.leaves if leaf.kind == "sink" and call.tier != "read"]
    if not values:
        return {}
    places = [(one, call.session.origin(one, sink=True).place) for one in values if one is not None]
    counts = [len(place.record.shapes.get(one.shape, ())) for one, place in places if place is not None]
    conamed = all(one is not None and _conamed(call, one) for one in values)
    return {"conamed": conamed, "candidates": max(counts, default=0)}


def _conamed(call: Call, value: Wanted) -> bool:
    """The address bears a name of the user's text, and no other known address does."""
    before = value.key.rpartition("@")[0] if value.shape == "email" else value.key
    names = call.session.speech.names.intersection(name_words(before))
    return any(call.session.named_by.get(name, {value.key}) <= {value.key} for name in names)


def _linked(call: Call, value: Wanted) -> Found:
    """Where a link is from. One that stands nowhere is from where its host is, or a host that this one is
    part of, or the name of that: the rest may tell of you, and texts may spell an address as none."""
    session = call.session
    at = session.origin(value)
    if at.origin != "model" or value.shape not in ("url", "host"):
        return at
    for one in hosts_around(host_of(value.key)):
        places = [place for place, _ in session.heard.places(one)]
        if any(place.kind == "field" for place in places) or session.said.has(one) or session.told.has(one):
            return at
        if places:
            named = all(place.record.named for place in places)
            return Found("named_text" if named else "text", places[0])
    return at


def _links(call: Call) -> tuple[ValueFact, ...]:
    """Addresses inside of contents."""
    found: list[ValueFact] = []
    for leaf in call.leaves:
        if leaf.kind not in ("text", "payload"):
            continue
        plain = joined_accounts(folded(leaf.text))
        for atom in atoms(plain, call.session.lexicon.month_of):
            if atom.shape in _PASSED_ON and len(found) < 64:
                value = Wanted(atom.key, atom.parts, True, atom.shape)
                inner = Leaf(leaf.name, leaf.words, atom.key, "link", value)
                at = _linked(call, value)
                whole = at.place is None or call.session.heard.has(value)
                sole = whole and (at.place is None or is_alone(at.place, call))
                trust: Trust = "sole" if sole else "foreign"
                found.append(fact_of(inner, at.origin, where_is(at), trust=trust))
    return tuple(found)


def _payload(call: Call) -> tuple[ValueFact, ...]:
    found = []
    for leaf in call.leaves:
        if (
            leaf.kind == "payload"
            and leaf.value
            and len(leaf.text) > _FEW
            and leaf.value.shape not in ("day", "time", "number")
            and not leaf.value.days
        ):
            at = call.session.origin(leaf.value)
            found.append(fact_of(leaf, at.origin, where_is(at)))
    return tuple(found)


def _objects(call: Call) -> tuple[ValueFact, ...]:
    found = []
    for leaf in call.leaves:
        if leaf.kind == "object" and leaf.value and leaf.value.key not in call.session.lexicon.usual:
            origin = call.session.object(leaf.value)
            found.append(fact_of(leaf, origin, where_is(call.session.origin(leaf.value))))
    return tuple(found)


def _amounts(call: Call, said: Mapping[str, bool]) -> tuple[ValueFact, ...]:
    """Numbers of a payment that a text gave, though the user gave others."""
    if call.what.name != "pay" or not call.session.speech.numbers:
        return ()
    found = []
    for leaf in call.leaves:
        if leaf.kind == "payload" and leaf.value and leaf.value.shape == "number":
            at = call.session.origin(leaf.value)
            meant = at.origin == "named_text" and (said["sourced"] or said["delegated"])
            if at.origin in ("text", "named_text") and not meant:
                found.append(fact_of(leaf, "text", where_is(at)))
    return tuple(found)
