"""Entries of a ledger as CloudEvents 1.0, for systems that take events from anywhere."""

from typing import Any, Final
from urllib.parse import quote

MEDIA: Final = "application/cloudevents+json"
TYPES: Final = "beliefd.audit."


def cloud_event(entry: dict[str, Any]) -> dict[str, Any]:
    """`source` and `id` tell an event from all others, whoever delivers it and however often; `sequence` is
    its place in the ledger, and `data` the entry as it was recorded, hash included."""
    return {
        "specversion": "1.0",
        "id": entry["event_id"],
        "source": f"/v1/sessions/{quote(entry['session_id'], safe='')}",
        "type": TYPES + entry["delta"]["kind"],
        "subject": entry["verb"],
        "time": entry["ts"],
        "sequence": str(entry["seq"]),
        "datacontenttype": "application/json",
        "data": entry,
    }
