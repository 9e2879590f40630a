"""The server's own ledger: begun when there is something to record, and written like any other."""

import asyncio
import hashlib
from collections.abc import Callable
from typing import Final, cast, get_args

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.events import Event
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.system.commands import (
    AdoptPolicy,
    AdoptTokens,
    ChangeKey,
    MakeSpace,
    NoteRefusal,
    SystemCommand,
)
from beliefd.kernel.system.events import KeyChanged, PolicyAdopted
from beliefd.kernel.system.state import SYSTEM, PolicySource, System
from beliefd.kernel.values import Head, OntologyBundle, Principal
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.envelope import head_of, read
from beliefd.ledger.notes import VerifierKey
from beliefd.steward.directory import ISSUER, LOCAL_OPERATOR, facts_of
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.policies import Origin, Overtaken
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.sealed import Who
from beliefd.steward.write.submitting import Submit, raise_if_refused
from beliefd.stores.base import Store, Token

RECORDED: Final = get_args(PolicySource)
ADOPTED: Final[PolicySource] = "adopted"
LOG_KEY: Final = "log/"
"""Before the names of the keys that sign the log; name and id of the key follow."""
DECLARATION: Final = DeclareSession(
    ontology=OntologyBundle(
        hypothesis_space_id="beliefd/system",
        hypothesis_version="1",
        causal_graph_ref="beliefd/system",
        causal_graph_version="1",
    ),
    # A session has hypotheses. This one is about none, and nothing can eliminate it.
    hypotheses=("system",),
    # A space of its own that nobody can be given: only who may everywhere may look into it.
    space=SYSTEM,
)


async def system_state(positions: Positions) -> System | None:
    position = await positions.fresh(SYSTEM)
    return None if position is None else position.session.system


class SystemLedger:
    """What operators do to a server, in its store's own session."""

    def __init__(self, store: Store, positions: Positions, submit: Submit) -> None:
        self._store = store
        self._positions = positions
        self._submit = submit
        self._beginning = asyncio.Lock()
        self._seen: Head | None = None
        self._adopted: str | None = None
        self._log_keys: dict[VerifierKey, None] = {}

    async def state(self) -> System | None:
        """What is on record; None if nothing ever was."""
        return await system_state(self._positions)

    async def begin(self) -> None:
        """Open the ledger if it is not there. Its first events name tokens and spaces that are older."""
        async with self._beginning:
            if await self._store.head(SYSTEM) is not None:
                return
            waiting = [self._submit(SYSTEM, DECLARATION, LOCAL_OPERATOR)]
            if rows := await self._store.tokens():
                earlier = AdoptTokens(
                    tokens=tuple(facts_of(row) for row in rows),
                    revoked=tuple(row.token_id for row in rows if row.revoked_at is not None),
                )
                # One turn and one transaction: nobody sees the ledger without them.
                waiting.append(self._submit(SYSTEM, earlier, LOCAL_OPERATOR))
            for space in await self._store.spaces():
                waiting.append(self._submit(SYSTEM, MakeSpace(space=space.name), LOCAL_OPERATOR))
            for one in waiting:
                await one  # if another process was faster, both are refused, and that is on record

    async def record(
        self,
        command: SystemCommand,
        principal: Principal,
        row: Token | None = None,
        still: Callable[[Session], bool] | None = None,
    ) -> Outcome:
        """Write one command; `row` is written in the same transaction, if it is not refused."""
        await self.begin()
        attached = Attachments(token=row, still=still)
        outcome = await self._submit(SYSTEM, command, principal, attachments=attached)
        raise_if_refused(outcome)
        return outcome

    async def adopted(self) -> str | None:
        """The hash of the policy that somebody adopted last; None if nobody did since there is this ledger.

        The state names what stands in a file, too. So it is looked for in the entries.
        """
        await self._look()
        return self._adopted

    async def log_keys(self) -> list[VerifierKey]:
        """The keys that checkpoints were signed with, in the order in which they came into use."""
        await self._look()
        return list(self._log_keys)

    async def _look(self) -> None:
        """Read what has come since the last look; all of it, if that is not on this ledger any more."""
        head, seen = await self._store.head(SYSTEM), self._seen
        if head == seen:
            return
        after = 0
        if head is not None and seen is not None and seen.seq < head.seq:
            at = await self._store.entries(SYSTEM, seen.seq - 1, 1)
            after = seen.seq if at and head_of(at[0]) == seen else 0
        if not after:
            self._adopted, self._log_keys = None, {}
        async for chunk in self._store.stream(SYSTEM, after):
            for one in chunk:
                self._note(read(one.record).delta)
        self._seen = head

    def _note(self, event: Event) -> None:
        if isinstance(event, PolicyAdopted) and event.source == ADOPTED:
            self._adopted = event.policy_hash
        elif isinstance(event, KeyChanged) and event.name.startswith(LOG_KEY):
            name = event.name.removeprefix(LOG_KEY).rpartition("+")[0]
            self._log_keys[VerifierKey(name, bytes.fromhex(event.fingerprint))] = None

    async def note_log_key(self, key: VerifierKey) -> None:
        """Say that checkpoints are signed with a key from now on. It is public: the event holds all of it."""
        name = f"{LOG_KEY}{key.name}+{key.key_id.hex()}"
        await self.note_key(name, key.public.hex())

    async def note_issuer(self, name: str, issuer: str) -> None:
        """Say whose signatures let people in, so that every process knows which ids are theirs."""
        await self.note_key(f"{ISSUER}{name}", hashlib.sha256(issuer.encode()).hexdigest())

    async def note_refusal(self, who: Who) -> None:
        session_id, verb, by = who
        await self.record(NoteRefusal(session_id=session_id, tried=verb, by=by), LOCAL_OPERATOR)

    async def make_space(self, space: str, principal: Principal) -> Outcome:
        return await self.record(MakeSpace(space=space), principal)

    async def last_policy(self) -> str:
        """The hash of what came into force last here, adopted or from a file; empty if nothing did."""
        known = await self.state()
        return "" if known is None else known.adopted_policy

    async def adopt_policy(
        self, policy_hash: str, source: PolicySource, principal: Principal, after: str | None = None
    ) -> None:
        """Say it before it is decided by; the same again, after a restart, is no news.

        INVARIANT: with `after`, it is written only if that is still the one that came into force last.
        """
        if source == "file" and await self.last_policy() == policy_hash:
            return
        still = None if after is None else lambda session: session.system.adopted_policy == after
        try:
            await self.record(AdoptPolicy(policy_hash=policy_hash, source=source), principal, still=still)
        except BeliefdError as error:
            if error.code is Code.CONFLICT and after not in (None, await self.last_policy()):
                raise Overtaken from None
            raise

    async def note_policy(self, policy: Policy, origin: Origin, principal: Principal, after: str) -> None:
        """What is decided by on somebody's word is on record; what a program sets for itself is its own."""
        if origin.source in RECORDED:
            await self.adopt_policy(policy_hash(policy), cast(PolicySource, origin.source), principal, after)

    async def note_key(self, name: str, fingerprint: str) -> None:
        """Say which key is used from now on, unless it was used before."""
        known = await self.state()
        if known is not None and known.keys.get(name) == fingerprint:
            return
        try:
            await self.record(ChangeKey(name=name, fingerprint=fingerprint), LOCAL_OPERATOR)
        except BeliefdError as error:
            if error.code is not Code.CONFLICT:  # another server on this store was faster
                raise
