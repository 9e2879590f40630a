"""Handlers of the symbolic state: what it is, what is proposed to it, and the tools that may be called."""

import msgspec

from beliefd.kernel.errors import invalid
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import GENESIS_SNAPSHOT
from beliefd.kernel.substrate.events import (
    Arbitrated,
    CandidateResult,
    OutcomeRecorded,
)
from beliefd.kernel.substrate.proposals import (
    CallCandidate,
    Candidate,
    Propose,
)
from beliefd.ledger.chain import LedgerBroken, read
from beliefd.ledger.replay import Position
from beliefd.protocol import substrate_answers as answers
from beliefd.protocol.substrate_operations import CallRequest, ProposalRequest
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.effects.tools import ToolCalls, call_id_of
from beliefd.steward.facts.call_facts import Proof, presented
from beliefd.steward.facts.finder import Attachments
from beliefd.steward.handlers.shared import as_recorded
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for
from beliefd.stores.base import Store
from beliefd.tools.biscuit import Signer
from beliefd.tools.registry import Registry


class StateHandlers:
    """The symbolic state, now and at earlier snapshots."""

    def __init__(self, store: Store, positions: Positions, in_force: PolicyInForce) -> None:
        self._store = store
        self._positions = positions
        self._in_force = in_force

    async def show_state(self, call: Call) -> answers.StateAnswer:
        position = await self._positions.existing(call.session_id)
        policy, policy_hash = self._in_force.policy, self._in_force.hash
        if (at := call.query["at"]) is not None and at != position.session.state_snapshot_id:
            position = await self._at_snapshot(position, at)
            policy, policy_hash = await self._policy_at(position)
        session = position.session
        return answers.StateAnswer(
            state_snapshot_id=session.state_snapshot_id,
            state_version=session.state_version,
            f_sparse={**policy.constraints, **dict(session.sparse)},
            mode=session.mode,
            seq=position.head.seq,
            policy_hash=policy_hash,
        )

    async def _at_snapshot(self, position: Position, snapshot_id: str) -> Position:
        session = position.session
        if snapshot_id == GENESIS_SNAPSHOT:
            seq: int | None = 1
        elif snapshot_id in session.snapshots:
            seq = await self._store.seq_of(session.session_id, snapshot_id)
        else:
            raise invalid(f"no snapshot `{snapshot_id[:64]}` in this session", "at")
        past = None if seq is None else await self._positions.at(session.session_id, seq)
        if past is None:
            raise LedgerBroken(seq or 0, snapshot_id, "the event that made this snapshot is not there")
        return past

    async def _policy_at(self, position: Position) -> tuple[Policy, str]:
        """The policy that an event was decided under: its constraints are part of the state that it saw."""
        entries = await self._store.entries(position.session.session_id, position.head.seq - 1, 1)
        name = read(entries[0].record).policy_hash
        document = await self._store.policy(name)
        if document is None:
            raise LedgerBroken(position.head.seq, position.head.event_id, f"policy `{name}` is not known")
        return msgspec.json.decode(document, type=Policy), name


class ProposalHandlers:
    """Proposals, and the calls that come of them."""

    def __init__(self, submit: Submit, signer: Signer | None, registry: Registry, tools: ToolCalls) -> None:
        self._submit = submit
        self._signer = signer
        self._registry = registry
        self._tools = tools

    async def propose(self, call: Call) -> answers.ProposalAnswer:
        asked = convert(bind(as_recorded(call.body), call.path), ProposalRequest)
        candidates: list[Candidate] = []
        proofs: list[Proof | None] = []
        for candidate in asked.candidates:
            if isinstance(candidate, CallRequest):
                capability_id, narrowed, proof = presented(candidate.capability_token, self._signer)
                proofs.append(proof)
                candidates.append(
                    CallCandidate(
                        tool_id=candidate.tool_id,
                        args=candidate.args,
                        capability_id=capability_id,
                        idempotency_key=candidate.idempotency_key,
                        narrowed=narrowed,
                    )
                )
            else:
                proofs.append(None)
                candidates.append(candidate)
        command = Propose(
            provenance=asked.provenance,
            candidates=tuple(candidates),
            state_snapshot_id=asked.state_snapshot_id,
        )
        attachments = Attachments(call.origin, tuple(proofs))
        outcome = await submit_for(self._submit, call.session_id, command, call, attachments)
        event = outcome.event
        assert isinstance(event, Arbitrated)  # noqa: S101 - what is not refused was arbitrated
        recorded = await self._tools.run_scheduled_calls(outcome, event.results)
        return answers.ProposalAnswer(
            state_snapshot_id=outcome.session.state_snapshot_id,
            results=list(map(candidate_answer, event.results, recorded)),
            mode=outcome.session.mode,
            audit_event_id=outcome.head.event_id,
        )

    async def list_tools(self, _: Call) -> answers.ToolList:
        return answers.ToolList(
            tools=[
                answers.ToolView(
                    tool_id=tool.tool_id, definition=tool.definition, definition_hash=tool.definition_hash
                )
                for tool in self._registry.all()
            ]
        )


def candidate_answer(result: CandidateResult, recorded: OutcomeRecorded | None) -> answers.CandidateAnswer:
    """A verdict in the words of the protocol, with what is recorded of its call."""
    call_id = call_id_of(result)
    return answers.CandidateAnswer(
        verdict=result.verdict,
        reason_code=result.reason_code,
        on_fail=result.on_fail,
        reasons=list(result.reasons),
        result=None if recorded is None else recorded.result,
        status=None if call_id is None else ("scheduled" if recorded is None else recorded.call.status),
        error="" if recorded is None else recorded.error,
        call_id=call_id,
        approval_id=None if result.approval is None else result.approval.approval_id,
        content_hash=None if result.approval is None else result.approval.content_hash,
    )
