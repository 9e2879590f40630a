"""Handlers of sessions: declaring them, the verbs on them, and their state."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.beliefs import events
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.commands import VERB_OF, Command
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.labels import ATTESTED
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import DEFAULT_SPACE, Object, Role
from beliefd.ledger.envelope import LedgerBroken
from beliefd.protocol.beliefs import (
    MAX_METADATA,
    BeliefSnapshot,
    BrokenLedger,
    Concluded,
    Declared,
    Eliminated,
    Recorded,
    Ruled,
    SessionPage,
)
from beliefd.protocol.operation import Answer
from beliefd.protocol.operations import BY_NAME, Operation
from beliefd.protocol.snapshots import Listed, snapshot_of
from beliefd.protocol.wire import bind, convert, convert_in_slices, longest_list
from beliefd.steward.call import Call, space_of
from beliefd.steward.facts.attachments import NO_ATTACHMENTS, Attachments
from beliefd.steward.handlers.concluded import Conclusions
from beliefd.steward.handlers.shared import Room, archived_view, cut, view_of
from beliefd.steward.offload import HEAVY_BYTES, HEAVY_ITEMS, offload
from beliefd.steward.spaces import Spaces
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.submitting import Submit, raise_if_refused
from beliefd.stores.archives import Archived, SessionArchived
from beliefd.stores.base import SessionRow, Store


def _id_of(row: SessionRow | Archived) -> str:
    return row.session_id


def is_verb(operation: Operation) -> bool:
    """Is it one command to one session and nothing else, answered with the state after it?"""
    return (
        operation.body in VERB_OF
        and "{session_id}" in operation.path
        and "snapshot" in operation.answer.__struct_fields__
    )


VERBS: Final = {name: operation for name, operation in BY_NAME.items() if is_verb(operation)}
_ELIMINATING: Final = (events.Eliminated, events.Merged)
_RULING: Final = (events.ExitRuled, events.TerminationRuled)


class BeliefHandlers(Struct, frozen=True):
    """Declaring sessions and reading where they stand."""

    store: Store
    positions: Positions
    declare: Callable[..., Awaitable[Outcome]]
    spaces: Spaces
    conclusions: Conclusions

    async def declare_session(self, call: Call) -> Answer:
        command: DeclareSession = await _converted(call.body, DeclareSession, call)
        await offload(call.size > HEAVY_BYTES, _check_metadata, command.metadata, kind="parse")
        space = space_of(call)
        # INVARIANT: a ledger of the default space is what it was before there were spaces.
        command = replace(command, space=UNSET if space == DEFAULT_SPACE else space)
        attached = Attachments(size=call.size)
        outcome = await self.declare(
            command, call.principal, key=call.key, notes=call.notes, attachments=attached
        )
        self.spaces.learn(outcome.session.session_id, space)
        return answer_to(outcome)

    async def list_sessions(self, call: Call) -> SessionPage:
        cursor, limit = call.query["cursor"], call.query["limit"]
        rows: list[SessionRow | Archived] = [
            *await self.store.sessions(cursor, limit + 1, call.asked_spaces),
            *await self.store.archives(cursor, limit + 1, call.asked_spaces),
        ]
        shown, after = cut(sorted(rows, key=_id_of), limit, _id_of)
        snapshots: list[BeliefSnapshot] = []
        broken: list[BrokenLedger] = []
        room, asked = Room(), call.query["space"] == SYSTEM
        archived = [archived_view(row) for row in shown if isinstance(row, Archived)]
        for row in shown:
            if isinstance(row, Archived):
                continue
            if row.session_id == SYSTEM and not (asked and call.principal.role is Role.ADMIN):
                continue  # the server's own is for its operators, and for those who ask for its space
            try:
                position = await self.positions.existing(row.session_id)
            except LedgerBroken as error:
                broken.append(view_of(BrokenLedger, error, session_id=row.session_id))
                continue
            except SessionArchived as error:  # since the rows were read
                archived.append(archived_view(error.stub))
                continue
            except BeliefdError as error:  # its name itself is damaged
                absent = LedgerBroken(0, None, error.message)
                broken.append(view_of(BrokenLedger, absent, session_id=row.session_id))
                continue
            snapshot = snapshot_of(position.session, position.head, limit=100, due=position.due)
            snapshots.append(await self._placed(snapshot))
            if room.is_filled_by(snapshots[-1]) and row is not shown[-1]:
                after = row.session_id
                archived = [one for one in archived if one.session_id < after]
                break
        return SessionPage(sessions=snapshots, next=after, broken=broken, archived=archived)

    async def query_belief(self, call: Call) -> BeliefSnapshot:
        position = await self.positions.as_of(call.session_id, call.query["at"])
        limit, after = call.query["survivors_limit"], call.query["survivors_after"]
        listed = Listed(call.query["obligations_before"], call.query["conclusions_after"])
        beliefs = position.session.beliefs
        heavy = max(limit, len(beliefs.obligations), len(beliefs.conclusions)) > HEAVY_ITEMS
        asked = (position.session, position.head, limit, after, position.due, listed)
        snapshot = await offload(heavy, snapshot_of, *asked, kind="question")
        resting = await self.conclusions.resting(position, snapshot.conclusions)
        return await self._placed(replace(snapshot, conclusions_rest_on=resting))

    async def _placed(self, snapshot: BeliefSnapshot) -> BeliefSnapshot:
        """With its space, which the ledger of a session need not name."""
        return replace(snapshot, space=await self.spaces.of(snapshot.session_id) or DEFAULT_SPACE)


def submit_verb(operation: Operation, submit: Submit, call: Call) -> "asyncio.Future[Outcome]":
    """One of `VERBS`: its command is in its session's queue when this returns."""
    return _submitted(submit, convert(bind(call.body, call.path), operation.body), call)


def _submitted(submit: Submit, command: Command, call: Call) -> "asyncio.Future[Outcome]":
    return submit(
        call.session_id,
        command,
        call.principal,
        if_match=call.if_match,
        key=call.key,
        notes=call.notes,
        attachments=Attachments(size=call.size) if call.size > HEAVY_BYTES else NO_ATTACHMENTS,
    )


def verb_handlers(submit: Submit) -> dict[str, Callable[[Call], Awaitable[Answer]]]:
    return {name: _verb_handler(submit, operation.body) for name, operation in VERBS.items()}


def _verb_handler(submit: Submit, kind: Any) -> Callable[[Call], Awaitable[Answer]]:
    async def handle(call: Call) -> Answer:
        command = await _converted(bind(call.body, call.path), kind, call)
        return answer_to(await _submitted(submit, command, call))

    return handle


async def _converted(body: dict[str, Any], kind: Any, call: Call) -> Any:
    heavy = call.size > HEAVY_BYTES or longest_list(body)[1] > HEAVY_ITEMS
    return await offload(heavy, convert_in_slices, body, kind, kind="parse")


def _check_metadata(metadata: Object) -> None:
    """It is no rule of the kernel: ledgers that were declared with more are folded as ever."""
    if len(msgspec.json.encode(metadata)) > MAX_METADATA:
        text = f"`metadata` may hold {MAX_METADATA} bytes as JSON; keep a reference to what is longer"
        raise BeliefdError(Code.INVALID_REQUEST, text, {"path": "$.metadata", "limit": MAX_METADATA})


def answer_to(outcome: Outcome) -> Answer:
    """An event and the state after it, in the words of the protocol. A refusal becomes the error it names."""
    raise_if_refused(outcome)
    event, event_id = outcome.event, outcome.head.event_id
    snapshot = snapshot_of(outcome.session, outcome.head)
    if isinstance(event, _ELIMINATING):
        return Eliminated(
            applied_eliminated=list(event.eliminated),
            ignored_eliminated=list(event.ignored),
            snapshot=snapshot,
            audit_event_id=event_id,
            label=None if isinstance(event, events.Merged) else event.label or ATTESTED,
        )
    if isinstance(event, _RULING):
        return Ruled(approved=event.approved, reason=event.reason, snapshot=snapshot, audit_event_id=event_id)
    if isinstance(event, events.ConclusionRuled):
        return Concluded(
            accepted=event.accepted, reason=event.reason, snapshot=snapshot, audit_event_id=event_id
        )
    if isinstance(event, events.Declared):
        return Declared(session_id=outcome.session.session_id, snapshot=snapshot, audit_event_id=event_id)
    return Recorded(snapshot=snapshot, audit_event_id=event_id)
