"""Handlers of speculation: ideas about a claim."""

from msgspec import Struct

from beliefd.kernel.speculation.commands import Speculate
from beliefd.kernel.speculation.events import Speculated
from beliefd.kernel.speculation.state import SpeculativeHypothesis
from beliefd.protocol.speculation import (
    HypothesisPage,
    HypothesisView,
    Links,
    SpeculationAnswer,
    SpeculationRequest,
)
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import filling, page, read_as, view_of
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for


class SpeculationHandlers(Struct, frozen=True):
    """Ideas, which are never refused and never evidence."""

    positions: Positions
    submit: Submit

    async def speculate(self, call: Call) -> SpeculationAnswer:
        asked = await read_as(call, SpeculationRequest)
        command = Speculate(claim_id=asked.claim_id, hypotheses=asked.hypotheses)
        outcome, event = await submit_for(call, self.submit, call.session_id, command, Speculated)
        missed = event.links_attempted - event.links_created
        return SpeculationAnswer(
            hypotheses=[_hypothesis(one) for one in event.hypotheses],
            links=Links(
                session=len(event.hypotheses),
                proposition_attempted=event.links_attempted,
                proposition_created=event.links_created,
            ),
            # A soft failure is told, so that nobody relies on the link; what was noted stands all the same.
            soft_failures=[f"there is no proposition `{asked.claim_id}` to link to"] if missed else [],
            audit_event_id=outcome.head.event_id,
        )

    async def list_hypotheses(self, call: Call) -> HypothesisPage:
        session = (await self.positions.existing(call.session_id)).session
        held: list[SpeculativeHypothesis] = [
            one
            for one in (session.speculation.ideas[name] for name in session.speculation.ideas)
            if isinstance(one, SpeculativeHypothesis)
        ]
        shown, after = page(held, call, lambda one: one.hypothesis_id)
        views, after = filling(map(_hypothesis, shown), [one.hypothesis_id for one in shown], after)
        return HypothesisPage(hypotheses=views, next=after)


def _hypothesis(one: SpeculativeHypothesis) -> HypothesisView:
    return view_of(HypothesisView, one)
