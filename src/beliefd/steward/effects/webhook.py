"""Telling other systems that somebody must decide, and how it ended: signed, retried, at least once.

The store remembers what has been told, so a crash between sending and remembering leads to a second delivery,
never to none. Of several servers on one store one delivers at a time, under a lease that any of them may
take. Signatures follow the Standard Webhooks scheme.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec

from beliefd import tracing
from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.ledger.envelope import LedgerBroken
from beliefd.protocol.approvals import change_of
from beliefd.protocol.visible import visible
from beliefd.steward.effects.webhook_secret import SHARED, write_secret
from beliefd.steward.inbox_feed import PENDING
from beliefd.steward.write.positions import Positions
from beliefd.stores.base import StorageUnavailable, Store
from beliefd.stores.projections import InboxRow

log = logging.getLogger("beliefd.webhook")
Listed = Callable[[int], Awaitable[list[InboxRow]]]
Remember = Callable[[str], Awaitable[None]]
AT_ONCE: Final = 20
FIRST_RETRY_SECONDS: Final = 0.5
LAST_RETRY_SECONDS: Final = 60.0
LOOK_AGAIN_SECONDS: Final = 5.0
TIMEOUT_SECONDS: Final = 10.0
LAST_SECONDS: Final = 2.0
"""So long a server that is told to stop waits for the answer to what it is sending."""
LEASE: Final = "webhook"
LEASE_SECONDS: Final = 30.0
"""Longer than a delivery may take. After a crash, so long nobody delivers."""


def signature(key: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    signed = hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(signed).decode()


class Webhook:
    """Delivers every pending approval to one address, and what became of those that it has delivered."""

    def __init__(
        self, store: Store, positions: Positions, url: str, key: bytes, secret_file: Path | None = None
    ) -> None:
        """`secret_file` is where the key is to be written that servers share; None if they share none."""
        self._store = store
        self._positions = positions
        self._url = _address(url)
        self._key = key
        self._secret_file = secret_file
        self._holder = secrets.token_hex(16)

    async def run(self) -> None:
        """Deliver for ever; wakes up when any session grows."""
        grown = asyncio.Event()
        unsubscribe = self._store.subscribe(lambda _: grown.set())
        delay = FIRST_RETRY_SECONDS
        try:
            async with httpx.AsyncClient(timeout=TIMEOUT_SECONDS) as client:
                while True:
                    grown.clear()
                    if await self._deliver_all(client):
                        delay = FIRST_RETRY_SECONDS
                        await _wait(grown, LOOK_AGAIN_SECONDS)
                    else:
                        await asyncio.sleep(delay)
                        delay = min(delay * 2, LAST_RETRY_SECONDS)
        finally:
            unsubscribe()

    async def _deliver_all(self, client: httpx.AsyncClient) -> bool:
        """Deliver what is untold, unless another server is at it. One message that is not taken holds up none
        of the others."""
        missed: set[str] = set()
        try:
            if not await self._anything() or not await self._hold():
                return True
            try:
                await self._follow_key()
                store = self._store
                await self._deliver_listed(client, missed, store.inbox_untold, store.inbox_told)
                # Of what was told as pending, how it ended.
                await self._deliver_listed(client, missed, store.inbox_settled, store.inbox_forgotten)
            finally:
                await self._store.end_lease(LEASE, self._holder)
        except StorageUnavailable as error:
            log.warning("webhooks wait for the store: %s", error)
            return False
        except httpx.RequestError as error:
            log.warning("the webhook's receiver cannot be reached; trying again later: %r", error)
            return False
        return not missed

    async def _anything(self) -> bool:
        return bool(await self._store.inbox_untold(1) or await self._store.inbox_settled(1))

    async def _hold(self) -> bool:
        """INVARIANT: whoever sends has held the lease when it began to send."""
        return await self._store.lease(LEASE, self._holder, LEASE_SECONDS)

    async def _follow_key(self) -> None:
        """Another server may have brought a new one."""
        if self._secret_file is None:
            return
        key = await self._store.shared(SHARED)
        if key is not None and key != self._key:
            self._key = key
            await asyncio.to_thread(write_secret, self._secret_file, key)

    async def _deliver_listed(
        self, client: httpx.AsyncClient, missed: set[str], listed: Listed, remember: Remember
    ) -> None:
        while rows := [row for row in await listed(AT_ONCE + len(missed)) if row.approval_id not in missed]:
            for row in rows:
                if not await self._hold():
                    return
                if not await _to_its_end(self._deliver_once(client, row, remember)):
                    missed.add(row.approval_id)

    async def _deliver_once(self, client: httpx.AsyncClient, row: InboxRow, remember: Remember) -> bool:
        if not await self._deliver(client, row):
            return False
        await remember(row.approval_id)
        return True

    async def _deliver(self, client: httpx.AsyncClient, row: InboxRow) -> bool:
        try:
            position = await self._positions.existing(row.session_id)
        except (BeliefdError, LedgerBroken) as error:
            log.warning("no webhook for `%s`, its ledger cannot be read: %s", row.approval_id, error)
            return False
        body = _message(row, position.session.approvals.by_id[row.approval_id])
        timestamp = int(time.time())
        # How it ended is another message than that it waits.
        name = row.approval_id if row.status == PENDING else f"{row.approval_id}.{row.status}"
        headers = {
            "content-type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(self._key, name, timestamp, body),
        }
        said = {"http.request.method": "POST", "beliefd.session.id": row.session_id}
        with tracing.span("deliver webhook", said, kind="client") as span:
            response = await client.post(self._url, content=body, headers=headers)
            span.set(http__response__status_code=response.status_code)
            if not response.is_success:
                span.fail(str(response.status_code))
        if not response.is_success:
            log.warning(
                "webhook for `%s` answered %s; sent again later", row.approval_id, response.status_code
            )
        return response.is_success


async def _to_its_end(work: Coroutine[Any, Any, bool]) -> bool:
    """Who is told to stop finishes what it sends: taken and not remembered, it would be sent again."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=LAST_SECONDS)
        task.cancel()
        raise


def _address(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise invalid(f"`{url}` is no address: {error}", "webhook") from None
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise invalid(f"`{url}` is no http or https address", "webhook")
    return parsed


def _message(row: InboxRow, approval: Approval) -> bytes:
    ended = {} if row.status == PENDING else {"decided_by": approval.decided_by}
    if approval.led_to:
        ended["call_id"] = approval.led_to
    return msgspec.json.encode(
        {
            "type": change_of(row.status),
            "approval_id": row.approval_id,
            "session_id": row.session_id,
            "status": row.status,
            **ended,
            "subject": msgspec.to_builtins(approval.closed(approval.status).subject),
            "gate": approval.gate,
            "asking": approval.asking,
            "tier": approval.tier,
            "proposer": approval.proposer.id,
            "reason": visible(approval.reason),
            "content_hash": approval.content_hash,
            "opened_at": approval.opened_at,
            "expires_at": approval.expires_at,
            "path": f"/v1/approvals/{row.approval_id}",
        }
    )


async def _wait(grown: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(grown.wait(), seconds)
    except TimeoutError:
        return
