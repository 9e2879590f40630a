"""Addresses of others that checkpoints go to, as far as they may be shown."""

from typing import Final
from urllib.parse import urlsplit

URLS: Final = ("http://", "https://")


def shown(place: str) -> str:
    """INVARIANT: what is shown of a URL has no name, no password and no key in it."""
    if "://" not in place:
        return place
    try:
        parts = urlsplit(place)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:  # what stands where a port should may be a piece of a password
        return f"{place.partition('://')[0]}://..."
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"
