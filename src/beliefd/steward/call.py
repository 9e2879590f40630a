"""A request with its transport taken off."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from beliefd.kernel.values import Principal
from beliefd.protocol.rights import Right, Rights


class Caller(Struct, frozen=True):
    """Who asks, and what they may where. Ledgers tell of the principal only."""

    principal: Principal
    rights: Rights


class Call(Struct, frozen=True, kw_only=True):
    """Who asks for what. `origin` is the web origin of a browser, if another than this server's own.

    `last_event` is the last entry of a live feed that the caller has seen. `notes` are to stand in the record
    of what is asked for. `size` is how many bytes the body came in: what is long is dealt with beside the
    event loop. `judged`, where writing goes on for a while, refuses once its caller may ask for it no longer.
    """

    principal: Principal
    rights: Rights
    path: dict[str, str] = {}
    query: dict[str, Any] = {}
    body: Any = None
    if_match: str | None = None
    key: str | None = None
    notes: str | None = None
    origin: str | None = None
    last_event: str | None = None
    size: int = 0
    judged: Callable[[], None] | None = None

    @property
    def readable(self) -> frozenset[str] | None:
        """The spaces whose content the caller may see; None: all."""
        return self.rights.within(Right.READ)

    @property
    def asked_spaces(self) -> frozenset[str] | None:
        """The same, if the question is about one space: that one, as far as the caller may see it."""
        wanted = self.query["space"]
        if wanted is None:
            return self.readable
        return frozenset({wanted}) if self.rights.may(Right.READ, wanted) else frozenset()

    @property
    def session_id(self) -> str:
        return self.path["session_id"]


def space_of(call: Call) -> str:
    """Where something is to begin: what the call says, or where its caller is at home."""
    given = call.query.get("space")
    if given is None and isinstance(call.body, dict):
        given = call.body.get("space")
    return call.rights.home if given is None else str(given)
