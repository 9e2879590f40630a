"""The write path: load, decide, seal, append, evolve, answer. There is no other.

Calls to one session queue in its lane (lanes.py), which decides them one after the other on the newest state
and appends them at the expected head. If the head has moved (another process was faster) it loads the
difference and decides again. Answers go out only after the commit.
"""

import asyncio
from collections import Counter
from typing import Any

from beliefd.kernel.commands import Command, DeclareSession
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.ledger.chain import LedgerBroken, policy_hash, read
from beliefd.steward.effects.runner import Runner
from beliefd.steward.environment import Environment
from beliefd.steward.facts.finder import NO_ATTACHMENTS, Attachments, Detector, FactFinder
from beliefd.steward.policies import DEFAULT, GIVEN, Origin
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.session_queue import SessionQueues, ledger_broken
from beliefd.steward.write.turn import Outcome, QueuedCommand, refusal
from beliefd.stores.base import Remembered, Store
from beliefd.tools.biscuit import Signer
from beliefd.tools.registry import Registry, default_registry
from beliefd.uncertainty.equivalence.judges import Judges

__all__ = ["Outcome", "Steward", "ledger_broken", "refusal"]


class Steward:
    """INVARIANT: every event in every ledger went through a `Turn`, and `decide` allowed or refused it."""

    def __init__(  # noqa: PLR0913 - one argument a port
        self,
        store: Store,
        policy: Policy | None = None,
        environment: Environment | None = None,
        detector: Detector | None = None,
        registry: Registry | None = None,
        signer: Signer | None = None,
        *,
        runner: Runner | None = None,
        judges: Judges | None = None,
    ) -> None:
        self.store = store
        self.registry = registry or default_registry
        self.signer = signer
        self.judges = judges or Judges()
        self.lookout = FactFinder(store, self.registry, detector)
        self.positions = Positions(store)
        self.environment = environment or Environment()
        self.adopt(policy or Policy(), DEFAULT if policy is None else GIVEN)
        self.stored_policies: set[str] = set()
        self.decided: Counter[tuple[str, str]] = Counter()
        self.retries = 0
        self._lanes = SessionQueues(self)
        self.effects: set[asyncio.Task[Any]] = set()
        self.runner = runner or Runner()
        self.feeds: set[asyncio.Event] = set()
        self.feeds_ended = False

    def adopt(self, policy: Policy, origin: Origin = GIVEN) -> None:
        """Decide under `policy` from the next command on. One assignment each: no command sees half of it."""
        self.policy_origin = origin
        self.policy = policy
        self.policy_hash = policy_hash(policy)

    def submit(
        self,
        session_id: str,
        command: Command,
        principal: Principal,
        *,
        if_match: str | None = None,
        key: str | None = None,
        attachments: Attachments = NO_ATTACHMENTS,
    ) -> "asyncio.Future[Outcome]":
        """Queue a command; calls submitted in order are decided in order."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._lanes.queue(QueuedCommand(session_id, command, principal, if_match, key, attachments, done))
        return done

    async def declare(
        self, command: DeclareSession, principal: Principal, *, key: str | None = None
    ) -> Outcome:
        return await self.submit(self.environment.new_id(), command, principal, key=key)

    def end_feeds(self) -> None:
        """Wake every live feed for the last time: a server that stops must not wait for its listeners."""
        self.feeds_ended = True
        for grown in self.feeds:
            grown.set()

    async def close(self, patience: float | None = None) -> None:
        """Let what was accepted finish, but wait no longer than told for a hanging store; then close it."""
        self.runner.cancel_all()
        try:
            async with asyncio.timeout(patience):
                while self._lanes or self.effects:
                    await self._lanes.empty()
                    if self.effects:
                        await asyncio.wait(self.effects)
        except TimeoutError:
            self._lanes.cancel()
        await self.runner.close()
        await asyncio.to_thread(self.judges.close)
        await self.store.close()

    async def recall(self, used: Remembered) -> Outcome:
        """The answer a remembered request got: a function of its entry and the state after it."""
        position = await self.positions.at(used.session_id, used.seq)
        entries = await self.store.entries(used.session_id, used.seq - 1, 1)
        if position is None or not entries:
            raise LedgerBroken(used.seq, None, "a remembered request points at an event that is not there")
        return Outcome(read(entries[0].record).delta, position.session, position.head, repeated=True)
