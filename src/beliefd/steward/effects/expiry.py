"""Time-outs: approvals that nobody decided are brought before the kernel, which does what policy says."""

import asyncio
import logging
from typing import Final

from msgspec import Struct

from beliefd import tracing
from beliefd.kernel.approvals.commands import ExpireApproval
from beliefd.kernel.commands import Command, verb_of
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.ledger.envelope import LedgerBroken
from beliefd.steward.effects.runs import overdue_run
from beliefd.steward.effects.tools import overdue_call
from beliefd.steward.environment import Environment
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.failures import not_found
from beliefd.steward.projections.inbox import RUNNING, row_of
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.submitting import Submit
from beliefd.stores.base import StorageUnavailable, Store
from beliefd.stores.projections import InboxRow

log = logging.getLogger("beliefd.expiry")
CLOCKWORK: Final = Principal(id="steward://expiry", role=Role.TOOL, tier=Tier.READ_ONLY.name)
EVERY_SECONDS: Final = 1.0
AT_ONCE: Final = 100
CHECK: Final = "; run `beliefd projection check`"


class Expiry(Struct, frozen=True):
    """Brings what is due before the kernel. Several processes may do so at once: one of them is heard."""

    store: Store
    positions: Positions
    submit: Submit
    environment: Environment

    async def expire_due(self) -> int:
        """Expire what is due now; returns how many."""
        rows = await self.store.inbox_due(self.environment.now(), AT_ONCE)
        expired = 0
        for row in rows:
            try:
                outcome = await self._expire(row)
            except (BeliefdError, LedgerBroken) as error:
                log.warning("`%s` could not be expired: %s", row.approval_id, error)
            else:
                expired += not isinstance(outcome.event, Refused)
        return expired

    async def _expire(self, row: InboxRow) -> Outcome:
        session = (await self.positions.existing(row.session_id)).session
        stands = row_of(session, row.approval_id)
        command = self._ending(row, session, stands)
        # INVARIANT: who comes second leaves nothing in the ledger, whichever process was first.
        due = Attachments(still=lambda now: row_of(now, row.approval_id) == stands)
        said = {"beliefd.verb": verb_of(command), "beliefd.session.id": row.session_id}
        with tracing.span("expire", said):
            return await self.submit(row.session_id, command, CLOCKWORK, attachments=due)

    def _ending(self, row: InboxRow, session: Session, said: InboxRow | None) -> Command:
        """What is said of something whose time is up: of an approval, a call, or the run of an experiment."""
        # INVARIANT: a row that no event made leads to no event, nor does one that no event made due.
        if said is None:
            raise not_found(Code.APPROVAL_NOT_FOUND, "approval", row.approval_id, CHECK)
        if said.expires_at is None or said.expires_at > self.environment.now():
            raise BeliefdError(Code.CONFLICT, f"its time is not up, as its ledger says{CHECK}")
        if said.status != RUNNING:
            return ExpireApproval(approval_id=row.approval_id)
        if row.approval_id in session.experiments.runs:
            return overdue_run(session, row.approval_id)
        return overdue_call(session, row.approval_id)

    async def run(self) -> None:
        """Expire what falls due; never returns."""
        while True:
            try:
                while await self.expire_due() == AT_ONCE:
                    pass
            except StorageUnavailable as error:
                log.warning("approvals are not being expired: %s", error)
            await asyncio.sleep(EVERY_SECONDS)
