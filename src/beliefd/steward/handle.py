"""The write path: load, decide, seal, append, evolve, answer. There is no other.

Calls to one session queue in its lane (lanes.py), which decides them one after the other on the newest state
and appends them at the expected head. If the head has moved (another process was faster) it loads the
difference and decides again. Answers go out only after the commit.
"""

import asyncio
from collections import Counter
from typing import Any

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.commands import Command
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.envelope import LedgerBroken, read
from beliefd.steward.lanes import Lanes, ledger_broken
from beliefd.steward.lookout import NOTHING_ASIDE, Aside, Detector, Lookout
from beliefd.steward.outside import Outside
from beliefd.steward.policies import DEFAULT, GIVEN, Origin
from beliefd.steward.positions import Positions
from beliefd.steward.runner import Runner
from beliefd.steward.turn import Outcome, Waiting, refusal
from beliefd.stores.base import Store, UsedKey
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
        outside: Outside | None = None,
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
        self.lookout = Lookout(store, self.registry, detector)
        self.positions = Positions(store)
        self.outside = outside or Outside()
        self.adopt(policy or Policy(), DEFAULT if policy is None else GIVEN)
        self.stored_policies: set[str] = set()
        self.decided: Counter[tuple[str, str]] = Counter()
        self.retries = 0
        self._lanes = Lanes(self)
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
        aside: Aside = NOTHING_ASIDE,
    ) -> "asyncio.Future[Outcome]":
        """Queue a command; calls submitted in order are decided in order."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._lanes.queue(Waiting(session_id, command, principal, if_match, key, aside, done))
        return done

    async def declare(
        self, command: DeclareSession, principal: Principal, *, key: str | None = None
    ) -> Outcome:
        return await self.submit(self.outside.new_id(), command, principal, key=key)

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

    async def recall(self, used: UsedKey) -> Outcome:
        """The answer a remembered request got: a function of its entry and the state after it."""
        position = await self.positions.at(used.session_id, used.seq)
        entries = await self.store.entries(used.session_id, used.seq - 1, 1)
        if position is None or not entries:
            raise LedgerBroken(used.seq, None, "a remembered request points at an event that is not there")
        return Outcome(read(entries[0].record).delta, position.session, position.head, repeated=True)
