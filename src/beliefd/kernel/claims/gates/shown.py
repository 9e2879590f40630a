"""Does a card show what a gate asks a person about? A yes answers what was seen, and nothing else."""

from collections.abc import Iterable, Sequence
from typing import Final

from beliefd.kernel.claims.bundle import Severity
from beliefd.kernel.claims.gates.evidence import GATE as EVIDENCE
from beliefd.kernel.claims.gates.result import GateResult

CALLS: Final = (Severity.DEFER.name, Severity.ESCALATE.name)


def was_shown(found: Iterable[GateResult], shown: Sequence[GateResult] | None) -> bool:
    """Of one gate: is each of its questions on the card, as it is or worse? None: nobody knows what was."""
    return shown is None or all(
        any(_is_no_more(one, seen) for seen in shown) for one in found if one.outcome in CALLS
    )


def _is_no_more(one: GateResult, seen: GateResult) -> bool:
    """What is no worse is nothing new. The same score of a detector may not come twice, and what is told of
    it names models. Of evidence, ages pass by themselves: what is the matter with it is in the words."""
    if (one.gate, one.claim_id) != (seen.gate, seen.claim_id) or seen.outcome not in CALLS:
        return False
    if one.gate == EVIDENCE:
        return one.reason == seen.reason
    if isinstance(one.observed, int | float) and isinstance(seen.observed, int | float):
        return one.observed <= seen.observed
    return one.observed == seen.observed
