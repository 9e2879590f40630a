"""Values that tell conditions apart: for one path, some for every way in which they can come out."""

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import chain, islice, pairwise
from typing import Any, Final

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.substrate.comparing import is_number, key_of, moment
from beliefd.kernel.substrate.operators import SchemaCheck
from beliefd.kernel.substrate.paths import ABSENT
from beliefd.kernel.substrate.predicates import JOINING, Predicate, holds
from beliefd.kernel.substrate.schemas import Schema

MOST: Final = 96
"""So many values of one path are tried; a list that is longer is looked at in part."""
MOST_LISTED: Final = 24
KINDS: Final[tuple[Any, ...]] = ("text", 0, True, [], {}, None)
"""One value of every kind, for schemas that say no more."""
LITERAL: Final = re.compile(r"\^?([\w /:@-]+)\$?")
"""A pattern that is a text but for its anchors."""


def leaves(predicate: Predicate) -> Iterator[Predicate]:
    """What looks at the state: everything but what joins."""
    if predicate.op in JOINING:
        for inner in predicate.args:
            yield from leaves(inner)
    else:
        yield predicate


def by_path(predicates: Iterable[Predicate]) -> dict[str, list[Predicate]]:
    """The leaves of some conditions, by the path that each looks at."""
    found: dict[str, list[Predicate]] = {}
    for leaf in (leaf for predicate in predicates for leaf in leaves(predicate)):
        found.setdefault(leaf.args[0], []).append(leaf)
    return found


def samples(about: Iterable[Predicate], now: str) -> list[Any]:
    """Values for the path that these leaves look at: those that they name and their neighbours first, then
    nothing at all, then some that none of them names."""
    told = list(about)
    found = [value for leaf in told for value in _ABOUT.get(leaf.op, _nothing)(leaf.args, now)]
    found += _joined(told)
    found += _halfway(found)
    return unique(filter(_can_be_written, [*found, ABSENT, *_others(found)]))[:MOST]


def _can_be_written(value: Any) -> bool:
    """Beside what a policy names, there is not always another: JSON holds no number beyond the largest."""
    try:
        canonical(None if value is ABSENT else value)
    except NotCanonical:
        return False
    return True


def telling(
    about: Iterable[Predicate],
    now: str,
    fits: SchemaCheck,
    each: int = 1,
    possible: Callable[[Any], bool] = lambda _: True,
    more: Iterable[Any] = (),
) -> list[Any]:
    """The same of those that are possible, but no more than `each` of which all leaves say the same. `more`
    come first."""
    told, seen = list(about), dict[tuple[bool, ...], int]()
    found: list[Any] = []
    for value in filter(possible, unique([*more, *samples(told, now)])):
        said = tuple(holds(leaf, state_of({leaf.args[0]: value}, now), fits) for leaf in told)
        # INVARIANT: that nothing is there is one thing to say, however many values would do as well.
        if value is ABSENT or seen.get(said, 0) < each:
            found.append(value)
            seen[said] = seen.get(said, 0) + (value is not ABSENT)
    return found


def state_of(values: Mapping[str, Any], now: str) -> dict[str, Any]:
    """A state in which paths hold values, and the time of the decision is known."""
    given = {path: value for path, value in values.items() if value is not ABSENT}
    return given if "call.now" in values else {"call.now": now, **given}


def unique(values: Iterable[Any]) -> list[Any]:
    """Each value once, in the order of first sight."""
    seen: dict[Hashable, Any] = {}
    for one in values:
        seen.setdefault(ABSENT if one is ABSENT else key_of(one), one)
    return list(seen.values())


Args = tuple[Any, ...]


def _nothing(_: Args, __: str) -> list[Any]:
    return []


def _equal(args: Args, _: str) -> list[Any]:
    value = args[1]
    return [value, not value] if isinstance(value, bool) else [value]


def _listed(args: Args, _: str) -> list[Any]:
    return list(islice(args[1], MOST_LISTED))


def _near(args: Args, _: str) -> list[Any]:
    return [one for end in args[1:] for one in _neighbours(end)]


def _neighbours(end: Any) -> list[Any]:
    if is_number(end):
        return [end, end - 1, end + 1]
    then = moment(end)
    return [str(end)] if then is None else [str(end), *_times(then, -1, 1)]


def _aged(args: Args, now: str) -> list[Any]:
    then = moment(now)
    return [] if then is None else list(_times(then, -args[1], -args[1] - 1))


def _times(then: datetime, *seconds: float) -> Iterator[str]:
    """So many seconds from then, but for what is before or after all times."""
    for by in seconds:
        with suppress(OverflowError):
            yield (then + timedelta(seconds=by)).isoformat().replace("+00:00", "Z")


def _pattern(args: Args, _: str) -> list[Any]:
    literal = LITERAL.fullmatch(str(args[1]))
    return [] if literal is None else [literal[1]]


def _sets(args: Args, _: str) -> list[Any]:
    members = list(islice(args[1], MOST_LISTED))
    return [members, members[:1], [], [*members, "other"], ["other"]]


def _counted(args: Args, _: str) -> list[Any]:
    sizes = (int(args[2]) + by for by in (0, -1, 1))
    return [[0] * size for size in sizes if 0 <= size <= MOST_LISTED]


def _schema(args: Args, _: str) -> list[Any]:
    raw = args[1].raw if isinstance(args[1], Schema) else None
    return [*named_in(raw), *KINDS] if isinstance(raw, dict) else list(KINDS)


def named_in(raw: dict[str, Any]) -> list[Any]:
    """Values that a schema names."""
    found = [raw[name] for name in ("const", "default") if name in raw]
    for name in ("enum", "examples"):
        found += raw.get(name, [])[:MOST_LISTED] if isinstance(raw.get(name), list) else []
    for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
        found += _neighbours(raw[name]) if is_number(raw.get(name)) else []
    return found


_ABOUT: Final[dict[str, Callable[[Args, str], list[Any]]]] = {
    "eq": _equal,
    "in": _listed,
    "schema": _schema,
    **dict.fromkeys(("lt", "le", "gt", "ge", "between"), _near),
    "age_over": _aged,
    "starts_with": lambda args, _: [args[1], f"{args[1]}other"],
    "ends_with": lambda args, _: [args[1], f"other{args[1]}"],
    "matches": _pattern,
    **dict.fromkeys(("subset", "intersects"), _sets),
    "count": _counted,
}
"""By operator, what it names. Whether something is there is asked by `exists` and `missing`, of anything."""


def _joined(told: list[Predicate]) -> list[Any]:
    """Texts that begin and end as they should."""
    heads = [leaf.args[1] for leaf in told if leaf.op == "starts_with"][:MOST_LISTED]
    tails = [leaf.args[1] for leaf in told if leaf.op == "ends_with"][:MOST_LISTED]
    return [head + tail for head in heads[:4] for tail in tails[:4]]


def _halfway(found: list[Any]) -> list[Any]:
    """Values between any two that are named: two conditions may leave just a gap."""
    numbers = sorted({one for one in found if is_number(one)})
    times = sorted({then for one in found if isinstance(one, str) and (then := moment(one)) is not None})
    between = [low / 2 + high / 2 for low, high in pairwise(numbers)]
    middles = (_times(low, (high - low).total_seconds() / 2) for low, high in pairwise(times))
    return [*between, *chain.from_iterable(middles)]


ORDERED: Final = ("eq", "in", "exists", "missing", "lt", "le", "gt", "ge", "between")
"""Of these, the values that they name, their neighbours and what lies between stand for all others."""


def is_exhaustive(about: Iterable[Predicate], now: str, fits: SchemaCheck) -> bool:
    """Do the samples show every way in which these leaves can come out together?

    INVARIANT: where that is not known, it is not said.
    """
    told = list({(leaf.op, repr(leaf.args)): leaf for leaf in about}.values())
    values = samples(told, now)
    if len(values) == MOST or any(leaf.op == "in" and len(leaf.args[1]) > MOST_LISTED for leaf in told):
        return False
    loose = [leaf for leaf in told if leaf.op not in ORDERED]
    named = [leaf for leaf in told if leaf.op in ORDERED and leaf.op not in ("exists", "missing")]
    if not loose:
        return True
    there = (state_of({loose[0].args[0]: one}, now) for one in values if one is not ABSENT)
    return len(loose) == 1 and not named and len({holds(loose[0], one, fits) for one in there}) > 1


def _others(found: list[Any]) -> list[Any]:
    numbers = [one for one in found if is_number(one)]
    text = "other"
    while any(isinstance(one, str) and one == text for one in found):
        text += "-one"
    return [text, max(numbers, default=0) + 1, True, False, {"v": 1}]
