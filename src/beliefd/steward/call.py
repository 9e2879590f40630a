"""A request with its transport taken off."""

from typing import Any

from msgspec import Struct

from beliefd.kernel.values import Principal


class Call(Struct, frozen=True, kw_only=True):
    """Who asks for what. `origin` is the web origin of a browser, if another than this server's own.

    `last_event` is the last entry of a live feed that the caller has seen. `notes` are to stand in the record
    of what is asked for. `size` is how many bytes the body came in: what is long is dealt with beside the
    event loop.
    """

    principal: Principal
    path: dict[str, str] = {}
    query: dict[str, Any] = {}
    body: Any = None
    if_match: str | None = None
    key: str | None = None
    notes: str | None = None
    origin: str | None = None
    last_event: str | None = None
    size: int = 0

    @property
    def session_id(self) -> str:
        return self.path["session_id"]
