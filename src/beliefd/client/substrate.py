"""Calls about state, proposals, tools, capabilities and memory."""

from collections.abc import Sequence
from typing import Any, TypedDict, Unpack

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, given, page_of, query
from beliefd.kernel.values import Object
from beliefd.protocol.calls import CallView, ReportedOutcome
from beliefd.protocol.capabilities import CapabilityPage, CapabilityView, IssuedCapability, RevokedCapability
from beliefd.protocol.substrate import (
    CandidateAnswer,
    MemoryAnswer,
    MemoryPage,
    ProposalAnswer,
    StateAnswer,
    SubstrateRows,
    ToolList,
)


class OutcomeTold(TypedDict, total=False):
    """What came of a call: its result or error, and what it used."""

    result: Any
    error: str
    structured: Any
    content_type: str
    tokens: int
    cpu_ms: int
    disk_bytes: int


def _call(session_id: str, call_id: str) -> dict[str, str]:
    return {"session_id": session_id, "call_id": call_id}


class SubstrateCalls:
    """State, proposals, tools, capabilities and memory."""

    @Method
    def show_state(self, session_id: str, *, at: str | None = None) -> Request[StateAnswer]:
        """The symbolic state, now or at a past snapshot."""
        return Request(SubstrateRows.show_state, {"session_id": session_id}, query(at=at))

    @Method
    def propose(  # noqa: PLR0913 - one argument per thing that is said of it
        self,
        session_id: str,
        candidates: Sequence[Object],
        *,
        source: str = "agent",
        inputs: Sequence[str] = (),
        permissions: Sequence[str] = (),
        state_snapshot_id: str | None = None,
        execute: str | None = None,
        qos: str | None = None,
        **conditions: Unpack[Conditions],
    ) -> Request[ProposalAnswer]:
        """Have state changes and tool calls arbitrated; what is allowed happens.

        `inputs` are the records that it was made from, `permissions` the capabilities held for it. With
        `execute="caller"`, tools are run by who proposes: the first call that is allowed has a `permit`, and
        the others wait for `begin_call`. `qos` is the class in which calls wait for their turn:
        `interactive`, `background` or `maintenance`.
        """
        provenance = {"source": source, "inputs": list(inputs), "permissions": list(permissions)}
        body = {
            "provenance": provenance,
            "candidates": list(candidates),
            **given(state_snapshot_id=state_snapshot_id, execute=execute, qos=qos),
        }
        return command(SubstrateRows.propose, {"session_id": session_id}, body, **conditions)

    @Method
    def show_call(self, session_id: str, call_id: str) -> Request[CallView]:
        """A call that was let through: what its permit binds, and what came of it."""
        return Request(SubstrateRows.show_call, _call(session_id, call_id))

    @Method
    def begin_call(
        self, session_id: str, call_id: str, **conditions: Unpack[Conditions]
    ) -> Request[CandidateAnswer]:
        """Begin a call that was approved and that one runs oneself; its `permit` is given once."""
        return command(SubstrateRows.begin_call, _call(session_id, call_id), {}, **conditions)

    @Method
    def report_outcome(
        self,
        session_id: str,
        call_id: str,
        status: str,
        *,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        notes: str | None = None,
        **told: Unpack[OutcomeTold],
    ) -> Request[ReportedOutcome]:
        """Report what came of a call that one has run oneself: `ok`, `error` or `unknown`."""
        body = {"status": status, **given(**told)}
        conditions = Conditions(if_match=if_match, idempotency_key=idempotency_key, notes=notes)
        return command(SubstrateRows.report_outcome, _call(session_id, call_id), body, **conditions)

    @Method
    def list_tools(self) -> Request[ToolList]:
        """Tools and their schemas."""
        return Request(SubstrateRows.list_tools)

    @Method
    def issue_capability(
        self,
        session_id: str,
        *,
        agent_id: str | None = None,
        scope: Object | None = None,
        expires_in_seconds: int = 3600,
        parent_token: str | None = None,
        signed: bool = False,
        notes: str | None = None,
    ) -> Request[IssuedCapability]:
        """Give an agent a capability, narrow one down, or take what policy issues to oneself."""
        body = {
            "session_id": session_id,
            "expires_in_seconds": expires_in_seconds,
            **given(agent_id=agent_id, scope=scope, parent_token=parent_token, signed=signed or None),
        }
        return Request(SubstrateRows.issue_capability, body=body, notes=notes)

    @Method
    def list_capabilities(
        self, session_id: str, *, cursor: str | None = None, limit: int | None = None
    ) -> Request[CapabilityPage]:
        """The capabilities of a session, with what is left of them."""
        return page_of(SubstrateRows.list_capabilities, session_id, cursor=cursor, limit=limit)

    @Method
    def show_capability(self, session_id: str, capability_id: str) -> Request[CapabilityView]:
        """What a capability allows and how much of it is used."""
        path = {"session_id": session_id, "capability_id": capability_id.rpartition("/")[2]}
        return Request(SubstrateRows.show_capability, path)

    @Method
    def revoke_capability(
        self, capability_id: str, *, notes: str | None = None
    ) -> Request[RevokedCapability]:
        """End a capability and all that came out of it; says what else its agent still has."""
        return Request(SubstrateRows.revoke_capability, {"capability_id": capability_id}, notes=notes)

    @Method
    def remember(
        self, session_id: str, entry: Object, **conditions: Unpack[Conditions]
    ) -> Request[MemoryAnswer]:
        """Take an entry into memory, if it is what it says it is."""
        return command(SubstrateRows.remember, {"session_id": session_id}, entry, **conditions)

    @Method
    def list_memory(self, session_id: str, *, show: str | None = None) -> Request[MemoryPage]:
        """Live memory entries, or those due for review."""
        return Request(SubstrateRows.list_memory, {"session_id": session_id}, query(show=show))
