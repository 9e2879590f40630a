"""Handlers of approvals and standing grants."""

import asyncio
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval, GiveGrant, RevokeGrant, WithdrawApproval
from beliefd.kernel.approvals.eligibility import required_approvals
from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided, GrantGiven, GrantRevoked
from beliefd.kernel.approvals.outlook import Outlook, came_to, open_to, outlook
from beliefd.kernel.approvals.state import (
    CONTENT,
    OPEN,
    Approval,
    BundleSubject,
    CallSubject,
    DefinitionSubject,
    DeltaSubject,
    InformationSubject,
    IntentSubject,
    Subject,
)
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.changes import WORDINGS
from beliefd.kernel.state import Session
from beliefd.ledger.envelope import LedgerBroken
from beliefd.ledger.replay import Position
from beliefd.protocol.afterwards import correction_of, ended_claims, overridden_in, progress_of
from beliefd.protocol.approvals import (
    NARROWED,
    ApprovalCard,
    DecidedApproval,
    GrantAnswer,
    Grants,
    Inbox,
    StatusCard,
    title_of,
)
from beliefd.protocol.asked import Sign
from beliefd.protocol.beliefs import ArchivedSession, BrokenLedger
from beliefd.protocol.claims import judged
from beliefd.protocol.intents import intent_view
from beliefd.protocol.observed import observed_in
from beliefd.protocol.titles import session_title
from beliefd.protocol.wire import bind, convert, is_longer
from beliefd.steward.call import Call
from beliefd.steward.effects.expiry import Expiry
from beliefd.steward.effects.tools import ToolCalls
from beliefd.steward.environment import Environment
from beliefd.steward.facts.finder import FactFinder
from beliefd.steward.facts.in_force import with_in_force
from beliefd.steward.failures import not_found
from beliefd.steward.feeds import Feeds
from beliefd.steward.handlers.asked import asked_call, before, decided_at, edited_from, opening_subject
from beliefd.steward.handlers.claims import snake_body
from beliefd.steward.handlers.measurements import cited
from beliefd.steward.handlers.shared import PAGE_BYTES, Room, archived_view, cut, view_of
from beliefd.steward.handlers.signs import Signs
from beliefd.steward.handlers.status_card import status_card
from beliefd.steward.handlers.substrate import candidate_answer
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.projections.inbox import DONE, RUNNING
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for
from beliefd.stores.archives import SessionArchived
from beliefd.stores.base import Store

CARD_BYTES: Final = 64 * 1024
"""What is longer is listed without its content; asked for by itself it is whole."""
WORDS: Final = 200
LOOKED_UP: Final = PAGE_BYTES // 8


def shortened(card: ApprovalCard) -> ApprovalCard:
    """The card as it stands in a list: by what it is called, who proposed it and why it waits."""
    if not is_longer(card, CARD_BYTES):
        return card
    emptied = {name: None for name in CONTENT if hasattr(card.subject, name)}
    return replace(
        card,
        shortened=True,
        title=card.title[:WORDS],
        reason=card.reason[:WORDS],
        subject=replace(card.subject, **emptied, **({"asked": {}} if hasattr(card.subject, "asked") else {})),
        raised=[],
        gates=[],
        standings={},
        approvals=[],
        overridden=[],
        ended={},
        corrects=None,
    )


def _is_wanted(approval: Approval, wanted: dict[str, str]) -> bool:
    said = {
        "tier": approval.tier,
        "agent": approval.proposer.id,
        "kind": approval.subject.__struct_config__.tag,
    }
    return all(said[name] == value for name, value in wanted.items())


class ApprovalHandlers(Struct, frozen=True):
    """What waits for a person."""

    store: Store
    positions: Positions
    submit: Submit
    expiry: Expiry
    tools: ToolCalls
    in_force: PolicyInForce
    finder: FactFinder
    environment: Environment
    feeds: Feeds
    signs: Signs = msgspec.field(default_factory=Signs)
    drawing: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)

    async def list_approvals(self, call: Call) -> Inbox:
        cursor, limit = call.query["cursor"], call.query["limit"]
        await self.expiry.expire_due()
        rows = await self.store.inbox(call.query["status"], cursor, limit + 1, call.asked_spaces)
        shown, after = cut(rows, limit, lambda row: row.approval_id)
        room = Room()
        cards: list[ApprovalCard] = []
        broken: dict[str, BrokenLedger] = {}
        archived: dict[str, ArchivedSession] = {}
        wanted = {one.name: call.query[one.name] for one in NARROWED if call.query[one.name] is not None}
        session_id = wanted.pop("session_id", None)
        for row in shown:
            if session_id not in (None, row.session_id):
                continue
            try:
                position = await self.positions.existing(row.session_id)
            except LedgerBroken as error:  # one ledger that cannot be read does not hide what others wait for
                broken[row.session_id] = view_of(BrokenLedger, error, session_id=row.session_id)
                continue
            except SessionArchived as error:  # what was settled there is on record there
                archived[row.session_id] = archived_view(error.stub)
                continue
            except BeliefdError as error:  # nor does a row of no session at all
                absent = LedgerBroken(0, None, error.message)
                broken[row.session_id] = view_of(BrokenLedger, absent, session_id=row.session_id)
                continue
            approval = position.session.approvals.by_id.get(row.approval_id)
            # Somebody may have decided since the rows were read: what is settled is not shown as waiting.
            # Nor is a row that no event made: `projection check` names it.
            if approval is not None and approval.status == row.status and _is_wanted(approval, wanted):
                async with self.drawing:
                    card = await self._card(position, row.approval_id, call, listed=True)
                    cards.append(shortened(card))
                    if cards[-1].shortened:
                        # A long item takes milliseconds and a page has hundreds: of all pages that are drawn,
                        # one is gone on with per round of the event loop.
                        await asyncio.sleep(0)
                # What is settled was read from its ledger: of long ones, few are looked up for one page.
                costs = LOOKED_UP if cards[-1].shortened and approval.status not in OPEN else 0
                if (room.is_filled_by(cards[-1]) or room.is_filled_with(costs)) and row is not shown[-1]:
                    after = row.approval_id
                    break
        return Inbox(
            approvals=cards, next=after, broken=list(broken.values()), archived=list(archived.values())
        )

    async def show_approval(self, call: Call) -> ApprovalCard:
        name, at, wait = call.path["approval_id"], call.query["at"], call.query["wait"]
        if wait and at is not None:
            raise invalid("`at` is about the past: there is nothing to wait for", "wait")
        position = await self._holding(name, at)
        if wait and _waits(position, name):
            await self.feeds.wait(position.session.session_id, wait, partial(self._is_settled, name))
            position = await self._holding(name)
        if name not in position.session.approvals.by_id:
            raise not_found(Code.APPROVAL_NOT_FOUND, "approval", name, f" at event {at}: it was opened later")
        return await self._card(position, name, call)

    async def _is_settled(self, approval_id: str) -> bool:
        return not _waits(await self._holding(approval_id), approval_id)

    async def decide_approval(self, call: Call) -> DecidedApproval:
        position = await self._holding(call.path["approval_id"])
        command = convert(bind(snake_body(call.body), call.path), DecideApproval)
        return await self.tools.background.see_through(self._carried_out(call, position, command))

    async def _carried_out(self, call: Call, position: Position, command: DecideApproval) -> DecidedApproval:
        try:
            outcome, event = await submit_for(
                call, self.submit, position.session.session_id, command, ApprovalDecided
            )
        except BeliefdError as error:
            raise await self._with_first_decision(position, command.approval_id, error) from None
        results = () if event.result is None else (event.result,)
        recorded = await self.tools.run_scheduled_calls(outcome, results)
        proposer = event.approval.proposer.id
        resumed = (
            None
            if event.gated is None
            else judged(event.gated, outcome.head.event_id, proposer, outcome.session)
        )
        after = Position(outcome.session, outcome.head)
        card = await self._card(after, event.approval_id, call)
        if recorded and event.approval.led_to:
            now = (await self.positions.existing(outcome.session.session_id)).session
            card = replace(card, came_to=came_to(now, event.approval))
        return DecidedApproval(
            approval_id=event.approval_id,
            status=event.approval.status,
            decision=event.decision,
            outcome=None if resumed is None else resumed.decision,
            bundle=resumed,
            call=candidate_answer(results[0], recorded[0], outcome) if results else None,
            intent=intent_view(event.intents[-1]) if event.intents else None,
            approval=card,
            audit_event_id=outcome.head.event_id,
        )

    async def _with_first_decision(
        self, position: Position, approval_id: str, error: BeliefdError
    ) -> BeliefdError:
        """A head that has moved says little to the second of two people; what the first decided says all."""
        if (error.details or {}).get("path") != "If-Match":
            return error
        session = (await self.positions.existing(position.session.session_id)).session
        approval: Approval = session.approvals.by_id[approval_id]
        found = {
            "status": approval.status,
            "decided_by": approval.decided_by,
            "successor": approval.successor,
        }
        return BeliefdError(error.code, error.message, {**(error.details or {}), **found})

    async def withdraw_approval(self, call: Call) -> ApprovalCard:
        position = await self._holding(call.path["approval_id"])
        command = convert(bind(call.body, call.path), WithdrawApproval)
        session_id = position.session.session_id
        outcome, _ = await submit_for(call, self.submit, session_id, command, ApprovalClosed)
        after = Position(outcome.session, outcome.head)
        return await self._card(after, command.approval_id, call)

    async def _holding(self, approval_id: str, at: int | None = None) -> Position:
        """The session that an approval belongs to, now or right after event `at`."""
        row = await self.store.inbox_row(approval_id)
        if row is None or row.status in (RUNNING, DONE):
            raise not_found(Code.APPROVAL_NOT_FOUND, "approval", approval_id)
        return await self.positions.as_of(row.session_id, at)

    async def _card(
        self, position: Position, approval_id: str, call: Call, *, listed: bool = False
    ) -> ApprovalCard:
        """One item as somebody sees it. In a list it comes without what takes long to draw."""
        session = position.counted
        approval: Approval = session.approvals.by_id[approval_id]
        subject = await self._subject(session.session_id, approval)
        bundle = subject.bundle if isinstance(subject, BundleSubject | InformationSubject) else None
        today = await self._outlook(session, approval, fresh=not listed)
        return view_of(
            ApprovalCard,
            approval,
            session_id=session.session_id,
            title=title_of(subject, approval.raised),
            subject=subject,
            raised=list(approval.raised or ()),
            proposer=approval.proposer.id,
            gates=list(approval.results),
            standings=approval.standings or {},
            observed={} if bundle is None else observed_in(bundle.claims, session),
            measurements=[] if listed else await cited(self.store, session, approval),
            proposers=list(approval.proposers),
            required_approvals=list(today.deciders),
            required=today.required,
            asking=list(approval.asking),
            cannot_run=today.cannot_run,
            came_to=came_to(session, approval),
            allowed_decisions=open_to(approval, today, call.principal),
            approvals=[*approval.earlier, *approval.approvals],
            on_approval=_on_approval(approval, today),
            audit_head_event_id=position.head.event_id,
            progress=progress_of(approval, today.required, today.given),
            overridden=overridden_in(approval),
            ended={} if bundle is None else ended_claims(session.claims, bundle),
            corrects=None if bundle is None else correction_of(session.claims, bundle),
            proposition=None if listed else await self._proposition(session, approval, subject),
            foreign=session.transfers.foreign,
            call=None if listed else await asked_call(self.store, session, approval, call.readable),
            before=None if listed else await before(self.store, session, approval, subject),
            follows=None if listed else await edited_from(self.store, session, approval, subject),
            session_title=session_title(session),
            signs=await self._signs(session.session_id, approval, listed=listed),
            decided_at=decided_at(session, approval),
        )

    async def _signs(self, session_id: str, approval: Approval, *, listed: bool) -> list[Sign]:
        """What is settled is not sorted by them any more, and its entry not read for a list."""
        if listed and approval.status not in OPEN:
            return []
        return await self.signs.of(self.store, session_id, approval)

    async def _outlook(self, session: Session, approval: Approval, *, fresh: bool) -> Outlook:
        """What a decision would take now; of what was decided, what it took."""
        if approval.status != "pending" or session.beliefs.terminated:
            return Outlook(approval.rule.required, required_approvals(approval.rule), approval.approvals)
        policy = self.in_force.policy
        found = await self.finder.outlook_findings(session, approval, policy, fresh)
        facts = Facts(
            now=self.environment.now(),
            event_id=approval.event_id,
            principal=approval.proposer,
            policy=policy,
            policy_hash=self.in_force.hash,
            findings=with_in_force(found, self.in_force),
        )
        return outlook(session, approval, facts)

    async def _proposition(self, session: Session, approval: Approval, subject: Subject) -> StatusCard | None:
        """What is to be weighed, if the status of a proposition would change; of what is settled, as it
        stood when it was asked for."""
        if not isinstance(subject, IntentSubject) or subject.change is None:
            return None
        if approval.status not in OPEN:
            at = await self.store.seq_of(session.session_id, approval.event_id)
            session = (await self.positions.as_of(session.session_id, at)).counted
        return await status_card(self.store, session, subject.change, self.in_force.policy.firewall)

    async def _subject(self, session_id: str, approval: Approval) -> Subject:
        """What the approval is about: from the state while it is open, from the ledger afterwards."""
        if approval.status in OPEN:
            return approval.subject
        return await opening_subject(self.store, session_id, approval)


def _waits(position: Position, approval_id: str) -> bool:
    approval = position.session.approvals.by_id.get(approval_id)
    return approval is not None and approval.status == "pending"


class GrantHandlers(Struct, frozen=True):
    """Consent that is given beforehand."""

    positions: Positions
    submit: Submit

    async def give_grant(self, call: Call) -> GrantAnswer:
        return await self._grant(call, convert(bind(call.body, call.path), GiveGrant), GrantGiven)

    async def revoke_grant(self, call: Call) -> GrantAnswer:
        return await self._grant(call, RevokeGrant(grant_id=call.path["grant_id"]), GrantRevoked)

    async def list_grants(self, call: Call) -> Grants:
        position = await self.positions.existing(call.session_id)
        session = position.counted
        return Grants(grants=[session.approvals.grants[name] for name in sorted(session.approvals.grants)])

    async def _grant(
        self, call: Call, command: Command, kind: type[GrantGiven] | type[GrantRevoked]
    ) -> GrantAnswer:
        outcome, event = await submit_for(call, self.submit, call.session_id, command, kind)
        return GrantAnswer(grant=event.grant, audit_event_id=outcome.head.event_id)


def _on_approval(approval: Approval, today: Outlook) -> str:
    if approval.status != "pending":
        return "nothing: it is not waiting any more"
    if today.cannot_run is not None:
        return f"nothing: it {today.cannot_run}"
    missing = today.required - len(today.given)
    if missing > 1:
        return f"{missing - 1} more approvals are needed, then all gates are asked again"
    subject = approval.subject
    if isinstance(subject, IntentSubject):
        if subject.change is not None and subject.change.type in WORDINGS:
            return "these words and this prediction stand from then on; data that come later can test them"
        return "its evidence is weighed again at that moment; if it still warrants the change, it is made"
    if isinstance(subject, DefinitionSubject):
        return "the tool counts as it is defined there from then on, and can be called"
    if isinstance(approval.subject, CallSubject | DeltaSubject):
        by_caller = isinstance(subject, CallSubject) and subject.is_run_by_caller
        then = "its agent may make this very call, once" if by_caller else "it happens"
        return f"the rules are asked again, as they are then; if nothing else stands in the way, {then}"
    answered, gates = " and ".join(approval.asking), "gates" if len(approval.asking) > 1 else "gate"
    return (
        f"that answers the {answered} {gates}; all gates are asked again under the policy of that moment; "
        "if none stops it, it is published"
    )
