"""Questions as formulas: what a call must be like that settles one, and how the evaluator would say so."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import Constraint
from beliefd.kernel.substrate.explaining import Explanation
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.policy.proving.logic import Formula, both, either, negated
from beliefd.policy.proving.rulings import HARD, Ruling
from beliefd.policy.proving.witnesses import Explain, Settles
from beliefd.policy.proving.world import Side

NO_ALLOW: Final = "NO_ALLOW"


class Query(Struct, frozen=True):
    """One thing to look for: a call for which all of `first` and `then` hold, and that no constraint of
    `passing` stands in the way of. `then` is made only if `first` can be, and constraints are looked at only
    when a call is found that they are against.

    With `without`, the verdict is compared with that of the policy less this constraint.
    """

    asked: Guarantee
    first: list[Formula]
    settles: Settles
    then: Callable[[], list[Formula]] = list
    passing: Mapping[Side, list[Constraint]] = {}
    without: str | None = None


def without(policy: Policy, key: str) -> Policy:
    left = {name: raw for name, raw in policy.constraints.items() if name != key}
    return replace(policy, constraints=left, prove=UNSET)


def queries(
    asked: Guarantee, rulings: Mapping[Side, Ruling], constraints: Mapping[str, Constraint]
) -> Iterator[Query]:
    """What to look for, one after the other: the first call that is found settles the question."""
    new = rulings["new"]
    if asked.update is not UNSET:
        yield from _update(asked, rulings["old"], new)
    elif asked.never_conflict is not UNSET:
        first, second = (constraints[key] for key in asked.never_conflict)
        yield Query(asked, [new.reached, _conflict(new, first, second)], _conflicting(first, second))
    elif asked.constraint is not UNSET:
        yield from _of_constraint(asked, new, constraints[asked.constraint])
    elif asked.never == "at_all":
        yield from _not_denied(asked, new, [], _verdict("allow", "defer"))
    else:
        wanted = [*new.about(asked), *new.allows()]
        yield Query(asked, wanted, _verdict("allow"), passing={"new": new.constraints})


def _verdict(*fitting: str) -> Settles:
    return lambda explain: explain("new").verdict in fitting


def _not_denied(asked: Guarantee, new: Ruling, more: list[Formula], settles: Settles) -> Iterator[Query]:
    """Calls that pass or wait: something allows them, or nothing does and they wait all the same."""
    about = [*new.about(asked), new.reached, negated(new.unclear()), *more]
    passing = {"new": new.hard_ones}
    side: Mapping[Side, list[Constraint]] = passing  # type: ignore[assignment]
    yield Query(asked, [*about, new.allowable], settles, passing=side)
    if not new.policy.arbitration.counts_all:
        yield Query(asked, [*about, negated(new.allowable)], settles, lambda: [new.soft()], side)


def _update(asked: Guarantee, old: Ruling, new: Ruling) -> Iterator[Query]:
    shared = old.shared
    barred = either(
        negated(old.reached), negated(old.allowable), old.asks_person, old.hard(shared), old.soft(shared)
    )
    yield Query(
        asked,
        [*new.allows(), barred],
        lambda explain: explain("new").verdict == "allow" and explain("old").verdict != "allow",
        passing={"new": new.constraints},
    )
    if asked.update == "permits_nothing_new":
        return
    settles: Settles = lambda explain: explain("new").verdict != "deny" and explain("old").verdict == "deny"  # noqa: E731
    yield from _not_denied(asked, new, [either(negated(old.reached), old.hard(shared))], settles)
    # Nothing allowed it, and nobody was asked.
    asking = [one for one in old.constraints if one.on_fail not in HARD]
    if old.policy.arbitration.counts_all:
        asking = []
    for query in _not_denied(asked, new, [negated(old.allowable)], settles):
        yield replace(query, passing={**query.passing, "old": asking})


def _of_constraint(asked: Guarantee, new: Ruling, one: Constraint) -> Iterator[Query]:
    about = [*new.about(asked), new.reached]
    if "fire" in (asked.never, asked.can):
        if one.effect == "allow" and one.malformed is None:
            found = both(new.applies(one), new.holds(one))
            yield Query(asked, [*about, found], lambda explain: one.key in _reached(explain).allowed_by)
        else:
            yield Query(asked, [*about, new.stands(one)], lambda explain: _stands(explain, one))
        return
    rest = new.less(one.key)
    allows = [both(*one.allows(), *one.passing(one.constraints)) for one in (new, rest)]
    denies_not = [both(*one.denies_not(), *one.passing(one.hard_ones)) for one in (new, rest)]
    differ = either(_unlike(*allows), _unlike(*denies_not))
    settles: Settles = lambda explain: explain("new").verdict != explain("old").verdict  # noqa: E731
    yield Query(asked, [*new.about(asked), differ], settles, without=one.key)


def _unlike(left: Formula, right: Formula) -> Formula:
    return either(both(left, negated(right)), both(right, negated(left)))


def _conflict(new: Ruling, first: Constraint, second: Constraint) -> Formula:
    """One lets through what the other stands in the way of, or both want different things of a call."""
    lets = partial(_lets_through, new)
    against = [
        both(lets(first), new.stands(second)),
        both(lets(second), new.stands(first)),
    ]
    if first.on_fail != second.on_fail:
        against.append(both(new.stands(first), new.stands(second)))
    return either(*against)


def _lets_through(new: Ruling, one: Constraint) -> Formula:
    return (
        both(new.applies(one), new.holds(one)) if one.effect == "allow" and one.malformed is None else False
    )


def _conflicting(first: Constraint, second: Constraint) -> Settles:
    def settles(explain: Explain) -> bool:
        found = _reached(explain)
        lets = [one.key in found.allowed_by for one in (first, second)]
        stands = [_stands(explain, one) for one in (first, second)]
        return (
            (lets[0] and stands[1])
            or (lets[1] and stands[0])
            or (all(stands) and first.on_fail != second.on_fail)
        )

    return settles


def _reached(explain: Explain) -> Explanation:
    """What is said of a call that gets as far as the constraints; of others, nothing is allowed."""
    found = explain("new")
    past = all(one.constraint is not None or one.code == NO_ALLOW for one in found.reasons)
    return (
        found
        if past
        else Explanation(
            verdict=found.verdict,
            reason_code=found.reason_code,
            on_fail=None,
            reasons=[],
            allowed_by=[],
            left_out=[],
        )
    )


def _stands(explain: Explain, one: Constraint) -> bool:
    return any(reason.constraint == one.key for reason in explain("new").reasons)
