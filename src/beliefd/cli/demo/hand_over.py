"""The last act of the demo: something waits for whoever watches, and what they decide is really done."""

import time
from typing import TYPE_CHECKING, Final

from beliefd.cli.demo.database_pool import LIMIT_WANTED
from beliefd.cli.demo.run import DemoRun, must
from beliefd.kernel.approvals.outlook import CAME_TO

if TYPE_CHECKING:
    from beliefd.client import Client

TOOL: Final = "pool.set_limit"
WHY: Final = "Checkouts waited 40 ms for a connection: with 200, a batch job that holds 163 leaves too few."
AFTERWARDS: Final = ("the_limit_was_too_low", "connections_leak")
PATIENCE_SECONDS: Final = 3600.0
SHORT_SECONDS: Final = 0.1


def ask_you(demo: DemoRun) -> None:
    """In a session of its own: that of the incident is closed, and stays as it was verified."""
    title = "After the incident: does the pool need more connections?"
    answer = demo.agent.declare_session(AFTERWARDS, demo.kit.ontology, metadata={"title": title})
    issued = demo.admin.issue_capability(
        answer.session_id,
        agent_id="agent://demo-agent",
        scope={"tools": [TOOL], "budgets": {"calls": 2}},
        expires_in_seconds=int(PATIENCE_SECONDS),
    )
    call = {
        "kind": "tool_call",
        "tool_id": TOOL,
        "args": {"max_connections": LIMIT_WANTED},
        "rationale": WHY,
        "capability_token": issued.token,
        "idempotency_key": "limit-1",
    }
    asked = demo.agent.propose(answer.session_id, [call]).results[0]
    must(asked.on_fail == "ask" and asked.approval_id is not None, "nobody was asked")
    demo.waiting = asked.approval_id or ""
    demo.screen.mark("waits", f"{TOOL} max_connections={LIMIT_WANTED}: {asked.reasons[0].text}")


def decided(approver: "Client", approval_id: str) -> str:
    """What became of it, in words, once somebody has decided."""
    while (card := approver.wait_for_approval(approval_id, PATIENCE_SECONDS)).status == "pending":
        pass
    while card.status == "approved" and card.came_to not in CAME_TO.values():
        time.sleep(SHORT_SECONDS)
        card = approver.show_approval(approval_id)
    return f"{TOOL}: {card.came_to or card.status} ({card.decided_by or 'by nobody'})"
