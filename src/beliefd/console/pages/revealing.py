"""What pages show in the place of a digest: what stands beside the ledger, or that it was erased."""

import re
from typing import Any, Final

import msgspec

from beliefd.console.app import Visitor
from beliefd.kernel.erasures.withholding import MARK, opened_part
from beliefd.kernel.errors import BeliefdError, Code

MOST: Final = 200
"""So many parts one page looks up; of the others it shows the digests."""
DIGITS: Final = 8
_MARK: Final = re.compile(f"^{MARK}([0-9a-f]{{64}})$")


async def revealed(visitor: Visitor, value: Any) -> Any:
    """A copy with what its withheld parts say, as far as this visitor may read it.

    INVARIANT: it is always told that it stood beside the ledger: whoever quotes a digest does not get the
    words for their own.
    """
    plain = msgspec.to_builtins(value)
    digests = list(dict.fromkeys(_digests(plain)))[:MOST]
    words = {MARK + digest: await _words(visitor, digest) for digest in digests}
    return _put(plain, words) if words else plain


async def _words(visitor: Visitor, digest: str) -> str:
    short = digest[:DIGITS]
    try:
        found = await visitor.asker.ask("read_content", {"sha256": digest})
    except BeliefdError as error:
        return f"[erased {short}]" if error.code is Code.CONTENT_ERASED else f"[withheld {short}, not here]"
    part = opened_part(found.content, digest)
    return f"[withheld {short}, not readable]" if part is None else f"[withheld {short}] {part}"


def _digests(value: Any) -> list[str]:
    if isinstance(value, str):
        found = _MARK.match(value)
        return [] if found is None else [found[1]]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [one for item in items for one in _digests(item)]


def _put(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        return words.get(value, value)
    if isinstance(value, dict):
        return {key: _put(one, words) for key, one in value.items()}
    return [_put(one, words) for one in value] if isinstance(value, list | tuple) else value
