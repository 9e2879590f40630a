"""Formulas that fold what is known already, so that the solver is only told what is open."""

from datetime import timedelta
from fractions import Fraction
from typing import Any

import z3

from beliefd.kernel.substrate.comparing import moment
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


def instant(value: Any) -> Formula | None:
    """The time that a text names, in seconds, exactly; None if it names none."""
    found = moment(value)
    if found is None:
        return None
    return z3.Q((found - EPOCH) // timedelta(microseconds=1), 1_000_000)
