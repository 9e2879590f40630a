"""Formulas that fold what is known already, so that the solver is only told what is open."""

from bisect import bisect_left
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final

import z3

from beliefd.kernel.substrate.comparing import Bound, moment
from beliefd.kernel.substrate.operators import WIDELY
from beliefd.kernel.substrate.predicates import Predicate
from beliefd.policy.proving.paths import EPOCH

Formula = Any
"""True, False, or a formula of the solver."""


def both(*parts: Formula) -> Formula:
    left = [part for part in parts if part is not True]
    if any(part is False for part in left):
        return False
    return True if not left else left[0] if len(left) == 1 else z3.And(*left)


def either(*parts: Formula) -> Formula:
    left = [part for part in parts if part is not False]
    if any(part is True for part in left):
        return True
    return False if not left else left[0] if len(left) == 1 else z3.Or(*left)


def negated(part: Formula) -> Formula:
    return (not part) if isinstance(part, bool) else z3.Not(part)


def implied(condition: Formula, then: Formula) -> Formula:
    return either(negated(condition), then)


def exactly(number: int | float) -> Formula:
    """A number as the solver knows it, with all its digits."""
    found = Fraction(number)
    return z3.Q(found.numerator, found.denominator)


def instant(value: Any, *, wide: bool = True) -> Formula | None:
    """The time that a text names, in seconds, exactly; None if it names none."""
    found = moment(value, wide=wide)
    if found is None:
        return None
    return z3.Q((found - EPOCH) // timedelta(microseconds=1), SECOND)


def reads_widely(leaf: Predicate) -> bool:
    """Does a condition read times in every way that they may be written?"""
    return WIDELY in leaf.args or any(isinstance(one, Bound) and one.wide for one in leaf.args[1:])


def older(age: int | float) -> Formula:
    """The least number of seconds that is more than an age, as the evaluator works it out: from whole
    microseconds, in floating point."""
    return z3.Q(bisect_left(range(LONGEST), True, key=lambda found: found / SECOND > age), SECOND)


SECOND: Final = 1_000_000
TIMES: Final = (instant("0001-01-01T00:00:00+23:59"), instant("9999-12-31T23:59:59.999999-23:59"))
"""The first and the last time that a text can name."""
LONGEST: Final = 4 * 10**17
"""More microseconds than there are in between."""
