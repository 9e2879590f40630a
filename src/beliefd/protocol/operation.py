"""What a row of the surface says."""

from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role

KIB: Final = 1024
MIB: Final = 1024 * KIB
EVERYONE: Final = frozenset(Role)
PROPOSERS: Final = EVERYONE
OPERATORS: Final = frozenset({Role.ADMIN})
ON_WRITING: Final = (Code.CONFLICT, Code.SESSION_TERMINATED)
SESSION_PATH: Final = "/v1/sessions/{session_id}"


class Parameter(Struct, frozen=True, kw_only=True):
    """A query parameter: `kind` bounds it, for the parser and for the document alike."""

    name: str
    kind: Any
    summary: str
    default: Any = None


class Operation(Struct, frozen=True, kw_only=True):
    """One row of the surface. `body` is a command or a question; None means there is no JSON body.

    `errors` are those that only some operations know; bad input, missing rights and a broken store are
    everybody's.
    """

    name: str
    method: str
    path: str
    answer: Any
    summary: str
    body: Any = None
    status: int = 200
    query: tuple[Parameter, ...] = ()
    if_match: bool = False
    idempotency_key: bool = False
    errors: tuple[Code, ...] = ()
    tag: str = "sessions"
    roles: frozenset[Role] = EVERYONE
    max_body: int = 16 * MIB
    media: str = "application/json"
    body_media: str = "application/json"
    stream: str = ""

    @property
    def takes_body(self) -> bool:
        return self.method in ("POST", "PUT")
