"""The handler that says why something is decided as it is. It writes nothing."""

import hashlib
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.errors import invalid
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.events import Arbitrated
from beliefd.kernel.substrate.explaining import ANYTHING
from beliefd.kernel.substrate.proposals import CallCandidate, DeltaCandidate
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.state import NORMAL_MODE
from beliefd.kernel.substrate.tools import ProposalFindings
from beliefd.kernel.system.events import PolicyAdopted
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Principal, shown
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.envelope import Entry, LedgerBroken, command_of, read
from beliefd.ledger.replay import facts_of
from beliefd.policy.compiling import compiled
from beliefd.policy.explaining.answering import explained, under
from beliefd.policy.explaining.trials import Trial, call_trial, delta_trial, proposed, session_trial, somebody
from beliefd.protocol.explaining import (
    Deciding,
    ExplainPolicy,
    PolicyExplanation,
    Reading,
    Under,
    Which,
    Writing,
)
from beliefd.protocol.wire import convert, parse
from beliefd.steward.call import Call
from beliefd.steward.entries import entry_of
from beliefd.steward.environment import Environment
from beliefd.steward.facts.attachments import NO_ATTACHMENTS
from beliefd.steward.facts.finder import FactFinder
from beliefd.steward.handlers.snapshots import proposal_behind
from beliefd.steward.offload import HEAVY_BYTES, in_pool, offload
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.stores.base import Store

OTHERS_SCOPE: Final = "capability and the paths of its scope"
Making = Callable[[Policy], Awaitable[Trial]]
"""The same thing to judge, under any policy."""


class _Asked(Struct, frozen=True):
    """What is to be judged: how to judge it under a policy, and under which it is. `session` is where its
    keys were written, `event_id` the decision that it is."""

    making: Making
    policy: Policy
    session: Session | None = None
    event_id: str | None = None


class ExplainHandlers(Struct, frozen=True):
    """Why something is decided as it is."""

    store: Store
    positions: Positions
    in_force: PolicyInForce
    finder: FactFinder
    environment: Environment

    async def explain_policy(self, call: Call) -> PolicyExplanation:
        asked = await offload(call.size > HEAVY_BYTES, convert, call.body, ExplainPolicy, kind="parse")
        for given in (asked.policy, asked.against):
            if given is not UNSET:
                await in_pool("question", compiled, given)
        about = await self._about(asked)
        trial = await about.making(about.policy)
        others, missing = await self._others(asked, about)
        if missing:
            trial = replace(trial, left_out=(*trial.left_out, *missing))
        answer = await in_pool("question", _explained, trial, others, about.event_id)
        return answer if about.session is None else await self._with_writings(answer, about.session)

    async def _about(self, asked: ExplainPolicy) -> _Asked:
        policy = asked.policy or self.in_force.policy
        if asked.session_id is UNSET:
            return _Asked(self._on_given(asked), policy)
        if asked.event_id is not UNSET:
            return await self._on_record(asked, asked.session_id, asked.event_id)
        position = await self.positions.as_of(asked.session_id, asked.at or None)
        return _Asked(self._in_session(asked, position.session), policy, position.session)

    def _on_given(self, asked: ExplainPolicy) -> Making:
        now, state = self.environment.now(), asked.state or {}

        async def made(policy: Policy) -> Trial:
            if asked.delta is not UNSET:
                mode = asked.mode or NORMAL_MODE
                return await _beside(delta_trial, policy, state, asked.delta, _principal(asked), now, mode)
            assert asked.call is not UNSET  # noqa: S101 - one of them is given
            return await _beside(call_trial, policy, state, asked.call, None, now)

        return made

    def _in_session(self, asked: ExplainPolicy, session: Session) -> Making:
        now, event_id = self.environment.now(), self.environment.new_id()

        async def made(policy: Policy) -> Trial:
            who = _principal(asked)
            if asked.delta is not UNSET:
                command = proposed(DeltaCandidate(patch=asked.delta), who.role)
                facts = Facts(
                    now=now,
                    event_id=event_id,
                    principal=who,
                    policy=policy,
                    policy_hash=policy_hash(policy),
                    findings=await self._found(session, command, who, policy),
                )
                return await _beside(session_trial, session, command, facts)
            assert asked.call is not UNSET  # noqa: S101 - one of them is given
            command = proposed(_candidate(asked.call, event_id), who.role)
            found = await self._found(session, command, who, policy)
            command = _by_its_runner(command, found)
            facts = Facts(
                now=asked.call.now or now,
                event_id=event_id,
                principal=who,
                policy=policy,
                policy_hash=policy_hash(policy),
                findings=_under_anything(found, asked.call),
            )
            refind = await self.finder.refinding(session, command.candidates[0], policy)
            able, named = _able(session, who), _naming_capability(command)
            return await _beside(session_trial, able, named, facts, 0, (OTHERS_SCOPE,), refind)

        return made

    async def _found(
        self, session: Session, command: Propose, who: Principal, policy: Policy
    ) -> ProposalFindings:
        found = await self.finder.findings(session, command, who, policy, 0, NO_ATTACHMENTS)
        assert isinstance(found, ProposalFindings)  # noqa: S101 - these are a proposal's
        return found

    async def _on_record(self, asked: ExplainPolicy, session_id: str, event_id: str) -> _Asked:
        entry, before = await self._recorded(session_id, event_id)
        command, index = command_of(entry), asked.candidate
        if not isinstance(command, Propose) or not isinstance(entry.delta, Arbitrated):
            raise invalid(f"event `{shown(event_id)}` is no decision about a proposal", "$.event_id")
        if index >= len(command.candidates):
            raise invalid(f"the proposal has {len(command.candidates)} candidates", "$.candidate")

        async def made(policy: Policy) -> Trial:
            facts = replace(facts_of(entry, policy), policy_hash=policy_hash(policy))
            refind = await self.finder.refinding(before, command.candidates[index], policy)
            return await _beside(session_trial, before, command, facts, index, (), refind)

        policy = asked.policy or await self._document(entry)
        return _Asked(made, policy, before, event_id)

    async def _recorded(self, session_id: str, event_id: str) -> tuple[Entry, Session]:
        """An event, and the session that it found."""
        await self.positions.existing(session_id)
        seq = await self.store.seq_of(session_id, event_id)
        if seq is None:
            raise invalid(f"no event `{shown(event_id)}` in this session", "$.event_id")
        entry = read((await self.store.entries(session_id, seq - 1, 1))[0].record)
        before = None if seq == 1 else await self.positions.at(session_id, seq - 1)
        if before is None:
            raise invalid(f"event `{shown(event_id)}` is no decision about a proposal", "$.event_id")
        return entry, before.session

    async def _document(self, entry: Entry) -> Policy:
        document = await self.store.policy(entry.policy_hash)
        if document is None or hashlib.sha256(document).hexdigest() != entry.policy_hash:
            raise LedgerBroken(entry.seq, entry.event_id, f"policy `{entry.policy_hash}` is not known")
        return recorded(msgspec.json.decode(document))

    async def _others(self, asked: ExplainPolicy, about: _Asked) -> tuple[list["_Other"], list[str]]:
        """The same under the policy in force, the one before and the one given; what is not kept is named."""
        decided, now = policy_hash(about.policy), self.in_force
        found: list[_Other] = []
        if decided != now.hash:
            found.append(_Other("in_force", await about.making(now.policy)))
        before, missing = await self._before(decided)
        if before is not None:
            which, policy, adopted = before
            found.append(_Other(which, await about.making(policy), adopted))
        if asked.against is not UNSET:
            found.append(_Other("against", await about.making(asked.against)))
        return found, missing

    async def _before(self, decided: str) -> tuple[tuple[Which, Policy, dict[str, str]] | None, list[str]]:
        """The policy that was adopted before this one, as the server's own ledger says."""
        own = self.in_force.origin.adopted if decided == self.in_force.hash else None
        names = {decided, own or decided}
        earlier: tuple[str, Entry] | None = None
        last: tuple[str, Entry] | None = None
        known = False
        async for chunk in self.store.stream(SYSTEM):
            for entry in (read(one.record) for one in chunk):
                if not isinstance(entry.delta, PolicyAdopted):
                    continue
                if entry.delta.policy_hash in names:
                    known, earlier = True, last
                else:
                    last = (entry.delta.policy_hash, entry)
        if not known:
            return None, []
        if earlier is None:
            return ("defaults", Policy(), {}), []
        name, entry = earlier
        if (policy := await self._kept(name)) is None:
            return None, [f"the policy before, `{name}`, which is not kept"]
        return ("before", policy, {"adopted_at": entry.ts, "adopted_by": entry.actor.id}), []

    async def _kept(self, name: str) -> Policy | None:
        adoption = await self.store.adopted(name)
        document = await self.store.policy(name) if adoption is None else adoption.document
        if document is None or hashlib.sha256(document).hexdigest() != name:
            return None
        return await in_pool("question", _read, document)

    async def _with_writings(self, answer: PolicyExplanation, session: Session) -> PolicyExplanation:
        """The answer with who wrote each key that was read."""
        keys = {one.key for item in answer.deciding for one in item.reads if one.key is not UNSET}
        written = {key: await self._writing(session, key) for key in sorted(keys)}
        return replace(answer, deciding=[_told(item, written) for item in answer.deciding])

    async def _writing(self, session: Session, key: str) -> Writing | None:
        held = session.substrate
        version = held.written.get(key)
        if version is None:
            return None
        made = sorted((number, event_id) for event_id, number in held.snapshots.items())
        at = bisect_left(made, (version, ""))
        if at == len(made):
            return None
        entry = await entry_of(self.store, session.session_id, made[at][1])
        by = (await proposal_behind(self.store, entry)).actor
        return Writing(event_id=entry.event_id, seq=entry.seq, at=entry.ts, by=by.id, role=by.role)


async def _beside(make: Callable[..., Trial], *given: Any) -> Trial:
    """Made beside the event loop: policies are compiled for it, and what they derive is derived."""
    return await in_pool("question", make, *given)


def _read(document: bytes) -> Policy:
    return convert(parse(document), Policy)


class _Other(Struct, frozen=True):
    which: Which
    trial: Trial
    adopted: dict[str, str] = {}


def _explained(trial: Trial, others: Iterable[_Other], event_id: str | None) -> PolicyExplanation:
    told: list[Under] = [under(one.which, one.trial, **one.adopted) for one in others]
    return explained(trial, told, event_id)


def _principal(asked: ExplainPolicy) -> Principal:
    if asked.call is UNSET:
        return somebody(asked.role, asked.tier, asked.agent_id)
    named = asked.call.agent_id or ANYTHING.agent_id
    return Principal(id=named, role=asked.call.role, tier=asked.call.tier)


def _candidate(question: Question, unique: str) -> CallCandidate:
    return CallCandidate(tool_id=question.tool_id, args=question.args, idempotency_key=f"explained-{unique}")


def _by_its_runner(command: Propose, found: ProposalFindings) -> Propose:
    """A what-if is about the call, and not about who would run it: that is whoever its tool says."""
    finding = next(iter(found.calls), None)
    definition = None if finding is None else finding.definition
    by_caller = definition is not None and definition.is_run_by_caller
    return replace(command, execute="caller") if by_caller else command


def _naming_capability(command: Propose) -> Propose:
    call = command.candidates[0]
    assert isinstance(call, CallCandidate)  # noqa: S101 - made so
    return replace(command, candidates=(replace(call, capability_id=ANYTHING.capability_id),))


def _able(session: Session, who: Principal) -> Session:
    """The session with a capability for everything: whether there is one is not the question."""
    held = session.substrate
    anything = replace(ANYTHING, agent_id=who.id)
    capabilities = held.capabilities.insert(anything.capability_id, anything)
    return replace(session, substrate=replace(held, capabilities=capabilities))


def _under_anything(found: ProposalFindings, question: Question) -> ProposalFindings:
    finding = found.calls[0]
    assert finding is not None  # noqa: S101 - it is a call
    changed = replace(
        finding,
        capability_id=ANYTHING.capability_id,
        token_problem=None,
        files=(),
        givers=UNSET,
        origin=question.facts or finding.origin,
    )
    return replace(found, calls=(changed,))


def _told(deciding: Deciding, written: dict[str, Writing | None]) -> Deciding:
    reads = (_told_reading(one, written) for one in deciding.reads)
    return replace(deciding, reads=tuple(reads))


def _told_reading(one: Reading, written: dict[str, Writing | None]) -> Reading:
    writing = None if one.key is UNSET else written.get(one.key)
    return one if writing is None else replace(one, written=writing)
