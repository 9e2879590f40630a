"""A line in the server's log for each decision that lets nothing through: who asked for what, and where it
is recorded. INVARIANT: no claim and no argument is in it; those are in the ledger."""

import logging
from collections.abc import Iterable, Iterator
from typing import Final

from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.claims.bundle import Severity
from beliefd.kernel.commands import verb_of
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.steward.write.queued import Outcome, QueuedCommand

log: Final = logging.getLogger("beliefd.decisions")
NAMED: Final = 100
"""Characters of a tool's name: an agent may have made it up."""


def tell_refused(session_id: str, outcomes: Iterable[tuple[QueuedCommand, Outcome | BeliefdError]]) -> None:
    """Once the decisions are written. What was answered again was told before."""
    if not log.isEnabledFor(logging.INFO):
        return
    for call, outcome in outcomes:
        if isinstance(outcome, BeliefdError) or outcome.repeated:
            continue
        place = {"session_id": session_id, "seq": outcome.head.seq}
        who = {"verb": verb_of(call.command), "actor": call.principal.id}
        for at, code in refusals_in(outcome.event):
            fields = {**place, **who, "code": code, **_tool(call, at)}
            log.info("refused", extra={"fields": fields})


def refusals_in(event: Event) -> Iterator[tuple[int, str]]:
    """Which of what was asked for was refused, by its place, and the code of the reason."""
    if isinstance(event, Refused):
        yield 0, event.code.value
    if isinstance(event, ApprovalDecided) and event.decision == "REJECTED":
        return  # a person's no is told as a change of the inbox
    gated = getattr(event, "gated", None)
    if gated is not None and gated.bundle.decision == Severity.REFUSE.name:
        yield 0, Severity.REFUSE.name
    for at, one in enumerate(getattr(event, "results", None) or (getattr(event, "result", None),)):
        if one is not None and getattr(one, "verdict", "") == "deny":
            yield at, one.reason_code


def _tool(call: QueuedCommand, at: int) -> dict[str, str]:
    candidates = getattr(call.command, "candidates", ())
    named = getattr(candidates[at], "tool_id", None) if at < len(candidates) else None
    return {"tool": named[:NAMED]} if isinstance(named, str) else {}
