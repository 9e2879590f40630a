"""What was decided of a bundle, and what a gate said, in words for people: one place for views and pages.

What is recorded stays as it is: these are words beside it.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, Struct

from beliefd.kernel.claims.bundle import Severity
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.substrate.predicates import CALL_FACTS
from beliefd.kernel.substrate.reasons import PERSON

if TYPE_CHECKING:
    from beliefd.protocol.approvals import ApprovalCard
    from beliefd.protocol.claims import JudgedBundle

GATE_WORDS: Final[dict[str, str]] = {
    Severity.EXECUTE.name: "pass",
    Severity.EXPLAIN.name: "note",
    Severity.DEFER.name: "wait",
    Severity.ESCALATE.name: "needs a person",
    Severity.REFUSE.name: "refuse",
}
_CALLS: Final = (Severity.DEFER.name, Severity.ESCALATE.name)
REPEATED: Final = "repeated, not run"
"""What is said of a call that is proposed again under its key: it runs once."""
NOT_COMPARED: Final = "nobody has compared the statement with what is cited"


class Headline(Struct, frozen=True):
    """`word` is what counts today: PUBLISH is none any more for what was taken back."""

    word: str
    text: str


def headline_of(answer: "JudgedBundle") -> Headline:
    text = _passed(answer)
    if not answer.ended:
        return Headline(answer.decision, text)
    hows = {one.how: None for one in answer.ended.values()}
    who = {one.by: None for one in answer.ended.values()}
    part = len(answer.ended) < len(answer.claims)
    word = " and ".join(one.upper() for one in hows) + (" IN PART" if part else "")
    return Headline(word, f"by {', '.join(who)}; before: {answer.decision}, {text}")


def _passed(answer: "JudgedBundle") -> str:
    """INVARIANT: what a person let through never reads as if every gate had passed by itself."""
    if answer.decision != "PUBLISH" or not (told := list(_answered(answer))):
        return answer.reason
    return f"passed; {'; '.join(told)}{', with caveats' if answer.caveats else ''}"


def _answered(answer: "JudgedBundle") -> Iterator[str]:
    """The gates that called for a person, by who answered."""
    said = [one for one in answer.audit_trail.human_approvals if one.decision == "APPROVED"]
    found: dict[tuple[str, ...], list[str]] = {}
    for gate in dict.fromkeys(one.gate for one in answer.gates if one.outcome in _CALLS):
        by = dict.fromkeys(one.approver for one in said if one.gates is UNSET or gate in one.gates)
        if by:
            found.setdefault(tuple(by), []).append(gate)
    for who, gates in found.items():
        yield f"{' and '.join(gates)} gate{'s' if len(gates) > 1 else ''} answered by {', '.join(who)}"


def words_of(reasons: Iterable[Reason]) -> str:
    """All reasons in a sentence; a value that several are about is told of once."""
    found = list(reasons)
    texts = dict.fromkeys(one.text for one in found)
    origins = dict.fromkeys(origin for one in found for origin in one.origin or ())
    return "; ".join(texts) + (f" ({'; '.join(origins)})" if origins else "")


def why_it_waits(card: "ApprovalCard") -> str:
    """Why an item waits, without what the row of a gate beside it says."""
    if card.call is not None and card.call.reasons:
        return words_of(card.call.reasons)
    if any(card.reason == f"{one.gate} gate: {one.reason}" for one in card.gates):
        return f"asked by the {card.gate} gate"
    return card.reason


def way_out(reason: Reason) -> str:
    """What a person could do about it. Facts that the server works out of a call are nobody's to change."""
    others = [key for key in reason.keys if not key.startswith(f"{CALL_FACTS}.")]
    if len(others) == len(reason.keys):
        return reason.remedy
    return f"{PERSON} it" + (f", or a change of {', '.join(others)}" if others else "")
