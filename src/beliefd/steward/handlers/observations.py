"""Handlers of observations."""

from collections.abc import Sequence

from msgspec import Struct

from beliefd.kernel.errors import Code
from beliefd.kernel.observations.commands import Observe
from beliefd.kernel.observations.events import Observed
from beliefd.kernel.observations.state import Observation, words_for
from beliefd.protocol.observations import ObservationPage, ObservationView
from beliefd.steward.call import Call
from beliefd.steward.effects.runs import observed_values
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import cut, filling, read_as, view_of
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for
from beliefd.stores.base import Store


class ObservationHandlers(Struct, frozen=True):
    """What was seen, as it was seen."""

    store: Store
    positions: Positions
    submit: Submit

    async def observe(self, call: Call) -> ObservationView:
        command = await read_as(call, Observe)
        _, event = await submit_for(call, self.submit, call.session_id, command, Observed)
        return _view(event.observation, event.values)

    async def list_observations(self, call: Call) -> ObservationPage:
        session = (await self.positions.existing(call.session_id)).counted
        after = call.query["cursor"]
        names = sorted(name for name in session.observations.by_id if after is None or name > after)
        shown, following = cut(names, call.query["limit"], str)
        held = (session.observations.by_id[name] for name in shown)
        views, following = filling(map(_view, held), shown, following)
        return ObservationPage(observations=views, next=following)

    async def show_observation(self, call: Call) -> ObservationView:
        session = (await self.positions.existing(call.session_id)).counted
        one = session.observations.by_id.get(call.path["observation_id"])
        if one is None:
            raise not_found(Code.OBSERVATION_NOT_FOUND, "observation", call.path["observation_id"])
        return _view(one, await observed_values(self.store, session, one.observation_id))


def _view(one: Observation, values: Sequence[float] = ()) -> ObservationView:
    return view_of(
        ObservationView,
        one,
        witnesses=list(one.witnesses),
        where=words_for(one, one.label),
        values=list(values),
        audit_event_id=one.event_id,
    )
