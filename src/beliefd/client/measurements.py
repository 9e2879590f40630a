"""Measurements: receipts of measured uncertainty, which claims cite."""

from collections.abc import Sequence
from typing import Unpack

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, given, page_of
from beliefd.kernel.values import Object
from beliefd.protocol.measurements import MeasurementPage, MeasurementRows, MeasurementView


class MeasurementCalls:
    """Measurements: receipts of measured uncertainty, which claims cite."""

    @Method
    def measure(
        self,
        session_id: str,
        *,
        statement: str,
        method: str,
        answers: Sequence[str] | None = None,
        asked: Object | None = None,
        confidence: Object | None = None,
        conformal: Object | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[MeasurementView]:
        """Measure `statement` from `answers`, by having the server's model `asked`, or from scores."""
        body = given(
            statement=statement,
            method=method,
            answers=None if answers is None else list(answers),
            asked=asked,
            confidence=confidence,
            conformal=conformal,
        )
        return command(MeasurementRows.measure, {"session_id": session_id}, body, **conditions)

    @Method
    def list_measurements(
        self, session_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> Request[MeasurementPage]:
        """The receipts of a session, without their answers."""
        return page_of(MeasurementRows.list_measurements, session_id, cursor=cursor, limit=limit)

    @Method
    def show_measurement(self, session_id: str, measurement_id: str) -> Request[MeasurementView]:
        """One receipt with its answers."""
        path = {"session_id": session_id, "measurement_id": measurement_id}
        return Request(MeasurementRows.show_measurement, path)
