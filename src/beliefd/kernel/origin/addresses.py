"""Addresses that a call reads at: known to the session, or where something new would be told."""

import re
from collections.abc import Iterator
from typing import Final

from beliefd.kernel.origin.arguments import Call, Leaf
from beliefd.kernel.origin.index import HOST, Place, Wanted, joined
from beliefd.kernel.origin.spelling import atoms, folded, host_of, is_file_name, tells_a_user
from beliefd.kernel.origin.tools import is_address, is_host


def leads_out(leaf: Leaf) -> bool:
    if leaf.kind == "path":
        return is_address(leaf.text)
    hosted = leaf.value is not None and leaf.value.shape == "host"
    hosted = hosted or (is_host(leaf.text, leaf.words) and not is_file_name(folded(leaf.text).strip()))
    return leaf.kind == "sink" or hosted or is_address(leaf.text)


def is_closed(call: Call, leaf: Leaf) -> bool:
    """The user's, the system's, or seen outside of the open world."""
    if leaf.value is None:
        return False
    at = call.session.origin(leaf.value)
    if at.origin in ("user", "system", "own", "directory"):
        return True
    places = (place for place, _ in call.session.heard.places(leaf.value) if place.record.how != "open")
    return at.place is not None and any(_points_there(place, call) for place in places)


def is_host_known(call: Call, leaf: Leaf) -> bool:
    """Its host is, and it asks nothing new there."""
    if leaf.value is None:
        return False
    host = host_of(leaf.value.key)
    if tells_a_user(leaf.value.key) or not call.session.host_seen(host):
        return False
    return any(True for _ in call.session.heard.places(leaf.value)) or _asks_nothing_new(
        leaf.text, call, host
    )


def _points_there(place: Place, call: Call) -> bool:
    """Of a document that the user speaks of, its one address is meant, if there is no other in it."""
    return place.kind != "text" or not place.record.named or is_alone(place, call)


def is_alone(place: Place, call: Call) -> bool:
    """Has the record one link, or does the user want several?"""
    shapes = place.record.shapes
    count = len(shapes.get("url", ())) + len(shapes.get("host", ()))
    return count <= 1 or "plural" in call.session.speech.phrases


def _asks_nothing_new(url: str, call: Call, host: str) -> bool:
    """What it asks there are the words of the user, or such that say nothing.

    A path may ask, too, where a field brought the host.
    """
    session, one = call.session, host_wanted(host)
    known, plain = {*session.speech.words, *session.lexicon.stops}, folded(url)
    asked = plain.partition("?")[2]
    if not session.said.has(one) and not session.told.has(one):
        asked = re.sub(r"^(?:[a-z][a-z0-9+.-]*:)?[/\\]*[^/?]*", "", plain)
        for place, _ in session.heard.places(one):
            known.update(place.tokens if place.kind == "field" else ())
    fresh = [word for word in re.findall(r"[^\W_]+", asked) if word not in known]
    return len(fresh) <= _LETTERS and all(len(word) == 1 for word in fresh)


_LETTERS: Final = 2
"""So many single letters tell nothing: `?q=`, `/p/`."""


def host_wanted(host: str) -> Wanted:
    return Wanted(f"{HOST}{host}", (host,), True, "host")


_A_NAME: Final = 4
"""Shorter ones are in every text."""


def hosts_around(host: str) -> Iterator[Wanted]:
    """A host, those that it is a part of, and the name that these have in common, if it says something."""
    labels = host.split(".")
    for at in range(len(labels) - 1):
        yield host_wanted(".".join(labels[at:]))
    name = labels[-2] if len(labels) > 1 else ""
    if len(name) >= _A_NAME and (one := joined(atoms(name, {}))) is not None:
        yield one
