"""What was found out about a call that speaks for care: lists are sorted by it within a tier."""

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from msgspec import UNSET

from beliefd.kernel.approvals.opening import results_of
from beliefd.kernel.approvals.state import Approval, CallSubject
from beliefd.kernel.origin.facts import CallFacts
from beliefd.kernel.substrate.shell import ShellFacts
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings
from beliefd.ledger.envelope import Entry, LedgerBroken
from beliefd.protocol.asked import Sign
from beliefd.steward.entries import entry_of
from beliefd.stores.base import Store

MOST_REMEMBERED: Final = 10_000
ACTIONS: Final = {"delete": "deletes", "pay": "pays", "share": "shares", "control": "controls a device"}
"""What cannot be taken back, by the class of what a call does."""


class Signs:
    """By approval. INVARIANT: what an entry says never changes, so what was read once is not read again."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, list[Sign]] = OrderedDict()

    async def of(self, store: Store, session_id: str, approval: Approval) -> list[Sign]:
        if not isinstance(approval.subject, CallSubject):
            return []
        name = approval.approval_id
        if name not in self._known:
            self._known[name] = []
            # All that one entry asked for at once: a proposal has up to a hundred candidates.
            self._known |= await _found(store, session_id, approval.event_id)
        self._known.move_to_end(name)
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)
        return self._known[name]


async def _found(store: Store, session_id: str, event_id: str) -> dict[str, list[Sign]]:
    """Nothing of an entry that is damaged: one ledger does not hide what others wait for."""
    try:
        return signs_in(await entry_of(store, session_id, event_id))
    except LedgerBroken:
        return {}


def signs_in(entry: Entry) -> dict[str, list[Sign]]:
    """The signs of every call that an entry put into the inbox."""
    calls = entry.facts.calls if isinstance(entry.facts, ProposalFindings) else ()
    pairs = zip(results_of(entry.delta), calls, strict=False)
    return {
        result.approval.approval_id: signs_of(found)
        for result, found in pairs
        if result.approval is not None and found is not None
    }


def signs_of(found: CallFinding) -> list[Sign]:
    """The gravest first."""
    signs = [] if found.shell is UNSET else list(_of_shell(found.shell))
    signs += [] if found.origin is UNSET else list(_of_origin(found.origin))
    return sorted(signs, key=lambda one: not one.grave)


def _of_shell(facts: ShellFacts) -> Iterator[Sign]:
    told = {
        "runs with more rights": facts.privilege,
        "deletes files": bool(facts.deletes),
        "cannot be read": facts.unparsed,
    }
    yield from (Sign(words=words, grave=True) for words, so in told.items() if so)
    if facts.outside:
        yield Sign(words="writes outside the project", grave=False)
    if facts.network:
        yield Sign(words="reaches the network", grave=False)


def _of_origin(facts: CallFacts) -> Iterator[Sign]:
    if facts.commanded == "other":
        yield Sign(words="a text that was read orders it", grave=True)
    if facts.hard and facts.action in ACTIONS:
        yield Sign(words=ACTIONS[facts.action], grave=True)
    if facts.secret:
        yield Sign(words="carries a secret", grave=True)
    if facts.sink_in_text is True:
        yield Sign(words="goes where a text wants it", grave=True)
    elif facts.sink_foreign:
        yield Sign(words="goes where the user did not say", grave=False)
    told = {
        "changes what the user did not name": facts.object_foreign,
        "passes on a strange address": facts.link_foreign,
        "has a value out of a strange text": facts.payload_foreign,
        "done as often as asked": facts.over_quota,
    }
    yield from (Sign(words=words, grave=False) for words, so in told.items() if so)
