"""Telling other systems that somebody must decide: signed, retried, at least once.

The inbox row itself remembers whether it has been told, so a crash between sending and remembering leads to a
second delivery, never to none. Signatures follow the Standard Webhooks scheme.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
import os
import secrets
import time
from pathlib import Path
from typing import Final

import httpx
import msgspec

from beliefd.kernel.claims.approvals import Approval
from beliefd.steward.handle import Steward
from beliefd.stores.base import InboxRow, StorageUnavailable

log = logging.getLogger("beliefd.webhook")
AT_ONCE: Final = 20
FIRST_RETRY_SECONDS: Final = 0.5
LAST_RETRY_SECONDS: Final = 60.0
LOOK_AGAIN_SECONDS: Final = 5.0
TIMEOUT_SECONDS: Final = 10.0


def secret_from(path: Path) -> bytes:
    """The signing secret, made on first use and readable by its owner only."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_bytes().strip()
    with os.fdopen(handle, "wb") as file:
        secret = base64.b64encode(secrets.token_bytes(32))
        file.write(secret + b"\n")
    return secret


def signature(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    signed = hmac.new(secret, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return "v1," + base64.b64encode(signed).decode()


class Webhook:
    """Delivers every pending approval to one address."""

    def __init__(self, steward: Steward, url: str, secret: bytes) -> None:
        self._steward = steward
        self._url = url
        self._secret = secret

    async def run(self) -> None:
        """Deliver for ever; wakes up when any session grows."""
        grown = asyncio.Event()
        unsubscribe = self._steward.store.subscribe(lambda _: grown.set())
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
        try:
            while rows := await self._steward.store.inbox_untold(AT_ONCE):
                for row in rows:
                    if not await self._deliver(client, row):
                        return False
                    await self._steward.store.inbox_told(row.approval_id)
        except StorageUnavailable as error:
            log.warning("webhooks wait for the store: %s", error)
            return False
        return True

    async def _deliver(self, client: httpx.AsyncClient, row: InboxRow) -> bool:
        position = await self._steward.positions.existing(row.session_id)
        body = _message(row, position.session.approvals[row.approval_id])
        timestamp = int(time.time())
        headers = {
            "content-type": "application/json",
            "webhook-id": row.approval_id,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": signature(self._secret, row.approval_id, timestamp, body),
        }
        try:
            response = await client.post(self._url, content=body, headers=headers)
        except httpx.HTTPError as error:
            log.warning("webhook for `%s` failed and will be sent again: %r", row.approval_id, error)
            return False
        if response.is_success:
            return True
        log.warning("webhook for `%s` answered %s; sent again later", row.approval_id, response.status_code)
        return False


def _message(row: InboxRow, approval: Approval) -> bytes:
    return msgspec.json.encode(
        {
            "type": "approval.pending",
            "approval_id": row.approval_id,
            "session_id": row.session_id,
            "bundle_id": approval.bundle_id,
            "gate": approval.gate,
            "tier": approval.tier,
            "reason": approval.reason,
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
