"""Time-outs: approvals that nobody decided are brought before the kernel, which does what policy says."""

import asyncio
import logging
from typing import Final

from beliefd.kernel.commands import Command, ExpireApproval
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.events import Refused
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.steward.effects.runs import overdue_run
from beliefd.steward.effects.tools import overdue_call
from beliefd.steward.inbox import RUNNING
from beliefd.steward.write.steward import Steward
from beliefd.stores.base import InboxRow, StorageUnavailable

log = logging.getLogger("beliefd.expiry")
CLOCKWORK: Final = Principal(id="steward://expiry", role=Role.TOOL, tier=Tier.READ_ONLY.name)
EVERY_SECONDS: Final = 1.0
AT_ONCE: Final = 100


async def expire_due(steward: Steward) -> int:
    """Expire what is due now; returns how many. Two processes may do it at once: the second is refused."""
    rows = await steward.store.inbox_due(steward.environment.now(), AT_ONCE)
    expired = 0
    for row in rows:
        try:
            outcome = await steward.submit(row.session_id, await _ending(steward, row), CLOCKWORK)
        except BeliefdError as error:
            log.warning("`%s` could not be expired: %s", row.approval_id, error)
        else:
            expired += not isinstance(outcome.event, Refused)
    return expired


async def _ending(steward: Steward, row: InboxRow) -> Command:
    """What is said of something whose time is up: of an approval, a call, or the run of an experiment."""
    if row.status != RUNNING:
        return ExpireApproval(approval_id=row.approval_id)
    session = (await steward.positions.existing(row.session_id)).session
    if row.approval_id in session.runs:
        return overdue_run(session, row.approval_id)
    return overdue_call(row.approval_id)


async def expire_for_ever(steward: Steward) -> None:
    while True:
        try:
            while await expire_due(steward) == AT_ONCE:
                pass
        except StorageUnavailable as error:
            log.warning("approvals are not being expired: %s", error)
        await asyncio.sleep(EVERY_SECONDS)
