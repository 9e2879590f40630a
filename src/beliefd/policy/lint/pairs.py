"""What is the matter between two constraints: one that says the same, hides the other, or overrides it.

Which constraints can meet is known from their subjects and from what they read, and most meet few: so a
policy of thousands is looked over in seconds. Where there are more pairs, only the first are compared.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from beliefd.kernel.canonical import digest
from beliefd.kernel.substrate.constraints import EVERYTHING, INVARIANTS, Constraint, Strictness
from beliefd.kernel.substrate.operators import SchemaCheck
from beliefd.kernel.substrate.predicates import Predicate, holds, paths_read
from beliefd.policy.explaining.answering import effect_of
from beliefd.policy.lint.domains import states
from beliefd.policy.lint.finding import Finding

MOST_PAIRS: Final = 200_000
MOST_STATES: Final = 400_000
"""So many states are looked at for all pairs together."""


class Meeting(Struct, frozen=True):
    """How two conditions come out together: does one hold only where the other does, can both hold?"""

    first_implies: bool
    second_implies: bool
    both: bool


class Comparing:
    def __init__(self, fits: SchemaCheck) -> None:
        self._fits = fits
        self._left = MOST_STATES

    def meeting(self, first: Predicate | None, second: Predicate | None) -> Meeting | None:
        """None where it would take too long to say."""
        if first is None or second is None:
            return Meeting(second is None, first is None, True)
        over = states([first, second], self._fits) if self._left > 0 else None
        if over is None:
            return None
        said = set[tuple[bool, bool]]()
        for state in over:
            self._left -= 1
            said.add((holds(first, state, self._fits), holds(second, state, self._fits)))
        return Meeting((True, False) not in said, (False, True) not in said, (True, True) in said)


def pairs(constraints: Iterable[Constraint], fits: SchemaCheck) -> Iterator[Finding]:
    known = [one for one in constraints if one.malformed is None]
    twice = {finding.constraint: finding for finding in _duplicates(known)}
    yield from twice.values()
    rest = [one for one in known if one.key not in twice]
    comparing = Comparing(fits)
    for first, second in islice(_that_meet(rest), MOST_PAIRS):
        finding = _between(first, second, comparing)
        if finding is not None:
            yield finding


def _duplicates(constraints: list[Constraint]) -> Iterator[Finding]:
    """The same under two names. One look-up each, however many there are."""
    seen: dict[str, Constraint] = {}
    for one in constraints:
        raw = {name: value for name, value in one.raw.items() if name not in ("reason", "v")}
        said = digest([one.key.startswith(INVARIANTS), {**raw, "on_fail": one.on_fail, "effect": one.effect}])
        first = seen.setdefault(said, one)
        if first is not one:
            text = f"it says the same as `{first.key}`"
            yield Finding(code="DUPLICATE", constraint=one.key, other=first.key, message=text)


def _that_meet(constraints: list[Constraint]) -> Iterator[tuple[Constraint, Constraint]]:
    """Pairs that can be about one call: of one subject, or one of them of everything."""
    read = {one.key: frozenset[str]() if one.when is None else paths_read(one.when) for one in constraints}
    by_subject: dict[tuple[bool, object], list[Constraint]] = {}
    for one in constraints:
        by_subject.setdefault((one.key.startswith(INVARIANTS), one.subject), []).append(one)
    for (invariant, subject), group in by_subject.items():
        wide = by_subject.get((invariant, EVERYTHING), []) if subject != EVERYTHING else []
        for place, one in enumerate(group):
            for other in (*group[place + 1 :], *wide):
                # Conditions on different values say nothing about each other.
                mine, its = read[one.key], read[other.key]
                if not mine or not its or not mine.isdisjoint(its):
                    yield one, other


def _between(one: Constraint, other: Constraint, comparing: Comparing) -> Finding | None:
    """`other` has the same subject or a wider one."""
    if (one.effect == "allow") != (other.effect == "allow"):
        deny, allow = (other, one) if one.effect == "allow" else (one, other)
        return _unreachable(allow, deny, comparing)
    if one.effect == "allow":
        return None
    meeting = comparing.meeting(one.when, other.when)
    if meeting is None or not meeting.both:
        return None
    stricter = Strictness[other.on_fail] - Strictness[one.on_fail]
    if meeting.first_implies and stricter >= 0:
        return _shadowed(one, other)
    if meeting.second_implies and stricter <= 0 and one.subject == other.subject:
        return _shadowed(other, one)
    return _overlapping(one, other) if stricter else None


def _shadowed(hidden: Constraint, by: Constraint) -> Finding:
    text = f"wherever it fires, `{by.key}` fires as well and is as strict: it never makes a difference"
    return Finding(code="SHADOWED", constraint=hidden.key, other=by.key, message=text)


def _overlapping(one: Constraint, other: Constraint) -> Finding:
    milder, by = sorted((one, other), key=lambda item: Strictness[item.on_fail])
    said = effect_of(milder) if effect_of(milder) != "deny" else milder.on_fail
    text = f"where both fire, `{by.key}` decides ({by.on_fail}), and not this one ({said})"
    return Finding(code="OVERLAPPING", constraint=milder.key, other=by.key, message=text, level="note")


def _unreachable(allow: Constraint, deny: Constraint, comparing: Comparing) -> Finding | None:
    """An allow of which nothing can pass, because a deny blocks all that it allows."""
    covers = deny.subject in (allow.subject, EVERYTHING)
    if not covers or deny.on_fail not in ("block", "degrade"):
        return None
    meeting = comparing.meeting(allow.when, deny.when)
    if meeting is None or not (meeting.first_implies and meeting.both):
        return None
    text = f"whatever it allows is denied by `{deny.key}`"
    return Finding(code="UNREACHABLE", constraint=allow.key, other=deny.key, message=text)
