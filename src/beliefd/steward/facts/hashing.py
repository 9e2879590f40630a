"""Hashing content without holding anybody up."""

import hashlib
from typing import Final

from beliefd.steward.offload import offload

HASH_IN_PLACE: Final = 64 * 1024
"""What is larger is hashed in a thread, so that other callers are not held up."""


async def sha256_of(content: bytes) -> str:
    return (await offload(len(content) > HASH_IN_PLACE, hashlib.sha256, content, kind="parse")).hexdigest()
