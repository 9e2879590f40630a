"""Results that callers reported: what the ledger holds of them is a digest, the rest is content."""

import hashlib
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from beliefd.kernel.labels import WITNESSED
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.steward.offload import in_pool
from beliefd.stores.base import Store
from beliefd.stores.within import Within


async def with_result(store: Store, event: OutcomeRecorded, within: Within) -> OutcomeRecorded:
    """The event with what was reported as its result: the machine-readable form, where there is one.

    What is not kept, or is not what the ledger says, is no result.
    """
    reported = event.call.reported
    if reported is UNSET or not reported.kept:
        return event
    content = await store.content(reported.content, within)
    found = None if content is None else await in_pool("parse", _result_in, content, reported.content)
    return replace(event, result=found)


async def with_witnessed(store: Store, event: OutcomeRecorded, within: Within) -> OutcomeRecorded:
    """The same, if it is to be looked at at all: what is only attested bears witness to nothing."""
    return await with_result(store, event, within) if event.call.label == WITNESSED else event


def _result_in(content: bytes, name: str) -> Any:
    if hashlib.sha256(content).hexdigest() != name:
        return None
    try:
        document = loads(content)
    except Unreadable:
        return None
    return document.get("structured", document.get("result")) if isinstance(document, dict) else None
