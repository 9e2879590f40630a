"""Questions as formulas: what a call must be like that settles one, and how the evaluator would say so."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import Constraint
from beliefd.kernel.substrate.explaining import Explanation
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.policy.proving.logic import Formula, both, either, negated
from beliefd.policy.proving.rulings import Ruling
from beliefd.policy.proving.witnesses import Explain, Settles
from beliefd.policy.proving.world import Side

NO_ALLOW: Final = "NO_ALLOW"


class Query(Struct, frozen=True):
    """One thing to look for. `without`: the verdict is compared with that of the policy less a constraint."""

    asked: Guarantee
    assertions: list[Formula]
    settles: Settles
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
        yield Query(asked, [*new.about(asked), *new.denies_not()], _verdict("allow", "defer"))
    else:
        yield Query(asked, [*new.about(asked), *new.allows()], _verdict("allow"))


def _verdict(*fitting: str) -> Settles:
    return lambda explain: explain("new").verdict in fitting


def _update(asked: Guarantee, old: Ruling, new: Ruling) -> Iterator[Query]:
    shared = old.shared
    barred = either(
        negated(old.reached), negated(old.allowable), old.asks_person, old.hard(shared), old.soft(shared)
    )
    yield Query(
        asked,
        [*new.allows(), barred],
        lambda explain: explain("new").verdict == "allow" and explain("old").verdict != "allow",
    )
    if asked.update == "loosens_nothing":
        stuck = both(negated(old.soft()), negated(old.allowable))
        yield Query(
            asked,
            [*new.denies_not(), either(negated(old.reached), old.hard(shared), stuck)],
            lambda explain: explain("new").verdict != "deny" and explain("old").verdict == "deny",
        )


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
    differ = either(
        _unlike(both(*new.allows()), both(*rest.allows())),
        _unlike(both(*new.denies_not()), both(*rest.denies_not())),
    )
    settles: Settles = lambda explain: explain("new").verdict != explain("old").verdict  # noqa: E731
    yield Query(asked, [*new.about(asked), differ], settles, one.key)


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
