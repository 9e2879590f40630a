"""Handlers of measurements."""

from collections.abc import Awaitable

from msgspec import UNSET, Struct

from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.claims.bundle import claim_id
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.errors import Code
from beliefd.kernel.labels import label_for
from beliefd.kernel.measurements.commands import Measure
from beliefd.kernel.measurements.events import Measured
from beliefd.kernel.measurements.findings import MeasurementFindings
from beliefd.kernel.measurements.state import Measurement, words_digest, words_for
from beliefd.kernel.state import Session
from beliefd.ledger.envelope import Entry, command_of
from beliefd.protocol.measurements import MeasurementPage, MeasurementView, numbers_told
from beliefd.steward.call import Call
from beliefd.steward.entries import entry_of
from beliefd.steward.facts.measuring import Meter, question_of, whether
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
    found = _material(await entry_of(store, session_id, one.event_id), one)
    return view_of(
        MeasurementView,
        one,
        statement=found.statement,
        label=label_for(one.witnesses, *readers),
        how=words_for(one),
        question=found.question,
        answers=list(found.answers) if whole else [],
        numbers=found.numbers if whole else [],
        witnesses=list(one.witnesses),
        audit_event_id=one.event_id,
    )


class _Material(Struct, frozen=True):
    """The words, what was asked, and what was measured: answers, or numbers."""

    statement: str
    question: str = ""
    answers: tuple[str, ...] = ()
    numbers: list[str] = []


def _material(entry: Entry, one: Measurement) -> _Material:
    """It stands in the event that the receipt comes from."""
    command = command_of(entry)
    if isinstance(command, Measure):
        drawn = entry.facts.answers if isinstance(entry.facts, MeasurementFindings) else ()
        asked = question_of(command) if command.asked is not None else ""
        numbers = numbers_told(command, one.measured_by)
        return _Material(command.statement, asked, drawn or command.answers or (), numbers)
    assert isinstance(command, SubmitClaims)  # noqa: S101 - no other event holds receipts
    place = int(one.measurement_id.rpartition("-")[2])
    claim = command.bundle.claims[place - 1]
    assert words_digest(claim.statement) == one.words  # noqa: S101 - a receipt counts places as the bundle does
    name = claim_id(claim, place)
    if (answers := (command.samples or {}).get(name)) is not None:
        return _Material(claim.statement, answers=answers)
    assert isinstance(entry.facts, ClaimFindings)  # noqa: S101 - what was not sent was drawn, and recorded
    drawn = (entry.facts.measured or {})[name].answers
    return _Material(claim.statement, whether(claim.statement), drawn)
