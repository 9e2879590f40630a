"""Which policy is in force, where it comes from, and how every process on a store gets to know it.

A server that was given a file decides by that file. Without one, the policy that was adopted last in the
store holds: for this process, for the next, and within a second for all others that run on it. What was
adopted last is what the server's own ledger says: a row that no event made is not followed.
"""

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from beliefd.kernel.canonical import canonical
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.envelope import LedgerBroken
from beliefd.policy.compiling import Problem, compiled, problems
from beliefd.policy.proving.guard import guard
from beliefd.protocol.wire import convert, parse
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.steward.environment import Environment
from beliefd.steward.offload import in_pool, offload
from beliefd.stores.base import Adoption, StorageUnavailable, Store

log = logging.getLogger("beliefd.policy")
FOLLOW_SECONDS: Final = 1.0
LONG_BYTES: Final = 16 * 1024
"""A longer policy is compiled beside the event loop."""

Source = Literal["default", "given", "file", "adopted"]


class Origin(Struct, frozen=True):
    """Where a policy comes from; who adopted it and when, and under which hash, if somebody did.

    `place` is the file that it was read from. A version that knows more members decides by the document with
    these filled in, which has another hash.
    """

    source: Source
    adopted_at: str | None = None
    adopted_by: str | None = None
    adopted: str | None = None
    place: str | None = None


class Overtaken(Exception):
    """Another policy came into force since somebody looked which one was."""


Record = Callable[[Policy, Origin, Principal, str], Awaitable[None]]
"""Writes down that a policy comes into force, after the one of this hash that was on record last; what it
raises keeps the old one. `Overtaken`, if another is on record by now."""
OnRecord = Callable[[], Awaitable[str | None]]
"""The hash of the policy that was adopted last, as the server's own ledger says; None if it names none."""
Last = Callable[[], Awaitable[str]]
"""The hash that is on record last, of whatever source; empty if there is none."""


async def only_logged(_: Policy, __: Origin, ___: Principal, ____: str) -> None:
    """For who keeps no record beside the log."""


async def none_on_record() -> str | None:
    """For who keeps no record."""
    return None


async def none_last() -> str:
    """For who keeps no record."""
    return ""


DEFAULT: Final = Origin("default")
GIVEN: Final = Origin("given")
FROM_FILE: Final = Origin("file")


class PolicyInForce:
    """The policy that commands are decided under, replaced as a whole."""

    def __init__(self, store: Store, environment: Environment, given: Policy | None = None) -> None:
        self._store = store
        self._environment = environment
        self.record: Record = only_logged
        self.on_record: OnRecord = none_on_record
        self.last: Last = none_last
        self._taking = asyncio.Lock()
        self._planted: tuple[Adoption, bool] | None = None
        self.adopt(given or Policy(), DEFAULT if given is None else GIVEN)

    def adopt(self, policy: Policy, origin: Origin = GIVEN) -> None:
        """Decide under `policy` from the next command on. One assignment each: no command sees half of it."""
        self.origin = origin
        self.policy = policy
        self.hash = policy_hash(policy)

    async def take(
        self, policy: Policy, origin: Origin, by: Principal = LOCAL_OPERATOR, keep: Adoption | None = None
    ) -> None:
        """INVARIANT: the one way into force: compiled, its promises proved, on record, then decided by.

        `keep` is written to the store, too: what is decided by must not be gone after a restart. It is there
        before its event: a row without one counts for nothing, but an event without its row cannot be obeyed.
        """
        await asyncio.to_thread(compiled, policy)
        proved = set[str]()
        async with self._taking:
            while True:
                last = await self._last_known(origin)
                await self._prove(policy, last, proved)
                if keep is not None:
                    await self._store.adopt(keep)
                try:
                    await self.record(policy, origin, by, last)
                    break
                except Overtaken:  # what has come into force promises something, too
                    await self._give_way(keep)
            self.adopt(policy, origin)
        _log_in_force(self)

    async def _prove(self, policy: Policy, last: str, proved: set[str]) -> None:
        """INVARIANT: what is in force on this store binds, and not only what this process has seen of it."""
        held = [one for one in await self._binding(last) if one.prove]
        for before in held or ([policy] if policy.prove else []):
            if (name := policy_hash(before)) not in proved:
                await in_pool("question", guard, before, policy)
                proved.add(name)

    async def _binding(self, last: str) -> list[Policy]:
        """The policies whose promises hold: what was adopted last on the store, what was put into force last
        on it, maybe by a file, and what is decided by here, where that is not what the store says."""
        adopted = await self._on_record(starting=self.origin.source == GIVEN.source)
        names = dict.fromkeys(one for one in (adopted, last) if one)
        found = [one for name in names if (one := await self._known(name)) is not None]
        return found if self.origin.source == "adopted" and found else [*found, self.policy]

    async def _known(self, name: str) -> Policy | None:
        """A policy by its hash. One that cannot be read promises nothing that one could hold anybody to; it
        must not keep another one from coming into force."""
        adoption = await self._store.adopted(name)
        document = await self._store.policy(name) if adoption is None else None
        try:
            if adoption is not None:
                return await offload(_is_long(adoption), _read, adoption)
            return None if document is None else await offload(len(document) > LONG_BYTES, _convert, document)
        except BeliefdError as error:
            log.error("what policy `%s` promises is not known: %s", name, error.message)
            return None

    async def _last_known(self, origin: Origin) -> str:
        try:
            return await self.last()
        except LedgerBroken:
            if origin.source != GIVEN.source:
                raise
            return ""  # it must open, so that what is wrong can be found

    async def _give_way(self, keep: Adoption | None) -> None:
        """The last row is that of the last event again."""
        if keep is not None and await self._store.adopted() == keep:
            recorded = await self._store.adopted(await self.on_record())
            if recorded is not None and recorded != keep:
                await self._store.adopt(recorded)

    async def take_file(self, policy: Policy, path: Path) -> None:
        """Decide by what stands in a file of the operator's."""
        now, known = self._environment.now(), policy_hash(policy)
        await self.take(policy, Origin(FROM_FILE.source, now, LOCAL_OPERATOR.id, known, str(path)))

    async def bring_into_force(self, policy: Policy, principal: Principal) -> None:
        """Decide by a policy here, in all other processes on the store, and after a restart."""
        if self.origin.source == FROM_FILE.source:
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
        await self.take(policy, _origin(adoption), principal, adoption)

    async def recall(self) -> None:
        """Decide by what was adopted last, if that is anything else than what is decided by now.

        An earlier version may have adopted what does not compile. It stays in force as it was, denying what
        its malformed constraints name: all other rules of it would be gone with it. The log says so. One that
        is older than all records of adoptions holds, too; `unrecorded` is what a server then records.
        """
        if (adoption := await self._newer(starting=True)) is not None:
            policy, found = await offload(_is_long(adoption), _read_with_problems, adoption)
            for problem in found:
                log.error("the adopted policy %s at `%s`: %s", adoption.policy_hash, problem.path, problem)
            self.adopt(policy, _origin(adoption))
            _log_in_force(self)

    async def follow(self, every: float = FOLLOW_SECONDS) -> None:
        """Keep up with what other processes adopt; never returns."""
        unreadable: str | None = None
        while True:
            await asyncio.sleep(every)
            with contextlib.suppress(StorageUnavailable):  # that passes, and others say so
                try:
                    await self._catch_up()
                except BeliefdError as error:
                    if error.message != unreadable:
                        log.error("%s; the old policy stays in force", error.message)
                    unreadable = error.message

    async def _catch_up(self) -> None:
        """Who adopted it has recorded it; whether it compiles is looked at here too."""
        before = self.origin
        if (adoption := await self._newer()) is not None:
            policy = await offload(_is_long(adoption), lambda: compiled(_read(adoption)))
            if self.origin is before:  # else something newer has come into force here meanwhile
                self.adopt(policy, _origin(adoption))
                _log_in_force(self)

    async def unrecorded(self) -> str | None:
        """The hash of what is decided by, if it was adopted before adoptions were recorded."""
        adopted = self.origin.source == "adopted" and await self.on_record() is None
        return self.origin.adopted if adopted else None

    async def _newer(self, *, starting: bool = False) -> Adoption | None:
        """INVARIANT: what is followed is what the server's own ledger says was adopted last."""
        adoption = await self._store.adopted()
        if not starting and (adoption is None or self._is_known(adoption)):
            return None
        recorded = await self._on_record(starting)
        if adoption is not None and adoption.policy_hash != recorded and not (starting and recorded is None):
            self._say_planted(adoption, starting)
            adoption = None
        if adoption is None and recorded is not None and recorded != self.origin.adopted:
            adoption = await self._store.adopted(recorded)
            if adoption is None:
                text = f"the policy `{recorded}` was adopted, and is not in the store any more"
                raise BeliefdError(Code.STORAGE_UNAVAILABLE, text)
        return None if adoption is None or self._is_known(adoption) else adoption

    def _is_known(self, adoption: Adoption) -> bool:
        return (adoption.policy_hash, adoption.adopted_at) == (self.origin.adopted, self.origin.adopted_at)

    async def _on_record(self, starting: bool) -> str | None:
        try:
            return await self.on_record()
        except LedgerBroken as error:
            text = f"the server's own ledger cannot say which policy was adopted: {error}"
            if not starting:
                raise BeliefdError(Code.LEDGER_BROKEN, text) from None
            # It must open, so that what is wrong can be found. No session that has a ledger can be loaded.
            log.error("%s", text)
            return None

    def _say_planted(self, adoption: Adoption, starting: bool) -> None:
        """Say it once, and not of a row whose event is just being written: that is there a second later."""
        seen, self._planted = self._planted, (adoption, True)
        if seen == (adoption, True):
            return
        if starting or seen == (adoption, False):
            log.error("%s; the old policy stays in force", planted_words(adoption))
        else:
            self._planted = (adoption, False)


def planted_words(adoption: Adoption) -> str:
    return f"policy `{adoption.policy_hash}` was adopted last by no event: it is not followed"


def _is_long(adoption: Adoption) -> bool:
    return len(adoption.document) > LONG_BYTES


def _read_with_problems(adoption: Adoption) -> tuple[Policy, list[Problem]]:
    policy = _read(adoption)
    return policy, list(problems(policy))


def _origin(adoption: Adoption) -> Origin:
    return Origin("adopted", adoption.adopted_at, adoption.adopted_by, adoption.policy_hash)


def _log_in_force(now: PolicyInForce) -> None:
    origin = now.origin
    where = "" if origin.place is None else f" from `{origin.place}`"
    # A file counts for the server that was started with it: the store has not adopted it.
    how = "adopted" if origin.source == "adopted" else "given"
    who = "" if origin.adopted_by is None else f", {how} by {origin.adopted_by}"
    log.info("policy %s (%s%s)%s, is in force", now.hash, origin.source, where, who)


def _read(adoption: Adoption) -> Policy:
    try:
        policy = _convert(adoption.document)
    except BeliefdError as error:
        raise BeliefdError(
            Code.STORAGE_UNAVAILABLE, f"the adopted policy cannot be read: {error.message}"
        ) from None
    if hashlib.sha256(adoption.document).hexdigest() != adoption.policy_hash:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, "the adopted policy is not the one its hash names")
    return policy


def _convert(document: bytes) -> Policy:
    return convert(parse(document), Policy)
