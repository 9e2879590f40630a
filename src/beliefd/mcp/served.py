"""The judge that a beliefd server or an embedded store is: the gateway's questions as requests."""

import time
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urljoin

from msgspec.structs import replace

from beliefd.client.asynchronous import AsyncCalls
from beliefd.client.substrate import OutcomeTold
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.substrate.calls import GRACE_MS
from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.values import seconds
from beliefd.mcp.judging import Judgement, Outcome, Pins, Proposed, Waiting
from beliefd.protocol.approvals import inbox_page
from beliefd.protocol.conversations import HYPOTHESES, ONTOLOGY
from beliefd.protocol.substrate import CandidateAnswer

SOURCE: Final = "agent"
"""The words of a call are the agent's; that the gateway hands them in is in the record anyway."""


class ServedJudge:
    """Asks a server by its address, or a store in this process.

    `decide_at` is the command with which a person decides, with `{}` for the approval. `link_to` is the
    address that links lead to; without one, there are none.
    """

    def __init__(self, calls: AsyncCalls, decide_at: str = "", link_to: str | None = None) -> None:
        self._calls = calls
        self._decide_at = decide_at
        self._link_to = link_to

    async def open_session(self, key: str) -> str:
        opened = await self._calls.declare_session(
            HYPOTHESES, ONTOLOGY, metadata={"conversation": key}, idempotency_key=key
        )
        return opened.session_id

    async def session_of(self, join_key: str) -> str | None:
        try:
            return (await self._calls.show_join(join_key)).session_id
        except BeliefdError as error:
            if error.code is Code.NOT_FOUND:
                return None
            raise

    async def pin(self, upstream: str, tools: list[dict[str, Any]]) -> Pins:
        answer = await self._calls.pin_tools(upstream, tools)
        waiting = {one.name: Waiting(one.name, one.approval_id, one.what) for one in answer.waiting}
        return Pins(frozenset(answer.pinned) - waiting.keys(), waiting)

    async def propose(self, call: Proposed) -> Judgement:
        candidate = {
            "kind": "tool_call",
            "tool_id": call.tool,
            "args": call.arguments,
            "join_key": call.join_key,
            "upstream": call.upstream,
        }
        answer = await self._calls.propose(call.session_id, [candidate], source=SOURCE, execute="caller")
        return self._judgement(call.session_id, answer.results[0])

    def _judgement(self, session_id: str, answer: CandidateAnswer) -> Judgement:
        """INVARIANT: a call may run if there is a permit, and for no other reason."""
        permit, link = answer.permit, answer.approval_url
        return Judgement(
            session_id=session_id,
            seconds=None if permit is None else _time_to_run(seconds(permit.expires_at) - time.time()),
            call_id=answer.call_id,
            code=answer.reason_code,
            reasons=_told(answer.reasons),
            status=answer.status,
            approval_id=answer.approval_id,
            approval_url=urljoin(self._link_to, link) if self._link_to and link else None,
            inbox_url=inbox_page(self._link_to, answer.approval_id) or None,
            decide_at=self._decide_at.format(answer.approval_id) if answer.approval_id else "",
        )

    async def wait(self, approval_id: str, seconds: float) -> tuple[str, str]:
        card = await self._calls.wait_for_approval(approval_id, seconds)
        return card.status, card.successor or approval_id

    async def report(self, session_id: str, call_id: str, outcome: Outcome) -> str | None:
        """INVARIANT: the same report twice counts once: a lost answer leaves no doubt about what was said."""
        told = OutcomeTold()
        if outcome.result is not None:
            told["result"] = outcome.result
        if outcome.structured is not None:
            told["structured"] = outcome.structured
        if outcome.error is not None:
            told["error"] = outcome.error
        answer = await self._calls.report_outcome(
            session_id, call_id, outcome.status, idempotency_key=f"outcome:{call_id}", **told
        )
        return answer.content and f"content {answer.content}"

    async def tell(self, session_id: str, tool: str, text: str, structured: Any = None) -> None:
        await self._calls.add_context(session_id, "result", text, tool_id=tool)


def _time_to_run(left: float) -> float:
    """Of the time of a permit: its end is for reporting. Where clocks differ, some is left."""
    return max(left - GRACE_MS / 1000, left / 10, 0.0)


def _told(reasons: Sequence[Reason]) -> tuple[str, ...]:
    """Of the rules that stop a call the one that decides, with the values and where they came from.

    The others mostly say the same of the same values. What is wrong with the call itself is told in full.
    """
    rules = [one for one in reasons if one.constraint is not None]
    others = tuple(one.words for one in reasons if one.constraint is None)
    if not rules or reasons[0].constraint is None:
        return others
    origin = tuple(dict.fromkeys(text for one in rules for text in one.origin or ()))
    return (replace(rules[0], origin=origin).words, *others)
