"""From a call to its handler: who may ask, and what an operation heeds."""

import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from inspect import isfunction
from typing import Any, Final

from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import MAX_NOTES, Principal
from beliefd.protocol.operations import Operation
from beliefd.protocol.wire import query_values
from beliefd.steward.call import Call

Handler = Callable[[Call], Any]
"""Returns what is awaited for the answer; of an operation that streams, an async generator of chunks."""
KEY_PATTERN: Final = "^[!-~]([ -~]{0,253}[!-~])?$"
_KEY: Final = re.compile(KEY_PATTERN)


def handlers_of(vocabulary: object) -> dict[str, Handler]:
    """The public methods of a vocabulary, each of which is the operation that it is named after."""
    named = vars(type(vocabulary)).items()
    return {name: getattr(vocabulary, name) for name, one in named if isfunction(one) and name[0] != "_"}


def joined(vocabularies: Iterable[Mapping[str, Handler]]) -> dict[str, Handler]:
    """INVARIANT: an operation has one handler; a second one does not silently take the place of the first."""
    handlers: dict[str, Handler] = {}
    for vocabulary in vocabularies:
        if twice := handlers.keys() & vocabulary.keys():
            raise TypeError(f"more than one handler for {', '.join(sorted(twice))}")
        handlers |= vocabulary
    return handlers


def check_key(key: str, path: str) -> None:
    if not _KEY.match(key) or key.endswith("\n"):
        raise invalid(f"{path} must be 1 to 255 printable ASCII characters", path)


def check_notes(notes: str, path: str) -> None:
    if not 1 <= len(notes) <= MAX_NOTES:
        raise invalid(f"notes may hold 1 to {MAX_NOTES} characters, not {len(notes)}", path)
    if any("\ud800" <= char <= "\udfff" for char in notes):
        raise invalid("lone surrogates are not text", path)


async def perform(handlers: Mapping[str, Handler], operation: Operation, call: Call) -> Any:
    """Admit one call and answer it."""
    return await handlers[operation.name](admit(operation, call))


def stream(handlers: Mapping[str, Handler], operation: Operation, call: Call) -> AsyncGenerator[bytes, None]:
    """Admit one call of an operation that streams, and begin its answer."""
    chunks: AsyncGenerator[bytes, None] = handlers[operation.name](admit(operation, call))
    return chunks


def authorise(operation: Operation, principal: Principal) -> None:
    if principal.role not in operation.roles:
        allowed = ", ".join(f"`{role}`" for role in sorted(operation.roles))
        raise BeliefdError(
            Code.FORBIDDEN,
            f"role `{principal.role}` may not {operation.name}; it takes one of {allowed}",
        )


def admit(operation: Operation, call: Call) -> Call:
    """The call with its query parsed, if this principal may make it and the operation heeds all it says."""
    authorise(operation, call.principal)
    if call.if_match is not None and not operation.if_match:
        raise invalid(f"`{operation.name}` does not heed If-Match; leave it out", "If-Match")
    if call.key is not None:
        if not operation.idempotency_key:
            raise invalid(
                f"`{operation.name}` does not heed Idempotency-Key; leave it out", "Idempotency-Key"
            )
        check_key(call.key, "Idempotency-Key")
    if call.notes is not None:
        if not operation.notes:
            raise invalid(f"`{operation.name}` does not heed Audit-Notes; leave it out", "Audit-Notes")
        check_notes(call.notes, "Audit-Notes")
    if call.query or operation.query:
        return replace(call, query=query_values(operation.query, call.query))
    return call
