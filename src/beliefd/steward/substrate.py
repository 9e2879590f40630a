"""Handlers of the substrate operations: state, proposals, tools, capabilities, memory."""

import hashlib
import secrets
from typing import Any

import msgspec

from beliefd.kernel.canonical import NotCanonical, canonical
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.capabilities import Capability
from beliefd.kernel.substrate.commands import IssueCapability, Propose, Remember, RevokeCapability
from beliefd.kernel.substrate.events import Arbitrated, CapabilityIssued, CapabilityRevoked, Remembered
from beliefd.kernel.substrate.memory_entry import MemoryEntry
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.state import GENESIS_SNAPSHOT, MemoryState
from beliefd.kernel.values import seconds
from beliefd.ledger.envelope import LedgerBroken, read
from beliefd.ledger.replay import Position
from beliefd.protocol.substrate import (
    CallRequest,
    CapabilityRequest,
    CapabilityView,
    IssuedCapability,
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
from beliefd.steward.calls import UNPROVEN, Proof, check_token, presented
from beliefd.steward.claims import submitted
from beliefd.steward.handle import Steward
from beliefd.steward.lookout import Aside
from beliefd.steward.verdicts import candidate_answer


async def show_state(steward: Steward, call: Call) -> StateAnswer:
    position = await steward.positions.existing(call.session_id)
    policy, policy_hash = steward.policy, steward.policy_hash
    if (at := call.query["at"]) is not None and at != position.session.substrate.state_snapshot_id:
        position = await _at_snapshot(steward, position, at)
        policy, policy_hash = await _policy_at(steward, position)
    session = position.session
    return StateAnswer(
        state_snapshot_id=session.substrate.state_snapshot_id,
        state_version=session.substrate.state_version,
        f_sparse={**policy.constraints, **dict(session.substrate.symbolic_state)},
        mode=session.substrate.mode,
        seq=position.head.seq,
        policy_hash=policy_hash,
    )


async def propose(steward: Steward, call: Call) -> ProposalAnswer:
    asked = convert(bind(as_recorded(call.body), call.path), ProposalRequest)
    candidates: list[Candidate] = []
    proofs: list[Proof | None] = []
    for candidate in asked.candidates:
        if isinstance(candidate, CallRequest):
            capability_id, narrowed, proof = presented(candidate.capability_token, steward.signer)
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
        provenance=asked.provenance, candidates=tuple(candidates), state_snapshot_id=asked.state_snapshot_id
    )
    outcome = await submitted(steward, call.session_id, command, call, Aside(call.origin, tuple(proofs)))
    event = outcome.event
    assert isinstance(event, Arbitrated)  # noqa: S101 - what is not refused was arbitrated
    return ProposalAnswer(
        state_snapshot_id=outcome.session.substrate.state_snapshot_id,
        results=[await candidate_answer(steward, outcome, result) for result in event.results],
        mode=outcome.session.substrate.mode,
        audit_event_id=outcome.head.event_id,
    )


async def list_tools(steward: Steward, _: Call) -> ToolList:
    return ToolList(
        tools=[
            ToolView(tool_id=tool.tool_id, definition=tool.definition, definition_hash=tool.definition_hash)
            for tool in steward.registry.all()
        ]
    )


async def issue_capability(steward: Steward, call: Call) -> IssuedCapability:
    asked = convert(call.body, CapabilityRequest)
    signer = steward.signer if asked.signed else None
    if asked.signed and signer is None:
        raise invalid("this server has no key to sign tokens with", "$.signed")
    if signer is not None:
        signer.public_key  # noqa: B018 - what is missing for signing is found out before anything is issued
    parent = None
    if asked.parent_token is not None:
        # A token that proves nothing is put before the kernel all the same: its refusal is on record.
        parent = await _proven_parent(steward, asked.session_id, asked.parent_token) or UNPROVEN
    secret = secrets.token_urlsafe(32)
    command = IssueCapability(
        agent_id=asked.agent_id,
        scope=asked.scope,
        expires_in_seconds=asked.expires_in_seconds,
        secret_hash=hashlib.sha256(secret.encode()).hexdigest(),
        parent=parent,
    )
    outcome = await submitted(steward, asked.session_id, command, call)
    assert isinstance(outcome.event, CapabilityIssued)  # noqa: S101
    capability = outcome.event.capability
    token = f"{capability.capability_id}.{secret}"
    return IssuedCapability(
        # Of a signed capability nobody knows the secret: the signature is all that proves it.
        token=token if signer is None else signer.sign(asked.session_id, capability),
        capability=_capability(f"{asked.session_id}/{capability.capability_id}", capability),
        public_key=None if signer is None else signer.public_key,
    )


async def _proven_parent(steward: Steward, session_id: str, token: str) -> str | None:
    """The capability that is to be handed on. One that its holder has narrowed down is not what it was."""
    session = (await steward.positions.existing(session_id)).session
    capability_id, narrowed, proof = presented(token, steward.signer)
    return None if narrowed else check_token(session, capability_id, proof)[0]


async def show_capability(steward: Steward, call: Call) -> CapabilityView:
    session = (await steward.positions.existing(call.session_id)).session
    capability = session.substrate.capabilities.get(call.path["capability_id"])
    if capability is None:
        raise _no_capability(call.path["capability_id"])
    return _capability(f"{call.session_id}/{capability.capability_id}", capability)


async def revoke_capability(steward: Steward, call: Call) -> CapabilityView:
    """Named as `<session>/<capability>`, the way it was issued."""
    session_id, slash, capability_id = call.path["capability_id"].partition("/")
    if not slash:
        raise _no_capability(session_id)
    command = RevokeCapability(capability_id=capability_id)
    outcome = await submitted(steward, session_id, command, call)
    assert isinstance(outcome.event, CapabilityRevoked)  # noqa: S101
    return _capability(call.path["capability_id"], outcome.event.capability)


async def remember(steward: Steward, call: Call) -> MemoryAnswer:
    command = Remember(entry=convert(bind(as_recorded(call.body), call.path), MemoryEntry))
    outcome = await submitted(steward, call.session_id, command, call)
    assert isinstance(outcome.event, Remembered)  # noqa: S101
    state = outcome.session.substrate.memory[command.entry.memory_id]
    view = _memory(state, steward.outside.now())
    return MemoryAnswer(memory=view, audit_event_id=outcome.head.event_id)


async def list_memory(steward: Steward, call: Call) -> MemoryPage:
    """What has not expired; entries leave the view, never the ledger."""
    session = (await steward.positions.existing(call.session_id)).session
    now = steward.outside.now()
    views = [_memory(session.substrate.memory[name], now) for name in sorted(session.substrate.memory)]
    live = [view for view in views if view.expires_at is None or seconds(view.expires_at) > seconds(now)]
    if call.query["show"] == "review":
        live = [view for view in live if view.review_due]
    return MemoryPage(entries=live)


def as_recorded(body: Any) -> Any:
    """A body as it will stand in the ledger, in copies of our own.

    INVARIANT: what is judged is what is recorded; no Python value and no later change by its owner tells them
    apart.
    """
    try:
        return msgspec.json.decode(canonical(body))
    except NotCanonical as error:
        raise invalid(error.message, error.path) from None


async def _at_snapshot(steward: Steward, position: Position, snapshot_id: str) -> Position:
    session = position.session
    if snapshot_id == GENESIS_SNAPSHOT:
        seq: int | None = 1
    elif snapshot_id in session.substrate.snapshots:
        seq = await steward.store.seq_of(session.session_id, snapshot_id)
    else:
        raise invalid(f"no snapshot `{snapshot_id[:64]}` in this session", "at")
    past = None if seq is None else await steward.positions.at(session.session_id, seq)
    if past is None:
        raise LedgerBroken(seq or 0, snapshot_id, "the event that made this snapshot is not there")
    return past


async def _policy_at(steward: Steward, position: Position) -> tuple[Policy, str]:
    """The policy that was in force when an event was decided: constraints are part of the state it saw."""
    entries = await steward.store.entries(position.session.session_id, position.head.seq - 1, 1)
    name = read(entries[0].record).policy_hash
    document = await steward.store.policy(name)
    if document is None:
        raise LedgerBroken(position.head.seq, position.head.event_id, f"policy `{name}` is not known")
    return msgspec.json.decode(document, type=Policy), name


def _capability(name: str, capability: Capability) -> CapabilityView:
    session_id = name.partition("/")[0]
    shown: dict[str, Any] = {
        field: getattr(capability, field) for field in capability.__struct_fields__ if field != "secret_hash"
    }
    return CapabilityView(**{**shown, "capability_id": name}, session_id=session_id)


def _memory(state: MemoryState, now: str) -> MemoryView:
    review_at = state.entry.review_at
    return MemoryView(
        entry=state.entry,
        confirmed=state.confirmed,
        remembered_at=state.remembered_at,
        expires_at=state.expires_at,
        review_due=state.entry.conflict_state != "none"
        or (review_at is not None and seconds(review_at) <= seconds(now)),
    )


def _no_capability(name: str) -> BeliefdError:
    return BeliefdError(Code.NOT_FOUND, f"no capability `{name[:64]}`", {"path": "capability_id"})
