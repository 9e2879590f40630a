"""Which policy is in force, where it comes from, and how every process on a store gets to know it.

A server that was given a file decides by that file. Without one, the policy that was adopted last in the
store holds: for this process, for the next, and within a second for all others that run on it.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import msgspec
from msgspec import Struct

from beliefd.kernel.canonical import canonical
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.ledger.chain import policy_hash
from beliefd.protocol.wire import convert, parse
from beliefd.steward.environment import Environment
from beliefd.stores.base import Adoption, StorageUnavailable, Store

log = logging.getLogger("beliefd.policy")
FOLLOW_SECONDS: Final = 1.0

Source = Literal["default", "given", "file", "adopted"]


class Origin(Struct, frozen=True):
    """Where a policy comes from; who adopted it and when, and under which hash, if somebody did.

    A version that knows more members decides by the document with these filled in, which has another hash.
    """

    source: Source
    adopted_at: str | None = None
    adopted_by: str | None = None
    adopted: str | None = None


DEFAULT: Final = Origin("default")
GIVEN: Final = Origin("given")
FROM_FILE: Final = Origin("file")


class PolicyInForce:
    """The policy that commands are decided under, replaced as a whole."""

    def __init__(self, store: Store, environment: Environment, given: Policy | None = None) -> None:
        self._store = store
        self._environment = environment
        self.adopt(given or Policy(), DEFAULT if given is None else GIVEN)

    def adopt(self, policy: Policy, origin: Origin = GIVEN) -> None:
        """Decide under `policy` from the next command on. One assignment each: no command sees half of it."""
        self.origin = origin
        self.policy = policy
        self.hash = policy_hash(policy)

    async def bring_into_force(
        self,
        policy: Policy,
        principal: Principal,
        record: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        """Have it recorded, then write it to the store: a policy that is decided by is on record, and must
        not be gone after a restart."""
        if self.origin is FROM_FILE:
            raise BeliefdError(
                Code.CONFLICT,
                "this server decides by a policy file, and would again after a restart; change the file",
                {"path": "$"},
            )
        adoption = Adoption(
            policy_hash=policy_hash(policy),
            document=canonical(msgspec.to_builtins(policy)),
            adopted_at=self._environment.now(),
            adopted_by=principal.id,
        )
        if record is not None:
            await record(adoption.policy_hash)
        await self._store.adopt(adoption)
        self._adopt(adoption, policy)

    async def recall(self) -> None:
        """Decide by what was adopted last, if that is anything else than what is decided by now."""
        adoption = await self._store.adopted()
        if adoption is None:
            return
        if (adoption.policy_hash, adoption.adopted_at) != (self.origin.adopted, self.origin.adopted_at):
            self._adopt(adoption, _read(adoption))

    async def follow(self, every: float = FOLLOW_SECONDS) -> None:
        """Keep up with what other processes adopt; never returns."""
        unreadable: str | None = None
        while True:
            await asyncio.sleep(every)
            with contextlib.suppress(StorageUnavailable):  # that passes, and others say so
                try:
                    await self.recall()
                except BeliefdError as error:
                    if error.message != unreadable:
                        log.error("%s; the old policy stays in force", error.message)
                    unreadable = error.message

    def _adopt(self, adoption: Adoption, policy: Policy) -> None:
        origin = Origin("adopted", adoption.adopted_at, adoption.adopted_by, adoption.policy_hash)
        self.adopt(policy, origin)
        log.info("policy %s, adopted by %s, is in force", adoption.policy_hash, adoption.adopted_by)


def _read(adoption: Adoption) -> Policy:
    try:
        policy = convert(parse(adoption.document), Policy)
    except BeliefdError as error:
        raise BeliefdError(
            Code.STORAGE_UNAVAILABLE, f"the adopted policy cannot be read: {error.message}"
        ) from None
    if hashlib.sha256(adoption.document).hexdigest() != adoption.policy_hash:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, "the adopted policy is not the one its hash names")
    return policy
