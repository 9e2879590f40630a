"""Looking a policy over: constraints and rules that never matter, get into each other's way, or read what is
not there.

Conditions are compared by the real evaluator, on values that they tell apart. Where those could not stand for
all, nothing is said: that is what `beliefd policy prove` is for.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.ledger.chain import policy_hash
from beliefd.policy.lint.alone import CONSTANT, alone
from beliefd.policy.lint.finding import Finding
from beliefd.policy.lint.names import names, similar
from beliefd.policy.lint.pairs import pairs
from beliefd.policy.lint.rules import Derived

MOST: Final = 1_000
COMPLETE: Final = (
    "compared on the values that conditions name, and of thousands not every pair; "
    "`beliefd policy prove` answers for all calls"
)


class Linted(Struct, frozen=True):
    """What was found. `complete` says how far it goes."""

    constraints: int
    rules: int
    warnings: int
    findings: list[Finding]
    complete: str = COMPLETE


def lint(policy: Policy) -> Linted:
    found = list(islice(_findings(policy), MOST))
    found.sort(key=lambda one: (one.level != "warning", one.constraint, one.code, one.other))
    return Linted(
        len(policy.constraints), len(policy.rules or {}), sum(one.level == "warning" for one in found), found
    )


def _findings(policy: Policy) -> Iterator[Finding]:
    rules = rulebook(policy, policy_hash(policy))
    derived = Derived(policy)
    idle: set[str] = set()
    yield from derived.findings()
    for one in rules.constraints:
        for finding in alone(one, rules.fits, derived.known):
            if finding.code in CONSTANT:
                idle.add(finding.constraint)
            yield finding
        yield from names(one, policy)
    yield from similar(rules.constraints)
    yield from pairs([one for one in rules.constraints if one.key not in idle], rules.fits)
