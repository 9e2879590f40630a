"""One pass over the calls that wait for a session: decided one after the other, then written together."""

from collections.abc import Awaitable
from functools import cached_property
from typing import Final

import msgspec

from beliefd import tracing
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.commands import Command, verb_of
from beliefd.kernel.decide import decide, is_sealed_against
from beliefd.kernel.doors import speculation_in
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.event import Refused
from beliefd.kernel.events import kind_of
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts, Findings
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session, has_ended
from beliefd.kernel.transfers.commands import ReceiveLedger
from beliefd.kernel.transfers.folds import as_it_counts
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import DEFAULT_SPACE, Principal, Role, Tier
from beliefd.ledger.chain import seal
from beliefd.ledger.envelope import Sealed, head_of
from beliefd.ledger.replay import Position
from beliefd.ledger.state_hash import STATE_HASH_EVERY, state_hash_due
from beliefd.ledger.withheld import said_in_withheld
from beliefd.steward.facts.finder import is_examined
from beliefd.steward.facts.in_force import with_in_force
from beliefd.steward.facts.resting import content_looked_at
from beliefd.steward.offload import HEAVY_BYTES, in_pool
from beliefd.steward.projections import TOUCHED_BY
from beliefd.steward.write.first_answers import FirstAnswers
from beliefd.steward.write.fullness import Room
from beliefd.steward.write.ports import Ports
from beliefd.steward.write.positions import pack, session_not_found
from beliefd.steward.write.queued import (
    ANY_HEAD,
    Outcome,
    QueuedCommand,
)
from beliefd.steward.write.refusals import tell_refused
from beliefd.steward.write.room import on_account_of, refuse_too_large
from beliefd.steward.write.withholding import (
    Withheld,
    may_withhold,
    withheld,
)
from beliefd.stores.base import Append, SavedState
from beliefd.stores.projections import TOKENS, Row

TRANSFERS: Final = Principal(id="steward://transfers", role=Role.TOOL, tier=Tier.READ_ONLY.name)
"""Who writes into a ledger from elsewhere that it is from there."""
TURNED_AWAY: Final = (BeliefdError, NotCanonical, UnicodeEncodeError)
"""What is one caller's own error: the others of the turn go on."""


class Turn:
    """Everything is worked out here, then written at once."""

    def __init__(self, ports: Ports, session_id: str, position: Position | None) -> None:
        self._ports = ports
        self._session_id = session_id
        self._expected = None if position is None else position.head
        self.session = None if position is None else position.session
        self.head = self._expected
        self._due = None if position is None else position.due
        self.entries: list[Sealed] = []
        self._outcomes: list[tuple[QueuedCommand, Outcome | BeliefdError]] = []
        self._verdicts: list[tuple[str, str]] = []
        self._now = ""
        self._saved_state: SavedState | None = None
        self._projected: dict[str, dict[tuple[str, ...], Row]] = {}
        self._rests_on: set[str] = set()
        self._space, self._declared_by = DEFAULT_SPACE, ""
        # Another policy may come into force while a turn waits for a detector or for the disk.
        self.policies: dict[str, Policy] = {}
        self._first_answers = FirstAnswers(
            ports.store, ports.positions, session_id, self.entries, self.policies
        )

    @cached_property
    def _room(self) -> Room:
        """Whoever can be decided without waiting is never weighed."""
        return Room(self._session_id, self._ports.positions, self._ports.limit)

    async def take(self, call: QueuedCommand) -> None:
        """Find out what the call needs to be decided with, and decide it."""
        if not self.admits(call):
            return
        try:
            outcome = await self._first_answers.of(call)
            if outcome is None:
                seq = 0 if self._expected is None else self._expected.seq
                await self._room.refuse_if_full(self.session, call.command, call.principal, seq, self.entries)
            findings = await self._findings(call) if outcome is None else None
            if outcome is None:
                await self._withhold(call)
        except TURNED_AWAY as error:
            answer = _as_answer(error)
            if (reason := str((answer.details or {}).get("reason"))) in self._ports.counts.limited:
                self._ports.counts.limited[reason] += 1
            self._outcomes.append((call, answer))
            return
        if outcome is not None:
            self._outcomes.append((call, outcome))
        elif not self.admits(call):
            return  # what was found out took its time
        elif call.is_heavy or self._saves_much:
            await in_pool("decide", self.take_now, call, findings)
        else:
            self.take_now(call, findings)

    def admits(self, call: QueuedCommand) -> bool:
        """INVARIANT: what waits for its turn is decided for whom may still ask for it when it has it."""
        if call.attachments.judged is not None:
            try:
                call.attachments.judged()
            except BeliefdError as error:
                self._outcomes.append((call, error))
                return False
        return True

    def take_now(self, call: QueuedCommand, findings: Findings | None = None) -> None:
        if call.trace is None:
            self._outcomes.append((call, self._judged(call, findings)))
            return
        from beliefd.steward.write.spans import tell_calls

        said = {"beliefd.verb": verb_of(call.command), "beliefd.session.id": self._session_id}
        with tracing.under(call.trace, "decide", said) as span:
            outcome = self._judged(call, findings)
            if isinstance(outcome, BeliefdError):
                span.fail(outcome.code)
            else:
                span.set(beliefd__event=kind_of(outcome.event), beliefd__seq=outcome.head.seq)
                tell_calls(call.command, outcome.event, call.principal.id)
        self._outcomes.append((call, outcome))

    def _judged(self, call: QueuedCommand, findings: Findings | None) -> Outcome | BeliefdError:
        try:
            return self._decide(call, findings)
        except TURNED_AWAY as error:
            return _as_answer(error)

    @property
    def _saves_much(self) -> bool:
        """May the state be saved with the next event, and is it long?"""
        size = self._ports.positions.sizes.of(self._session_id)
        seq = 1 if self.head is None else self.head.seq + 1
        return size is not None and size.bytes > HEAVY_BYTES and seq % STATE_HASH_EVERY == 0

    async def _findings(self, call: QueuedCommand) -> Findings | None:
        finder, policy, command = self._ports.finder, self._ports.in_force.policy, call.command
        if not is_examined(command):
            return None
        if call.recent is None:  # a call that is decided again has still been made once
            call.recent = finder.submissions.count(command, call.principal, policy)
        # What is due counts already: nothing is looked up for what was said elsewhere.
        session = self.session if self.session is None else as_it_counts(self.session, self._due)
        found = await finder.findings(
            session,
            command,
            call.principal,
            policy,
            call.recent,
            call.attachments,
            self.entries,
        )
        # INVARIANT: content that was looked at is still there when what rests on it is written. If it was
        # removed meanwhile, it is looked for again.
        self._rests_on.update(content_looked_at(command, found))
        return found

    async def _withhold(self, call: QueuedCommand) -> None:
        """INVARIANT: it is withheld by the policy that it is decided under, and once per call."""
        # What will not be recorded is not kept either: there would be no event to erase it by.
        self._check_head(call)
        if self.session is not None and is_sealed_against(self.session, call.command):
            return
        ports, fresh = self._ports, False
        while may_withhold(policy := ports.in_force.policy, call.command):
            told = call.withheld
            if told is not None and told.policy is policy and (fresh or await self._are_kept(told)):
                self._rests_on.update(part.digest for part in told.parts)
                return
            store, environment, who = ports.store, ports.environment, call.principal
            call.withheld = await withheld(
                store, environment, policy, self._session_id, call.command, call.notes, who
            )
            fresh = True
        call.withheld = None

    async def _are_kept(self, told: Withheld) -> bool:
        """Nothing cites parts before they are written: whoever collects then may have removed them."""
        digests = {part.digest for part in told.parts}
        return not digests or await self._ports.store.kept_content(digests) == digests

    def _decide(self, call: QueuedCommand, findings: Findings | None) -> Outcome:
        command, before = call.command, self.session
        if before is None and not isinstance(command, DeclareSession):
            raise session_not_found(self._session_id)
        self._check_head(call)
        refuse_too_large(command, self._ports.in_force.policy, call.attachments.size)
        if (still := call.attachments.still) is not None and before is not None and not still(before):
            raise BeliefdError(Code.CONFLICT, "it has been dealt with meanwhile")
        if before is not None and self._due is not None:
            before = self._receive_ledger(before, self._due)
        outcome = self._decided(before, command, call.principal, findings, call.notes, call.withheld)
        if call.attachments.token is not None and not isinstance(outcome.event, Refused):
            # INVARIANT: there is no token without its event, and no event without its token.
            row = call.attachments.token
            self._projected.setdefault(TOKENS, {})[row.key] = row
        self._first_answers.remember(call, outcome)
        return outcome

    def _receive_ledger(self, before: Session, due: Foreign) -> Session:
        """INVARIANT: before anything is decided in a ledger from elsewhere, it says that it is from there."""
        self._due = None
        return self._decided(before, ReceiveLedger(foreign=due), TRANSFERS).session

    def _decided(
        self,
        before: Session | None,
        command: Command,
        principal: Principal,
        findings: Findings | None = None,
        notes: str | None = None,
        told: Withheld | None = None,
    ) -> Outcome:
        environment, in_force = self._ports.environment, self._ports.in_force
        self._now = environment.now()
        facts = Facts(
            now=self._now,
            event_id=environment.new_id(),
            principal=principal,
            policy=in_force.policy,
            policy_hash=in_force.hash,
            findings=with_in_force(findings, in_force),
            notes=notes if told is None else told.notes,
        )
        self.policies[facts.policy_hash] = facts.policy
        said, command = command, command if told is None else told.command
        event = decide(before, command, facts)
        if told is not None and told.parts and not isinstance(event, Refused):
            # INVARIANT: the door reads what was said, wherever that stands.
            stopped = speculation_in(said, notes)
            event = event if stopped is None else said_in_withheld(stopped)
        if isinstance(event, Refused) and event.code is Code.RATE_LIMITED:
            self._ports.counts.limited[event.details["reason"]] += 1
        if isinstance(event, Refused) and (before is None or event.code is Code.SESSION_SEALED):
            # A session that was not opened has no ledger to record it in, and a sealed one takes no more.
            raise BeliefdError(event.code, event.message, event.details)
        if before is None:
            assert isinstance(command, DeclareSession)  # noqa: S101 - checked above
            after = begin(self._session_id, command)
            self._space, self._declared_by = command.space or DEFAULT_SPACE, facts.principal.id
        else:
            after = evolve(before, event)
        sealed = seal(before, command, event, after, self.head, facts)
        self.session, self.head = after, head_of(sealed)
        self.entries.append(sealed)
        if state_hash_due(after, sealed.seq):
            self._saved_state = pack(after, sealed.seq)
        for projection in TOUCHED_BY.get(type(event), ()):
            rows = self._projected.setdefault(projection.name, {})
            rows.update((row.key, row) for row in projection.rows(event, after))
        self._verdicts.append((verb_of(command), kind_of(event)))
        return Outcome(event, after, self.head)

    def _check_head(self, call: QueuedCommand) -> None:
        if call.if_match in ANY_HEAD:
            return
        head_id = None if self.head is None else self.head.event_id
        if call.if_match != head_id:
            raise BeliefdError(
                Code.CONFLICT,
                f"If-Match names `{call.if_match}`, but the head is `{head_id}`; read again and decide again",
                {"path": "If-Match", "head": head_id},
            )

    @property
    def position(self) -> Position | None:
        """Where the session stands once this is written."""
        if self.session is None or self.head is None:
            return None
        return Position(self.session, self.head, self._due)

    def write(self) -> Awaitable[None]:
        """INVARIANT: what is appended was decided here, on the head that the append expects."""
        work = self._ports.store.append(self._batch())
        parents = [call.trace for call, _ in self._outcomes if call.trace is not None]
        if not parents:
            return work
        said: tracing.Attributes = {
            "beliefd.session.id": self._session_id,
            "beliefd.events": len(self.entries),
        }
        return tracing.awaited(work, parents, "commit", said)

    def _batch(self) -> Append:
        return Append(
            session_id=self._session_id,
            expected=self._expected,
            entries=self.entries,
            created_at=self._now,
            policies=[
                (name, canonical(msgspec.to_builtins(policy)))
                for name, policy in self.policies.items()
                if name not in self._ports.stored_policies
            ],
            used_keys=self._first_answers.used_keys,
            saved_state=self._saved_state,
            projected={name: rows.values() for name, rows in self._projected.items() if rows},
            rests_on=self._rests_on,
            space=self._space,
            declared_by=self._declared_by,
            ends=self.session is not None and has_ended(self.session),
        )

    def _growth(self, sizes: dict[int, int]) -> tuple[int, int | None]:
        """How many bytes of records were added, and the size of the state that they were added to, if it was
        saved on the way."""
        saved = self._saved_state
        if saved is None:
            return sum(sizes.values()), None
        return sum(size for seq, size in sizes.items() if seq > saved.seq), len(saved.state)

    def answer(self) -> None:
        """Remember where the session stands now, and tell every caller what became of its call."""
        ports = self._ports
        sizes = {entry.seq: len(entry.record) for entry in self.entries}
        if sizes and (position := self.position) is not None:
            ports.positions.chains.grown(self._session_id, self.entries)
            ports.positions.keep(position, *self._growth(sizes))
            ports.stored_policies.update(self.policies)
        decided = ports.counts.decided
        for verdict in self._verdicts:
            decided[verdict] += 1
        tell_refused(self._session_id, self._outcomes)
        for call, outcome in self._outcomes:
            if not isinstance(outcome, BeliefdError) and not outcome.repeated:
                payer = on_account_of(call.principal, outcome.event)
                ports.written.add(payer, sizes[outcome.head.seq], ports.in_force.policy)
            if call.done.done():
                continue
            if not isinstance(outcome, BeliefdError):
                call.done.set_result(outcome)
            elif outcome.code is Code.SESSION_SEALED:
                who = (call.session_id, verb_of(call.command), call.principal.id)
                ports.sealed.refuse(who, call.done, outcome)
            else:
                call.done.set_exception(outcome)


def _as_answer(error: Exception) -> BeliefdError:
    if isinstance(error, BeliefdError):
        # Where it was raised leads back to the turn that keeps it, and so to all that was asked: such a cycle
        # held large commands until somebody looked for cycles.
        error.__context__ = None
        return error.with_traceback(None)
    if isinstance(error, NotCanonical):
        return invalid(error.message, error.path.replace("$.payload", "$", 1))
    return invalid("lone surrogates are not text", "$")
