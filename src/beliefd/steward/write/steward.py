"""The write path: load, decide, seal, append, evolve, answer. There is no other.

Commands to one session wait in its queue, which decides them one after the other on the newest state and
appends them at the expected head. If the head has moved (another process was faster) it loads the difference
and decides again. Answers go out only after the commit.
"""

import asyncio
from collections import Counter

from beliefd import tracing
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.commands import Command
from beliefd.kernel.substrate.commands import RecordOutcome
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Principal
from beliefd.steward.buckets import Buckets
from beliefd.steward.environment import Environment
from beliefd.steward.facts.attachments import NO_ATTACHMENTS, Attachments
from beliefd.steward.facts.finder import FactFinder
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.ports import Ports
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Counts, Outcome, QueuedCommand
from beliefd.steward.write.room import LEDGER, Written
from beliefd.steward.write.sealed import SealedRefusals
from beliefd.steward.write.session_queue import SessionQueues
from beliefd.stores.base import Store


class Steward:
    """INVARIANT: every event in every ledger went through a `Turn`, and `decide` allowed or refused it."""

    def __init__(
        self,
        store: Store,
        positions: Positions,
        in_force: PolicyInForce,
        finder: FactFinder,
        environment: Environment,
        buckets: Buckets,
    ) -> None:
        self.store = store
        self.positions = positions
        self.in_force = in_force
        self.finder = finder
        self.environment = environment
        self.counts = Counts(Counter())
        self.sealed = SealedRefusals()
        self._written = Written(buckets)
        self.queues = SessionQueues(
            Ports(
                *(store, positions, in_force, finder, environment, self.counts, set(), self.sealed),
                self._written,
            )
        )

    def submit(
        self,
        session_id: str,
        command: Command,
        principal: Principal,
        *,
        if_match: str | None = None,
        key: str | None = None,
        notes: str | None = None,
        attachments: Attachments = NO_ATTACHMENTS,
    ) -> "asyncio.Future[Outcome]":
        """Queue a command; commands submitted in order are decided in order."""
        done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        problem = self._written.problem(principal, self.in_force.policy)
        # Operators revoke and adopt whenever they have to, and of what ran no outcome is lost.
        if problem is not None and session_id != SYSTEM and not isinstance(command, RecordOutcome):
            self.counts.limited[LEDGER] += 1
            done.set_exception(problem)
            return done
        belongs = tracing.current()
        self.queues.add(
            QueuedCommand(
                session_id, command, principal, if_match, key, notes, attachments, done, trace=belongs
            )
        )
        return done

    async def declare(
        self,
        command: DeclareSession,
        principal: Principal,
        *,
        key: str | None = None,
        notes: str | None = None,
        attachments: Attachments = NO_ATTACHMENTS,
    ) -> Outcome:
        await self.finder.refuse_more_sessions(principal, self.in_force.policy)
        session_id = self.environment.new_id()
        return await self.submit(
            session_id, command, principal, key=key, notes=notes, attachments=attachments
        )
