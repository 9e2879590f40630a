"""Handlers of the symbolic state: what it is, proposals to change it, tools, memory."""

import hashlib
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.approvals.resting import doubt_about
from beliefd.kernel.errors import invalid
from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import Propose, Remember
from beliefd.kernel.substrate.events import (
    Arbitrated,
    CallStopped,
    CandidateResult,
    OutcomeRecorded,
    Remembered,
)
from beliefd.kernel.substrate.memory import unconfirmed_here
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.modes import mode_at
from beliefd.kernel.substrate.policy_keys import POLICY, policy_keys
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.state import GENESIS_SNAPSHOT, MemoryState, ToolCall
from beliefd.kernel.values import seconds
from beliefd.ledger.envelope import LedgerBroken, read
from beliefd.ledger.replay import Position
from beliefd.protocol.calls import Permit
from beliefd.protocol.substrate import (
    CallRequest,
    CandidateAnswer,
    MemoryAnswer,
    MemoryPage,
    MemoryView,
    ProposalAnswer,
    ProposalRequest,
    StateAnswer,
    ToolList,
    ToolView,
)
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.effects.tools import CallEnd, ToolCalls, call_id_of
from beliefd.steward.environment import Environment
from beliefd.steward.facts.call_facts import Proof, presented
from beliefd.steward.facts.caller_tools import CallerTool, declared_tool
from beliefd.steward.handlers.shared import as_recorded, read_as, view_of
from beliefd.steward.handlers.snapshots import made_by
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.submitting import Submit, submit_for
from beliefd.stores.base import Store
from beliefd.tools.biscuit import Signer
from beliefd.tools.registry import Registry, Tool


class StateHandlers(Struct, frozen=True):
    """The symbolic state, now and at earlier snapshots."""

    store: Store
    positions: Positions
    in_force: PolicyInForce
    environment: Environment

    async def show_state(self, call: Call) -> StateAnswer:
        position = await self.positions.existing(call.session_id)
        policy, policy_hash, origin = self.in_force.policy, self.in_force.hash, self.in_force.origin
        adopted = Adopted(by=origin.adopted_by, at=origin.adopted_at)
        mode = mode_at(position.counted, policy, self.environment.now())
        if (at := call.query["at"]) is not None and at != position.session.substrate.state_snapshot_id:
            position = await self._at_snapshot(position, at)
            policy, policy_hash = await self._policy_at(position)
            # Who had adopted it by then stands in the server's own ledger, and in events that asked for it.
            adopted, mode = Adopted(), position.session.substrate.mode
        held = position.session.substrate
        known = policy_keys(policy, policy_hash, mode, adopted)
        virtual = {f"{POLICY}.{name}": value for name, value in known.items()}
        return view_of(
            StateAnswer,
            held,
            f_sparse={**policy.constraints, **(policy.rules or {}), **virtual, **dict(held.symbolic_state)},
            mode=mode,
            seq=position.head.seq,
            policy_hash=policy_hash,
            derived=dict(held.derived),
            **await made_by(self.store, position.session),
        )

    async def _at_snapshot(self, position: Position, snapshot_id: str) -> Position:
        session = position.session
        if snapshot_id == GENESIS_SNAPSHOT:
            seq: int | None = 1
        elif snapshot_id in session.substrate.snapshots:
            seq = await self.store.seq_of(session.session_id, snapshot_id)
        else:
            raise invalid(f"no snapshot `{snapshot_id[:64]}` in this session", "at")
        past = None if seq is None else await self.positions.at(session.session_id, seq)
        if past is None:
            raise LedgerBroken(seq or 0, snapshot_id, "the event that made this snapshot is not there")
        return past

    async def _policy_at(self, position: Position) -> tuple[Policy, str]:
        """The policy that an event was decided under: its constraints are part of the state that it saw."""
        entries = await self.store.entries(position.session.session_id, position.head.seq - 1, 1)
        name = read(entries[0].record).policy_hash
        document = await self.store.policy(name)
        if document is None or hashlib.sha256(document).hexdigest() != name:
            raise LedgerBroken(position.head.seq, position.head.event_id, f"policy `{name}` is not known")
        return recorded(msgspec.json.decode(document)), name


class ProposalHandlers(Struct, frozen=True):
    """Proposals, and the calls that come of them."""

    submit: Submit
    signer: Signer | None
    registry: Registry
    tools: ToolCalls

    async def propose(self, call: Call) -> ProposalAnswer:
        command, proofs = read_proposal(bind(call.body, call.path), self.signer)
        work = self._carried_out(call, command, proofs)
        if command.execute == "caller":
            return (
                await work
            )  # what is in its session's queue is decided whoever waits, and runs no tool here
        return await self.tools.background.see_through(work)

    async def _carried_out(
        self, call: Call, command: Propose, proofs: tuple[Proof | None, ...]
    ) -> ProposalAnswer:
        outcome, event = await submit_for(call, self.submit, call.session_id, command, Arbitrated, proofs)
        return await answer_proposal(outcome, event, self.tools)

    async def list_tools(self, _: Call) -> ToolList:
        policy = self.tools.in_force.policy
        declared = (declared_tool(name, policy, self.registry) for name in sorted(policy.tools))
        shown: list[Tool | CallerTool] = list(self.registry.all())
        shown += (one for one in declared if one is not None and self.registry.get(one.tool_id) is None)
        return ToolList(
            tools=[
                view_of(ToolView, tool, tier=policy.tool_tier(tool.tool_id, tool.definition.tier))
                for tool in shown
            ]
        )


def read_proposal(body: Any, signer: Signer | None) -> tuple[Propose, tuple[Proof | None, ...]]:
    """A proposal from parsed JSON, and apart from it what proves the tokens in it."""
    asked = convert(as_recorded(body), ProposalRequest)
    candidates: list[Candidate] = []
    proofs: list[Proof | None] = []
    for candidate in asked.candidates:
        if isinstance(candidate, CallRequest):
            capability_id, narrowed, proof = presented(candidate.capability_token, signer)
            proofs.append(proof)
            candidates.append(
                CallCandidate(
                    tool_id=candidate.tool_id,
                    args=candidate.args,
                    capability_id=capability_id,
                    idempotency_key=candidate.idempotency_key or candidate.join_key,
                    narrowed=narrowed,
                    join_key=candidate.join_key or UNSET,
                    upstream=candidate.upstream or UNSET,
                    rationale=candidate.rationale or UNSET,
                )
            )
        else:
            proofs.append(None)
            candidates.append(candidate)
    command = Propose(
        provenance=asked.provenance,
        candidates=tuple(candidates),
        state_snapshot_id=asked.state_snapshot_id,
        execute="caller" if asked.execute == "caller" else UNSET,
        qos=UNSET if asked.qos == "interactive" else asked.qos,
    )
    return command, tuple(proofs)


async def answer_proposal(outcome: Outcome, event: Arbitrated, tools: ToolCalls) -> ProposalAnswer:
    """Run the calls that were allowed, and say what came of each candidate."""
    recorded = await tools.run_scheduled_calls(outcome, event.results)
    return view_of(
        ProposalAnswer,
        outcome.session.substrate,
        results=[candidate_answer(*told, outcome) for told in zip(event.results, recorded, strict=True)],
        audit_event_id=outcome.head.event_id,
    )


def candidate_answer(result: CandidateResult, ended: CallEnd | None, outcome: Outcome) -> CandidateAnswer:
    """A verdict in the words of the protocol, with what is recorded of its call.

    For a call that was stopped before it began, that is the verdict.
    """
    call_id, begun = call_id_of(result), result.call or result.started
    if isinstance(ended, CallStopped):
        result = ended.result
    elif begun and begun.status == "running" and outcome.repeated:
        # INVARIANT: a permit is given once. Who asks again under the same key hears that it was.
        result = replace(result, reason_code="REPEATED")
    recorded = ended if isinstance(ended, OutcomeRecorded) else None
    session = outcome.session
    waits = result.waits or (None if result.approval is None else result.approval.approval_id)
    return view_of(
        CandidateAnswer,
        result,
        reasons=list(result.reasons),
        result=None if recorded is None else recorded.result,
        status=None if call_id is None else _status(session, call_id, ended),
        error="" if recorded is None else recorded.error,
        call_id=call_id,
        result_hash=None if recorded is None else recorded.call.result_hash,
        approval_id=waits,
        content_hash=None if waits is None else session.approvals.by_id[waits].content_hash,
        permit=permit_of(begun) if begun and not outcome.repeated else None,
        approval_url=None if waits is None else f"/v1/approvals/{waits}",
    )


def _status(session: Session, call_id: str, ended: CallEnd | None) -> str:
    if ended is not None:
        return ended.call.status
    call = session.substrate.calls[call_id]
    return call.status if call.is_run_by_caller else "scheduled"


def permit_of(call: ToolCall) -> Permit | None:
    """The permit that a call is while it is running; None if nobody is to run it elsewhere."""
    if not call.is_run_by_caller or call.status != "running":
        return None
    return view_of(Permit, call, expires_at=call.deadline)


class MemoryHandlers(Struct, frozen=True):
    """Entries leave the view when they expire, never the ledger."""

    positions: Positions
    submit: Submit
    environment: Environment

    async def remember(self, call: Call) -> MemoryAnswer:
        command = Remember(entry=await read_as(call, MemoryEntry))
        outcome, _ = await submit_for(call, self.submit, call.session_id, command, Remembered)
        view = _memory(outcome.session, command.entry.memory_id, self.environment.now())
        return MemoryAnswer(memory=view, audit_event_id=outcome.head.event_id)

    async def list_memory(self, call: Call) -> MemoryPage:
        """What has not expired; entries leave the view, never the ledger."""
        position = await self.positions.existing(call.session_id)
        session, now = position.counted, self.environment.now()
        views = [_memory(session, name, now) for name in sorted(session.substrate.memory)]
        live = [view for view in views if view.expires_at is None or seconds(view.expires_at) > seconds(now)]
        if call.query["show"] == "review":
            live = [view for view in live if view.review_due]
        return MemoryPage(entries=live)


def _memory(session: Session, memory_id: str, now: str) -> MemoryView:
    state: MemoryState = session.substrate.memory[memory_id]
    review_at = state.entry.review_at
    is_over = review_at is not None and seconds(review_at) <= seconds(now)
    ended = doubt_about(session, state.witness)
    doubt = unconfirmed_here(session, state) if ended is None else ended.text
    due = is_over or state.entry.conflict_state != "none" or doubt != ""
    return view_of(MemoryView, state, review_due=due, doubt=doubt)
