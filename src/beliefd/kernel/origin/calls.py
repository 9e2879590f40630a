"""Works out the facts about one call. What it reads of the session are lookups."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.origin.facts import RANK, CallFacts, Commanded, Trust, ValueFact
from beliefd.kernel.origin.index import MAX_VALUE, Wanted, wanted
from beliefd.kernel.origin.memory import Found, Memory, leaves
from beliefd.kernel.origin.spelling import SINK_SHAPES, atoms, folded, has_card, host_of, joined_accounts, name_words
from beliefd.kernel.origin.tools import Tier, ToolInfo, Trade, closed_set, goes_out, trade
from beliefd.kernel.values import Id, Object

MAX_LEAVES: Final = 256
"""Values of one call that are looked at; a call with more is untrusted as a whole."""
_SHOWN: Final = 80
_TRUSTED: Final = RANK["named_field"]
_FEW: Final = 7
"""A payload of so few characters says nothing."""


class Leaf(Struct, frozen=True):
    """One value of a call, sorted."""

    name: str
    words: frozenset[str]
    text: str
    kind: str
    value: Wanted | None


class _Call(Struct, frozen=True):
    session: Memory
    tool: ToolInfo
    what: Trade
    tier: Tier
    leaves: tuple[Leaf, ...]


def call_facts(session: Memory, tool: ToolInfo, args: Object, catalogue: Mapping[Id, ToolInfo]) -> CallFacts:
    what = trade(tool, session.lexicon)
    found = leaves(args)
    tier = _tier(tool, what, args, session)
    sorted_leaves = tuple(_leaf(name, value, tool, session) for name, value in found[:MAX_LEAVES])
    call = _Call(session, tool, what, tier, sorted_leaves)
    speech = session.speech
    said = {kind: kind in speech.phrases for kind in session.lexicon.says}
    nth = session.counts.get(tool.tool_id, 0) + session.pending.get(tool.tool_id, 0)
    orders, commanded = _commanded(call)
    sinks, links, payload, objects = _sinks(call, said), _links(call), _payload(call), _objects(call)
    mentions = max(speech.mentions[what.name], int(what.verb in speech.verbs))
    hard = what.name in session.lexicon.hard or bool(tool.destructive)
    flags = CallFacts(
        tool_id=tool.tool_id,
        tier=tier,
        action=what.name,  # type: ignore[arg-type]
        hard=hard,
        intended=_intended(call, catalogue, said["delegated"] and bool(session.named_orders & what.mask)),
        sinks=sinks,
        links=links,
        payload=payload,
        objects=objects,
        orders=orders,
        commanded=commanded,
        sourced=said["sourced"],
        delegated=said["delegated"],
        granted=said["granted"],
        selector=said["selector"],
        described=said["described"],
        plural=said["plural"],
        links_wanted=said["links"],
        secret=_secret(call),
        nth=nth,
        mentions=mentions,
        truncated=len(found) > MAX_LEAVES or session.heard.left_out,
        sink_trust=max((sink.trust for sink in sinks), key=_TRUST.index, default="none"),
        sink_foreign=any(_foreign(sink, hard, said) for sink in sinks) or len(found) > MAX_LEAVES,
        url_known=tier != "egress" or all(_url_known(call, leaf) for leaf in call.leaves if leaf.kind == "sink"),
        object_foreign=any(one.origin in ("text", "model") or (one.origin == "listed" and not (said["selector"] or said["described"])) for one in objects),
        link_foreign=any(one.origin == "text" or (one.origin == "named_text" and not said["links"]) for one in links),
        payload_foreign=any(one.origin in ("text", "named_text") for one in payload),
        over_quota=hard and not said["plural"] and nth >= max(1, mentions),
    )
    return flags


_TRUST: Final[tuple[Trust, ...]] = ("trusted", "field", "sole", "foreign", "refused")


def _foreign(sink: ValueFact, hard: bool, said: Mapping[str, bool]) -> bool:
    if sink.trust == "field":
        return not said["selector"] or (sink.external and hard)
    return sink.trust in ("foreign", "refused")


def _tier(tool: ToolInfo, what: Trade, args: Object, session: Memory) -> Tier:
    if tool.tier == "egress":
        return "egress"
    if not what.reads or (tool.tier is None and what.verb in session.lexicon.hands_out and _hands_out(args, session)):
        return "write"
    return "egress" if goes_out(tool, args, session.lexicon) else "read"


def _hands_out(args: Object, session: Memory) -> bool:
    """`export` to somewhere is no reading."""
    outlets = session.lexicon.names["outlet"]
    return any(word in outlets for name in args for word in name_words(name))


def _leaf(name: str, value: Any, tool: ToolInfo, session: Memory) -> Leaf:
    """Sorts a value by its name and its shape."""
    names, text = session.lexicon.names, _text(value)
    words = name_words(name)
    joined, every = "_".join(words), frozenset(words)
    short = len(text) <= _SHOWN and "\n" not in text and text.count(" ") <= 6
    one = wanted(text, session.lexicon.month_of) if len(text) <= MAX_VALUE else None
    shape = one.shape if one else "word"
    if closed_set(tool, name) or (words and words[0] in names["quote"] and len(words) > 1):
        kind = "choice"
    elif shape in SINK_SHAPES:
        kind = "sink"
    elif words and (words[-1] in names["id"] or joined in names["id"]) and not every & (names["by_id"] | names["secret"]):
        kind = "object"
    elif not short or joined in names["text"] or (words and words[-1] in names["text"]):
        kind = "text"
    elif every & names["sink"] and not every & names["path"]:
        kind = "sink"
    elif every & names["path"]:
        kind = "path"
    else:
        kind = "payload"
    return Leaf(name, every, text, kind, one)


def _text(value: Any) -> str:
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return str(value)


def _where(found: Found) -> str:
    if found.place is None:
        return "nowhere in what the session was told"
    record = found.place.record
    if record.how == "said":
        return {"user": "the user's text", "system": "the system text"}.get(record.tool, "the user's own addresses")
    field = f"`{found.place.path}` of " if found.place.path else ""
    return f"{field}result {record.item} of {record.tool}"


def _fact(leaf: Leaf, origin: Any, where: str, **more: Any) -> ValueFact:
    shown = leaf.text if len(leaf.text) <= _SHOWN else f"{leaf.text[:_SHOWN]}..."
    shown = shown.encode(errors="replace").decode()
    return ValueFact(argument=leaf.name, value=shown, origin=origin, where=where, shape=leaf.value.shape if leaf.value else "word", **more)  # fmt: skip


def _sinks(call: _Call, said: Mapping[str, bool]) -> tuple[ValueFact, ...]:
    found = []
    for leaf in call.leaves:
        if leaf.kind not in ("sink", "path") or leaf.value is None or (call.tier == "read"):
            continue
        at = call.session.origin(leaf.value, sink=True)
        if leaf.kind == "path" and at.origin == "model" and _harmless_path(leaf.text):
            continue
        found.append(_fact(leaf, at.origin, _where(at), external=_external(call, leaf), trust=_trust(call, leaf, at, said)))
    return tuple(found)


def _harmless_path(path: str) -> bool:
    """A name the model made up for something new, inside of where it works."""
    pieces = path.replace("\\", "/").split("/")
    return not path.startswith(("/", "~")) and ":" not in path and not any(piece.startswith(".") for piece in pieces)


def _external(call: _Call, leaf: Leaf) -> bool:
    assert leaf.value is not None  # noqa: S101
    if leaf.value.shape == "email":
        return host_of(leaf.value.key) not in call.session.own_hosts
    return leaf.value.shape in SINK_SHAPES


def _trust(call: _Call, leaf: Leaf, at: Found, said: Mapping[str, bool]) -> Trust:
    assert leaf.value is not None  # noqa: S101
    if leaf.value.key in call.session.refused_sinks and at.origin not in ("user", "system"):
        return "refused"
    if RANK[at.origin] <= _TRUSTED:
        return "trusted"
    if at.origin == "field":
        return "field"
    if at.origin == "named_text" and at.place is not None:
        alone = len(at.place.record.shapes.get(leaf.value.shape, ())) == 1
        if alone and (said["granted"] or _conamed(call, leaf.value)):
            return "sole"
    return "foreign"


def _conamed(call: _Call, value: Wanted) -> bool:
    """The address bears a name of the user's text, and no other known address does."""
    names = [part for part in value.parts if part in call.session.speech.names]
    return any(call.session.named_by.get(name, {value.key}) <= {value.key} for name in names)


def _url_known(call: _Call, leaf: Leaf) -> bool:
    """The user's, the system's, or seen outside of the open world; or its host is and it asks nothing new."""
    if leaf.value is None:
        return False
    at = call.session.origin(leaf.value)
    if at.origin in ("user", "system", "own", "directory"):
        return True
    closed = at.place is not None and any(place.record.how != "open" for place, _ in call.session.heard.places(leaf.value))
    if not closed:
        return call.session.host_seen(host_of(leaf.value.key)) and "?" not in leaf.text
    return True


def _links(call: _Call) -> tuple[ValueFact, ...]:
    """Addresses inside of contents."""
    found = []
    for leaf in call.leaves:
        if leaf.kind not in ("text", "payload"):
            continue
        plain = joined_accounts(folded(leaf.text[:200_000]))
        for atom in atoms(plain, call.session.lexicon.month_of):
            if atom.shape in ("url", "host") and len(found) < 64:
                inner = Leaf(leaf.name, leaf.words, atom.key, "link", Wanted(atom.key, atom.parts, True, atom.shape))
                at = call.session.origin(inner.value)  # type: ignore[arg-type]
                found.append(_fact(inner, at.origin, _where(at)))
    return tuple(found)


def _payload(call: _Call) -> tuple[ValueFact, ...]:
    found = []
    for leaf in call.leaves:
        if leaf.kind == "payload" and leaf.value and len(leaf.text) > _FEW and leaf.value.shape not in ("day", "time", "number") and not leaf.value.days:
            at = call.session.origin(leaf.value)
            found.append(_fact(leaf, at.origin, _where(at)))
    return tuple(found)


def _objects(call: _Call) -> tuple[ValueFact, ...]:
    found = []
    for leaf in call.leaves:
        if leaf.kind == "object" and leaf.value:
            origin = call.session.object(leaf.value)
            found.append(_fact(leaf, origin, _where(call.session.origin(leaf.value))))
    return tuple(found)


def _commanded(call: _Call) -> tuple[tuple[ValueFact, ...], Commanded]:
    """Texts that order this kind of thing next to a value the user never gave."""
    found: list[ValueFact] = []
    worst: Commanded = "none"
    for leaf in call.leaves:
        if leaf.kind == "choice" or leaf.value is None or len(leaf.text) > MAX_VALUE:
            continue
        if leaf.kind == "object" and call.session.object(leaf.value) in ("user", "own", "named"):
            continue
        for value in _looked_for(leaf, call.session):
            how, at = _ordered(call, value)
            if how != "none":
                found.append(_fact(leaf, at.origin, _where(at)))
                worst = how if worst != "other" else worst
    return tuple(found), worst


def _looked_for(leaf: Leaf, session: Memory) -> list[Wanted]:
    value = leaf.value
    if value is None or value.key in session.lexicon.stops or (len(value.key) < 2 and leaf.kind != "object"):
        return []
    days = [Wanted(day, (day,), True, "day") for day in value.days]
    if value.shape in ("day", "time") or (days and len(value.parts) <= 3):
        return [day for day in days if not session.said.has(day)]
    return [] if session.said.has(value) or session.told.has(value) else [value]


def _ordered(call: _Call, value: Wanted) -> tuple[Commanded, Found]:
    worst: Commanded = "none"
    at = Found("model")
    for place, position in call.session.heard.places(value):
        if place.kind == "text" and place.ordered_at(position) & call.what.mask:
            how: Commanded = "named" if place.record.named else "other"
            if worst != "other":
                worst, at = how, Found("named_text" if how == "named" else "text", place)
    if worst != "other" and call.session.heard.uncounted(value) & call.what.mask:
        return "other", Found("text")
    return worst, at


def _intended(call: _Call, catalogue: Mapping[Id, ToolInfo], delegated: bool) -> bool:
    """Did the user ask for this kind of thing, with these things rather than those of another tool?"""
    speech, what = call.session.speech, call.what
    if delegated:
        return True
    if not speech.mask & what.mask and what.verb not in speech.verbs:
        return False
    if not what.groups and what.nouns.isdisjoint(speech.words) is False:
        return True
    if what.groups & speech.groups or not what.nouns or not what.nouns.isdisjoint(speech.words):
        return True
    for other in catalogue.values():
        rival = trade(other, call.session.lexicon)
        if other.tool_id != call.tool.tool_id and not rival.reads and rival.mask & what.mask and rival.groups & speech.groups:
            return False
    return True


def _secret(call: _Call) -> bool:
    """A card number or a word for a secret in the contents that the user's words lack."""
    for leaf in call.leaves:
        if leaf.kind not in ("text", "payload"):
            continue
        plain = folded(leaf.text[:200_000])
        if set(call.session.lexicon.secret_words.findall(plain)) - call.session.speech.secrets:
            return True
        if has_card(plain) and not (leaf.value and call.session.said.has(leaf.value)):
            return True
    return False
