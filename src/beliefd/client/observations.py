"""Observations: values that do not change any more, and who has witnessed them."""

from collections.abc import Sequence
from typing import Unpack

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, given, page_of
from beliefd.protocol.observations import ObservationPage, ObservationRows, ObservationView


class ObservationCalls:
    """Observations: values that do not change any more, and who has witnessed them."""

    @Method
    def observe(  # noqa: PLR0913 - one argument per member
        self,
        session_id: str,
        *,
        quantity: str,
        unit: str = "1",
        call_id: str | None = None,
        content: str | None = None,
        values: Sequence[float] | None = None,
        pointer: str = "",
        each: str = "",
        column: str | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[ObservationView]:
        """Take values out of a call's result (`call_id`) or of stored `content`, or type `values`."""
        body = given(
            quantity=quantity,
            unit=unit,
            call_id=call_id,
            content=content,
            values=None if values is None else list(values),
            pointer=pointer or None,
            each=each or None,
            column=column,
        )
        return command(ObservationRows.observe, {"session_id": session_id}, body, **conditions)

    @Method
    def list_observations(
        self, session_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> Request[ObservationPage]:
        """The observations of a session, without their values."""
        return page_of(ObservationRows.list_observations, session_id, cursor=cursor, limit=limit)

    @Method
    def show_observation(self, session_id: str, observation_id: str) -> Request[ObservationView]:
        """One observation with its values."""
        path = {"session_id": session_id, "observation_id": observation_id}
        return Request(ObservationRows.show_observation, path)
