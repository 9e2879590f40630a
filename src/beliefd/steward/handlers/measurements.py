"""Handlers of measurements."""

from collections.abc import Awaitable

from msgspec import UNSET, Struct

from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.errors import Code
from beliefd.kernel.labels import label_for
from beliefd.kernel.measurements.commands import Measure
from beliefd.kernel.measurements.events import Measured
from beliefd.kernel.measurements.findings import MeasurementFindings
from beliefd.kernel.measurements.state import Measurement, words_digest, words_for
from beliefd.kernel.state import Session
from beliefd.ledger.envelope import Entry, command_of
from beliefd.protocol.measurements import MeasurementPage, MeasurementView
from beliefd.steward.call import Call
from beliefd.steward.entries import entry_of
from beliefd.steward.facts.measuring import Meter, question_of
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import page, page_filled, read_as, view_of
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for
from beliefd.stores.base import Store


class MeasurementHandlers(Struct, frozen=True):
    """What was measured, and from what."""

    store: Store
    positions: Positions
    submit: Submit
    meter: Meter

    async def measure(self, call: Call) -> MeasurementView:
        command = await read_as(call, Measure)
        await self.positions.existing(call.session_id)  # before a model is asked for nothing
        drawn = await self.meter.draw(command)
        _, event = await submit_for(call, self.submit, call.session_id, command, Measured, drawn=drawn)
        return await measurement_view(self.store, call.session_id, event.measurement, (call.principal.id,))

    async def list_measurements(self, call: Call) -> MeasurementPage:
        session = (await self.positions.existing(call.session_id)).counted
        receipts = session.measurements.by_id
        names, following = page(receipts, call, str)
        who = (call.principal.id,)

        def view(name: str) -> Awaitable[MeasurementView]:
            return measurement_view(self.store, session.session_id, receipts[name], who, False)

        views, following = await page_filled(names, view, following)
        return MeasurementPage(measurements=views, next=following)

    async def show_measurement(self, call: Call) -> MeasurementView:
        session = (await self.positions.existing(call.session_id)).counted
        one = session.measurements.by_id.get(call.path["measurement_id"])
        if one is None:
            raise not_found(Code.MEASUREMENT_NOT_FOUND, "measurement", call.path["measurement_id"])
        return await measurement_view(self.store, session.session_id, one, (call.principal.id,))


async def cited(store: Store, session: Session, approval: Approval) -> list[MeasurementView]:
    """What was measured of the claims of a bundle that waits, with the raw answers."""
    names: dict[str, None] = {}
    for standing in (approval.standings or {}).values():
        if (measured := standing.measured) is not UNSET:
            names[measured.measurement_id] = None
            names |= {} if measured.cited is UNSET else {measured.cited.measurement_id: None}
    found = (session.measurements.by_id[name] for name in names)
    return [await measurement_view(store, session.session_id, one, approval.proposers) for one in found]


async def measurement_view(
    store: Store, session_id: str, one: Measurement, readers: tuple[str, ...], whole: bool = True
) -> MeasurementView:
    """A receipt, labelled by what it is worth to those who would propose with it."""
    statement, question, answers = _material(await entry_of(store, session_id, one.event_id), one)
    return view_of(
        MeasurementView,
        one,
        statement=statement,
        label=label_for(one.witnesses, *readers),
        how=words_for(one),
        question=question,
        answers=list(answers) if whole else [],
        witnesses=list(one.witnesses),
        audit_event_id=one.event_id,
    )


def _material(entry: Entry, one: Measurement) -> tuple[str, str, tuple[str, ...]]:
    """The words, what was asked, and the answers: they stand in the event that the receipt comes from."""
    command = command_of(entry)
    if isinstance(command, Measure):
        drawn = entry.facts.answers if isinstance(entry.facts, MeasurementFindings) else ()
        asked = question_of(command) if command.asked is not None else ""
        return command.statement, asked, drawn or command.answers or ()
    assert isinstance(command, SubmitClaims)  # noqa: S101 - no other event holds receipts
    place = int(one.measurement_id.rpartition("-")[2])
    claim = command.bundle.claims[place - 1]
    assert words_digest(claim.statement) == one.words  # noqa: S101 - a receipt counts places as the bundle does
    samples = command.samples or {}
    return claim.statement, "", samples.get(claim.id or f"claim-{place}", ())
