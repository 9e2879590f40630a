"""Which policy is in force, where it comes from, and how every process on a store gets to know it.

A server that was given a file decides by that file. Without one, the policy that was adopted last in the
store holds: for this process, for the next, and within a second for all others that run on it.
"""

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct

from beliefd.kernel.canonical import canonical
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.ledger.chain import policy_hash
from beliefd.protocol.wire import convert, parse
from beliefd.stores.base import Adoption, StorageUnavailable

if TYPE_CHECKING:
    from beliefd.steward.write.steward import Steward

log = logging.getLogger("beliefd.policy")
FOLLOW_SECONDS: Final = 1.0

Source = Literal["default", "given", "file", "adopted"]


class Origin(Struct, frozen=True):
    """Where a policy comes from; who adopted it and when, if somebody did."""

    source: Source
    adopted_at: str | None = None
    adopted_by: str | None = None


DEFAULT: Final = Origin("default")
GIVEN: Final = Origin("given")
FROM_FILE: Final = Origin("file")


async def bring_into_force(steward: "Steward", policy: Policy, principal: Principal) -> None:
    """On disk first: a policy that is decided by must not be gone after a restart."""
    if steward.policy_origin is FROM_FILE:
        raise BeliefdError(
            Code.CONFLICT,
            "this server decides by a policy file, and would again after a restart; change the file",
            {"path": "$"},
        )
    adoption = Adoption(
        policy_hash=policy_hash(policy),
        document=canonical(msgspec.to_builtins(policy)),
        adopted_at=steward.environment.now(),
        adopted_by=principal.id,
    )
    await steward.store.adopt(adoption)
    _adopt(steward, adoption, policy)


async def recall(steward: "Steward") -> None:
    """Decide by what was adopted last, if that is anything else than what is decided by now."""
    adoption = await steward.store.adopted()
    if adoption is None:
        return
    origin = steward.policy_origin
    if (adoption.policy_hash, adoption.adopted_at) != (steward.policy_hash, origin.adopted_at):
        _adopt(steward, adoption, _read(adoption))


async def follow(steward: "Steward", every: float = FOLLOW_SECONDS) -> None:
    """Keep up with what other processes adopt; never returns."""
    unreadable: str | None = None
    while True:
        await asyncio.sleep(every)
        with contextlib.suppress(StorageUnavailable):  # that passes, and others say so
            try:
                await recall(steward)
            except BeliefdError as error:
                if error.message != unreadable:
                    log.error("%s; the old policy stays in force", error.message)
                unreadable = error.message


def _adopt(steward: "Steward", adoption: Adoption, policy: Policy) -> None:
    steward.adopt(policy, Origin("adopted", adoption.adopted_at, adoption.adopted_by))
    log.info("policy %s, adopted by %s, is in force", adoption.policy_hash, adoption.adopted_by)


def _read(adoption: Adoption) -> Policy:
    try:
        policy = convert(parse(adoption.document), Policy)
    except BeliefdError as error:
        raise BeliefdError(
            Code.STORAGE_UNAVAILABLE, f"the adopted policy cannot be read: {error.message}"
        ) from None
    if policy_hash(policy) != adoption.policy_hash:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, "the adopted policy is not the one its hash names")
    return policy
