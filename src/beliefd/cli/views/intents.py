"""Write intents drawn for people."""

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from beliefd.cli.output import visible
from beliefd.cli.views.drawing import EventWords, page, view
from beliefd.kernel.values import shown_time
from beliefd.protocol.intents import IntentPage, IntentView

STATE_STYLE = {"executed": "green", "awaiting_approval": "yellow", "failed": "red", "rejected": "red"}


@view.register
def intent(answer: IntentView) -> RenderableType:
    lines = [_intent(answer)]
    for step in answer.history:
        why = f": {visible(step.why)}" if step.why else ""
        lines.append(Text(f"  {step.at}  {step.state} by {visible(step.by)}{why}", "dim"))
    if answer.content_hash is not None:
        lines.append(
            Text(f"waits as {answer.approval_id} until {shown_time(answer.expires_at or '')}", "yellow")
        )
    return Group(*lines)


@view.register
def intents(found: IntentPage) -> RenderableType:
    return page([_intent(one) for one in found.intents], found.next, "nothing has been asked for")


def _intent(answer: IntentView) -> Text:
    change = answer.change
    to = "" if change.to_status is None else f" to {change.to_status}"
    return Text.assemble(
        (answer.intent_id, "bold"),
        f"  {change.type} {visible(change.claim_id)}{to}  ",
        (answer.state, STATE_STYLE.get(answer.state, "dim")),
    )


def _staged(_: dict[str, Any], delta: dict[str, Any]) -> Text:
    intent = delta["intent"]
    change, state = intent["change"], intent["history"][-1]["state"]
    to = f" to {change['to_status']}" if change["to_status"] else ""
    return Text.assemble(
        f"{intent['intent_id']}  {change['type']} {visible(change['claim_id'])}{to}  ",
        (state, STATE_STYLE.get(state, "dim")),
    )


EVENTS: dict[str, EventWords] = {"intent_staged": _staged}
