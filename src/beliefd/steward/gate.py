"""Who may do what where: asked once for every call, before its handler."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import PEOPLE, Principal, Role, shown
from beliefd.protocol.operations import BY_NAME, Operation
from beliefd.protocol.rights import Right
from beliefd.steward.call import Call, space_of
from beliefd.steward.dispatch import Handler
from beliefd.steward.failures import not_found
from beliefd.steward.spaces import Spaces
from beliefd.steward.write.positions import session_not_found
from beliefd.stores.base import Store


class Gate:
    """INVARIANT: what one may not read answers like what is not there, to the letter. What one may read and
    not do is FORBIDDEN. Either way nothing is written."""

    def __init__(self, store: Store, spaces: Spaces) -> None:
        self._store = store
        self._spaces = spaces

    def passes(self, operation: Operation, call: Call) -> bool:
        """Is it known, without asking the store, that a call to one session is allowed? Else `check` it."""
        right = needed(operation, call.principal)
        if _is_operators(call.session_id, call):
            return False
        if call.rights.everywhere(right):
            return True
        space = self._spaces.known(call.session_id)
        return space is not None and call.rights.may(right, space)

    async def check(self, operation: Operation, call: Call) -> None:
        right = needed(operation, call.principal)
        if operation.begins_in_space:
            await self._check_space(operation, right, call)
        elif operation.names_session and not isinstance(call.body.get("session_id"), str):
            return  # its handler refuses it: it names nothing
        elif _is_operators(_named(operation, call), call):
            raise session_not_found(SYSTEM)
        elif not call.rights.everywhere(right):
            await self._check_place(operation, right, call)

    async def _check_place(self, operation: Operation, right: Right, call: Call) -> None:
        session_id = await self._session_of(operation, call)
        if session_id is None:
            # About no session: a question shows what its caller may see, all else is for whoever may it
            # everywhere.
            if right is not Right.READ:
                raise _forbidden(operation, right, "every space")
            return
        space = await self._spaces.of(session_id)
        if space is None or not call.rights.may(Right.READ, space):
            raise _absent(operation, call, session_id)
        if not call.rights.may(right, space):
            raise _forbidden(operation, right, f"space `{space}`")

    async def _session_of(self, operation: Operation, call: Call) -> str | None:
        """The session that a call is about; one that does not exist, if that cannot be told."""
        if "approval_id" in call.path:
            row = await self._store.inbox_row(call.path["approval_id"])
            return "" if row is None else row.session_id
        return _named(operation, call)

    async def _check_space(self, operation: Operation, right: Right, call: Call) -> None:
        space = space_of(call)
        if not (call.rights.may(Right.READ, space) and await self._spaces.exists(space)):
            told = f"no space `{shown(space)}` that you may see"
            raise BeliefdError(Code.NOT_FOUND, told, {"path": "space"})
        if right is Right.ADMIN and not call.rights.everywhere(right):
            # A ledger that comes from elsewhere may name anybody: taking it in is for who may everything.
            raise _forbidden(operation, right, "every space")
        if not call.rights.may(right, space):
            raise _forbidden(operation, right, f"space `{space}`")


def needed(operation: Operation, principal: Principal) -> Right:
    """The right that an operation takes. A program that tries to decide is refused by the kernel, on record,
    as long as it may write there at all."""
    if operation.needs is Right.APPROVE and principal.role not in PEOPLE:
        return Right.PROPOSE
    return operation.needs


def guarded(handlers: Mapping[str, Handler], gate: Gate) -> dict[str, Handler]:
    """The handlers, each behind the gate."""
    return {name: _guarded(BY_NAME[name], handler, gate) for name, handler in handlers.items()}


def _guarded(operation: Operation, handler: Handler, gate: Gate) -> Handler:
    async def answer(call: Call) -> Any:
        await gate.check(operation, call)
        return await handler(call)

    async def chunks(call: Call) -> AsyncGenerator[bytes, None]:
        await gate.check(operation, call)
        async with aclosing(handler(call)) as told:
            async for chunk in told:
                yield chunk

    return chunks if operation.stream else answer


def _named(operation: Operation, call: Call) -> str | None:
    """The session that a call names, if it names one."""
    if "session_id" in call.path:
        return call.session_id
    if "capability_id" in call.path:
        return call.path["capability_id"].partition("/")[0]
    return str(call.body["session_id"]) if operation.names_session else None


def _is_operators(session_id: str | None, call: Call) -> bool:
    """Is it about the server's own ledger, and by somebody who does not run it? No right in a space, not even
    one in all of them, shows that."""
    return session_id == SYSTEM and call.principal.role is not Role.ADMIN


def _absent(operation: Operation, call: Call, session_id: str) -> BeliefdError:
    if "approval_id" in call.path:
        return not_found(Code.APPROVAL_NOT_FOUND, "approval", call.path["approval_id"])
    return session_not_found(session_id)


def _forbidden(operation: Operation, right: Right, where: str) -> BeliefdError:
    return BeliefdError(Code.FORBIDDEN, f"{operation.name} takes the right to `{right}` in {where}")
