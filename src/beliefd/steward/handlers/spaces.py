"""Handlers of spaces and of the tokens that give rights in them."""

import logging

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import DEFAULT_SPACE, Role, Tier
from beliefd.protocol.rights import Right
from beliefd.protocol.spaces import CreateSpace, SpaceList, SpaceView
from beliefd.protocol.tokens import CreatedToken, CreateToken, TokenList, TokenView
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call
from beliefd.steward.directory import Directory, caller_of
from beliefd.steward.environment import Environment
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import view_of
from beliefd.steward.spaces import made_spaces
from beliefd.steward.tokens import end_token, make_token, token_id_of
from beliefd.steward.write.system import SystemLedger
from beliefd.stores.base import SpaceRow, Store, Token

log = logging.getLogger("beliefd.tokens")


class SpaceHandlers(Struct, frozen=True):
    """The default space is always there; others are made."""

    store: Store
    system: SystemLedger
    environment: Environment

    async def list_spaces(self, call: Call) -> SpaceList:
        made = [_space(call, row.name, row) for row in await self._made()]
        found = sorted([_space(call, DEFAULT_SPACE), *made], key=lambda one: one.name)
        return SpaceList(spaces=[one for one in found if one.rights])

    async def create_space(self, call: Call) -> SpaceView:
        name = convert(call.body, CreateSpace).name
        row = SpaceRow(name, self.environment.now(), call.principal.id)
        known = {DEFAULT_SPACE, SYSTEM, *(one.name for one in await self._made())}
        if name in known:
            raise BeliefdError(Code.CONFLICT, f"there is a space `{name}` already", {"path": "$.name"})
        # On record first: a space that nobody is on record for does not come to be.
        await self.system.make_space(name, call.principal)
        await self.store.add_space(row)
        return _space(call, name, row)

    async def _made(self) -> list[SpaceRow]:
        return made_spaces(await self.store.spaces(), await self.system.state())


def _space(call: Call, name: str, row: SpaceRow | None = None) -> SpaceView:
    return view_of(SpaceView, row, name=name, rights=[one for one in Right if call.rights.may(one, name)])


class TokenHandlers(Struct, frozen=True):
    """INVARIANT: no answer holds a secret, but that of the request which made it."""

    store: Store
    system: SystemLedger
    directory: Directory

    async def list_tokens(self, _: Call) -> TokenList:
        tokens = sorted(await self.store.tokens(), key=lambda one: (one.created_at, one.token_id))
        return TokenList(tokens=[view for one in tokens if (view := _readable(one)) is not None])

    async def create_token(self, call: Call) -> CreatedToken:
        asked = convert(call.body, CreateToken)
        secret = await make_token(
            self.store,
            self.system,
            asked.name,
            asked.role,
            None if asked.tier is None else Tier[asked.tier],
            asked.owner,
            [f"{space}={','.join(rights)}" for space, rights in asked.spaces.items()],
            call.principal,
        )
        return CreatedToken(secret=secret, token=await self._shown(token_id_of(secret)))

    async def revoke_token(self, call: Call) -> TokenView:
        token_id = call.path["token_id"]
        if not await end_token(self.store, self.system, token_id, call.principal):
            raise not_found(Code.NOT_FOUND, "token", token_id, " that is still valid")
        return await self._shown(token_id)

    async def _shown(self, token_id: str) -> TokenView:
        await self.directory.refresh(force=True)
        return token_view(self.directory.tokens[token_id])


def _readable(token: Token) -> TokenView | None:
    """A row that somebody spoilt is not honoured, and `doctor` names it: it does not hide the others."""
    try:
        return token_view(token)
    except (ValueError, BeliefdError) as error:
        log.error("token `%s` cannot be read: %s", token.token_id, error)
        return None


def token_view(token: Token) -> TokenView:
    caller = caller_of(token)
    return view_of(
        TokenView,
        token,
        principal=caller.principal.id,
        owner=caller.principal.person,
        role=Role(token.role),
        spaces={
            space: [one for one in Right if one in rights] for space, rights in caller.rights.by_space.items()
        },
    )
