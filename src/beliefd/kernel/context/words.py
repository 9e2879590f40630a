"""Where the values of a call came from, in words: what a reason says beside its rule."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from beliefd.kernel.values import quoted

SPOKEN_OF: Final = {
    "sink": "sinks",
    "url": "sinks",
    "secret": "sinks",
    "object": "objects",
    "link": "links",
    "payload": "payload",
    "commanded": "orders",
}
"""By the beginning of a fact's name, the values that it is about."""
TRUSTED: Final = frozenset({"user", "system", "own", "directory", "named"})
MOST: Final = 5
NOWHERE: Final = "nowhere"


def origin_of(facts: Mapping[str, Any], names: Iterable[str]) -> tuple[str, ...]:
    """The values that these facts are about and that the user did not give, each with where it came from."""
    about = {values for name in names for word, values in SPOKEN_OF.items() if name.startswith(word)}
    found = [one for values in sorted(about) for one in facts.get(values, ()) if one["origin"] not in TRUSTED]
    return tuple(dict.fromkeys(map(_said, found)))[:MOST]


def _said(one: Mapping[str, Any]) -> str:
    where = one["where"]
    appears = f"appears {where}" if where.startswith(NOWHERE) else f"appears only in {where}"
    return f"{quoted(one['argument'])} {quoted(one['value'])} {appears}"
