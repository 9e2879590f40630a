"""Which class reads HTTP/1.1: ours, or uvicorn's own where ours cannot be used."""

import logging
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from asyncio import Protocol as AsyncioProtocol

log = logging.getLogger("beliefd.http")

FALLBACK: Final = "h11"
"""Of uvicorn's own, the one that bounds heads (64 KiB) and that every installation of uvicorn has."""


def choose_protocol() -> "type[AsyncioProtocol] | str":
    """What uvicorn takes as `http`. Whether ours fits is seen on the class itself, not on a version."""
    try:
        from beliefd.http.fitting import missing_internals
        from beliefd.http.protocol import Protocol
    except ImportError as error:
        problem = str(error)
    else:
        if not (missing := missing_internals()):
            return Protocol
        problem = f"uvicorn's internals differ: {', '.join(missing)}"
    log.warning(
        "%s; serving with uvicorn's own HTTP protocol `%s`: it is slower, does not close connections that "
        "are slow or silent in a request, bounds no trailers, and answers broken HTTP in plain text",
        problem,
        FALLBACK,
    )
    return FALLBACK
