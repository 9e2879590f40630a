"""Handlers of intents: changes of propositions that are staged, then made or not."""

from typing import Any

from msgspec import Struct

from beliefd.kernel.errors import Code, invalid
from beliefd.kernel.event import EventBase
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.intents.state import INTENT_LANES, Change, IntentStep
from beliefd.kernel.scan.guards import refuse_speculation
from beliefd.kernel.speculation.events import ClaimSpeculated
from beliefd.kernel.speculation.lanes import GROUNDED, SPECULATIVE
from beliefd.kernel.speculation.state import SpeculativeClaim
from beliefd.protocol.intents import IntentPage, IntentRequest, IntentView, intent_view
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import as_recorded, filling, page, read
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for


class IntentHandlers(Struct, frozen=True):
    """Staging changes, and seeing what became of them."""

    positions: Positions
    submit: Submit

    async def stage_intent(self, call: Call) -> IntentView:
        asked = await read(call, _asked)
        if asked.lane and asked.lane != INTENT_LANES[asked.type]:
            text = f"`{asked.type}` belongs to the {INTENT_LANES[asked.type]} lane"
            raise invalid(text, "$.lane")
        change = Change(**{name: getattr(asked, name) for name in Change.__struct_fields__})
        command = StageIntent(change=change, supersedes=asked.supersedes)
        outcome, event = await submit_for(call, self.submit, call.session_id, command, EventBase)
        event_id = outcome.head.event_id
        if isinstance(event, ClaimSpeculated):
            return _speculative_intent(event.claim, event_id)
        assert isinstance(event, IntentStaged)  # noqa: S101 - what is not refused was staged
        return intent_view(event.intent, event_id)

    async def list_intents(self, call: Call) -> IntentPage:
        session = (await self.positions.existing(call.session_id)).session
        held = [intent_view(session.intents.by_id[name]) for name in session.intents.by_id]
        held += [
            _speculative_intent(one)
            for one in (session.speculation.ideas[name] for name in session.speculation.ideas)
            if isinstance(one, SpeculativeClaim)
        ]
        shown, after = page(held, call, lambda one: one.intent_id, lambda one: one.change.claim_id)
        shown, after = filling(shown, [one.intent_id for one in shown], after)
        return IntentPage(intents=shown, next=after)

    async def show_intent(self, call: Call) -> IntentView:
        session = (await self.positions.existing(call.session_id)).session
        name = call.path["intent_id"]
        if name in session.intents.by_id:
            return intent_view(session.intents.by_id[name])
        noted = session.speculation.ideas.get(name)
        if isinstance(noted, SpeculativeClaim):
            return _speculative_intent(noted)
        raise not_found(Code.INTENT_NOT_FOUND, "intent", name, " in this session")


def _speculative_intent(claim: SpeculativeClaim, event_id: str | None = None) -> IntentView:
    """Noting a claim is all there is to such an intent: it is carried out as soon as it is staged."""
    change = Change(type="create_claim", claim_id=claim.claim_id, statement=claim.statement)
    step: dict[str, Any] = {"at": claim.proposed_at, "by": claim.proposed_by}
    return IntentView(
        intent_id=claim.intent_id,
        lane=SPECULATIVE,
        change=change,
        state="executed",
        proposer=claim.proposed_by,
        history=[IntentStep(state="staged", **step), IntentStep(state="executed", **step)],
        audit_event_id=event_id,
    )


def _asked(body: Any, path: dict[str, str]) -> IntentRequest:
    body = bind(as_recorded(body), path)
    if INTENT_LANES.get(str(body.get("type"))) == GROUNDED:
        refuse_speculation({name: body[name] for name in body if name != "lane"}, Code.SPECULATIVE_PROPOSAL)
    return convert(body, IntentRequest)
