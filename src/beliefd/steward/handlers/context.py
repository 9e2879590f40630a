"""Handlers of context: its text goes beside the ledger, its digest into it."""

from typing import Final

from msgspec import UNSET, Struct

from beliefd.kernel.canonical import NotCanonical
from beliefd.kernel.context.commands import ANNOUNCEMENT, AddContext
from beliefd.kernel.context.events import ContextAdded
from beliefd.kernel.context.policy import MAX_CONTEXT_BYTES
from beliefd.kernel.context.told import Told, written
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import DEFAULT_SPACE
from beliefd.protocol.context import ContextAnswer, ContextPage, ContextRequest, ContextView, JoinAnswer
from beliefd.protocol.rights import Right
from beliefd.steward.call import Call
from beliefd.steward.effects.background import Background
from beliefd.steward.environment import Environment
from beliefd.steward.facts.hashing import sha256_of
from beliefd.steward.facts.origin import Origins
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import cut, filling, read_as, view_of
from beliefd.steward.joins import Joins
from beliefd.steward.keeping import keep
from beliefd.steward.offload import HEAVY_BYTES, offload
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.spaces import Spaces
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for
from beliefd.stores.base import Store

DIGITS: Final = 9


class ContextHandlers(Struct, frozen=True):
    """What agents were told, by whom policy names."""

    store: Store
    positions: Positions
    submit: Submit
    in_force: PolicyInForce
    environment: Environment
    spaces: Spaces
    joins: Joins
    origins: Origins
    background: Background

    async def add_context(self, call: Call) -> ContextAnswer:
        asked = await read_as(call, ContextRequest)
        command = await self._command(call, asked)
        outcome, event = await submit_for(call, self.submit, call.session_id, command, ContextAdded)
        if command.kind == ANNOUNCEMENT and command.join_key is not None:
            self.joins.announce(call.principal, command.join_key, call.session_id)
        self.background.start(self.origins.prepare(outcome.session, self.in_force.policy))
        return ContextAnswer(context_id=event.item.context_id, seq=outcome.head.seq)

    async def _command(self, call: Call, asked: ContextRequest) -> AddContext:
        told = {name: getattr(asked, name) for name in ("kind", "tool_id", "call_id", "join_key", "error")}
        if asked.kind == ANNOUNCEMENT:
            return AddContext(**told)
        said = Told(text=asked.text, structured=asked.structured, args=asked.args)
        try:
            document = await offload(call.size > HEAVY_BYTES, written, said, kind="parse")
        except (NotCanonical, UnicodeEncodeError) as error:
            raise invalid(str(error), "$") from None
        self._refuse_too_large(document)
        name = await sha256_of(document)
        policy = self.in_force.policy.context
        # INVARIANT: who may not tell leaves a refusal in the ledger, and nothing beside it.
        if policy is not UNSET and policy.may_tell(call.principal):
            space = await self.spaces.of(call.session_id) or DEFAULT_SPACE
            limits = self.in_force.policy.content
            await keep(self.store, limits, self.environment.now(), call.principal, name, document, space)
        return AddContext(**told, content=name, size=len(document))

    def _refuse_too_large(self, document: bytes) -> None:
        policy = self.in_force.policy.context
        limit = MAX_CONTEXT_BYTES if policy is UNSET else policy.max_bytes
        if len(document) > limit:
            text = f"one item of context may hold {limit} bytes at most, not {len(document)}"
            raise BeliefdError(Code.PAYLOAD_TOO_LARGE, text, {"path": "$", "limit": limit})

    async def list_context(self, call: Call) -> ContextPage:
        items = (await self.positions.existing(call.session_id)).session.context.items
        after = _number(call.query["cursor"])
        numbers, following = cut(list(range(after + 1, len(items) + 1)), call.query["limit"], str)
        records = {str(number): items[str(number)] for number in numbers}
        named = {one.content for one in records.values() if one.content is not None}
        kept = await self.store.kept_content(named) if named else set()
        views = [
            view_of(ContextView, one, number=int(number), kept=one.content is None or one.content in kept)
            for number, one in records.items()
        ]
        shown, following = filling(views, list(records), following)
        return ContextPage(items=shown, next=following)

    async def show_join(self, call: Call) -> JoinAnswer:
        join_key = call.path["join_key"]
        session_id = self.joins.session_of(call.principal, join_key)
        space = None if session_id is None else await self.spaces.of(session_id)
        if session_id is None or space is None or not call.rights.may(Right.PROPOSE, space):
            raise not_found(Code.NOT_FOUND, "announcement", join_key)
        return JoinAnswer(session_id=session_id)


def _number(cursor: str | None) -> int:
    """Where to go on; nothing comes after a cursor that no page ended with."""
    if cursor is None:
        return 0
    return int(cursor) if cursor.isdecimal() and len(cursor) <= DIGITS else 10**DIGITS
