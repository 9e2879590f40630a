"""What is found out about tool calls before they are judged: definition, arguments, paths, hosts, token."""

import hashlib
import hmac
import ipaddress
import os
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.capabilities import Narrowing
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.schemas import BadSchema, Schema
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.substrate.tools import (
    CallFinding,
    FileUse,
    ProposalFindings,
    StartFindings,
    ToolDefinition,
    could_reach,
    tightened,
)
from beliefd.kernel.values import Principal
from beliefd.steward.facts.caller_tools import CallerTool, Offered, declared_tool
from beliefd.tools.biscuit import PREFIX, BadToken, Signer
from beliefd.tools.registry import Registry, Tool

TOKEN: Final = re.compile(r"(cap-[0-9a-f-]{36})\.([A-Za-z0-9_-]{20,200})", re.ASCII)
UNPROVEN: Final = "unproven"
"""Stands for a token that says nothing: its text may be somebody's secret and is not repeated anywhere."""
HOST: Final = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?", re.ASCII)


class Proof(Struct, frozen=True):
    """What proves a token: its secret, or the server's own signature, which has been verified."""

    secret: str | None = None
    signed: bool = False
    problem: str | None = None


class Tools(Struct, frozen=True):
    """Where a tool is looked for: in the catalogue that a call names, or here and then in the policy."""

    registry: Registry
    offered: Offered = {}

    def get(self, candidate: CallCandidate, policy: Policy) -> Tool | CallerTool | None:
        if candidate.upstream is not UNSET:
            return self.offered.get((candidate.upstream, candidate.tool_id))
        own = self.registry.get(candidate.tool_id)
        return own or declared_tool(candidate.tool_id, policy, self.registry)


def proposal_findings(
    session: Session,
    candidates: tuple[Candidate, ...],
    proofs: tuple[Proof | None, ...],
    policy: Policy,
    tools: Tools,
) -> ProposalFindings:
    return ProposalFindings(
        relapses=True,
        calls=tuple(
            call_finding(session, candidate, proofs[index] if index < len(proofs) else None, policy, tools)
            if isinstance(candidate, CallCandidate)
            else None
            for index, candidate in enumerate(candidates)
        ),
    )


def confirmed_finding(
    session: Session, candidate: CallCandidate, policy: Policy, tools: Tools
) -> ProposalFindings:
    """For a call that a person confirms: its token was checked when it was proposed."""
    finding = call_finding(session, candidate, None, policy, tools)
    return ProposalFindings(
        relapses=True, calls=(replace(finding, capability_id=candidate.capability_id, token_problem=None),)
    )


def start_findings(
    call: ToolCall, standings: Mapping[str, Principal | None], policy: Policy, tools: Tools
) -> StartFindings:
    """For a call that is about to begin: everything about it is looked at again, but for the token, which was
    checked when it was proposed and stands for the capability that the call names."""
    candidate = CallCandidate(tool_id=call.tool_id, args=call.args, upstream=call.upstream)
    finding = _known_tool(candidate, policy, tools)
    caller = standings.get(call.agent_id, UNSET)
    known = replace(finding, capability_id=call.capability_id)
    return StartFindings(call=known, caller=caller, takes_rest=True, relapses=True)


def call_finding(
    session: Session, candidate: CallCandidate, proof: Proof | None, policy: Policy, tools: Tools
) -> CallFinding:
    capability_id, problem = check_token(session, candidate.capability_id, proof)
    finding = _known_tool(candidate, policy, tools)
    if finding.definition is None:
        return finding
    return replace(finding, capability_id=capability_id, token_problem=problem)


def _known_tool(candidate: CallCandidate, policy: Policy, tools: Tools) -> CallFinding:
    """What is found out about a call beside its token."""
    tool = tools.get(candidate, policy)
    if tool is None:
        return CallFinding()
    definition, errors = tool.definition, tool.argument_errors(candidate.args)
    named = policy.tools.get(candidate.tool_id)
    if named is not None and not definition.is_run_by_caller:
        definition = tightened(definition, named)
        errors += _policy_errors(named, candidate.args)
    hosts = hosts_of(definition, candidate.args)
    return CallFinding(
        definition=replace(definition, schema={}, description="", timeout_ms=time_limit(definition, policy)),
        definition_hash=tool.definition_hash,
        argument_errors=errors,
        files=files_of(definition, candidate.args),
        hosts=hosts,
        tier=tool.definition.tier,
        begins=True,
        # INVARIANT: that nobody says it reaches the network is no word that it does not.
        network=could_reach(definition, hosts),
    )


def time_limit(definition: ToolDefinition, policy: Policy) -> int:
    return min(definition.timeout_ms, policy.max_timeout_ms)


def _policy_errors(named: ToolDefinition, args: dict[str, Any]) -> tuple[str, ...]:
    try:
        return Schema(named.schema).errors(args)
    except BadSchema as error:
        return (f"the policy's schema for this tool is none: {error}",)


def presented(token: str | None, signer: Signer | None) -> tuple[str | None, tuple[Narrowing, ...], Proof]:
    """The capability that a token names, what it was narrowed down to, and what proves it.

    INVARIANT: only names are ever recorded. What does not look like a token of ours has none.
    """
    if token is None:
        return None, (), Proof()
    if token.startswith(PREFIX):
        try:
            if signer is None:
                raise BadToken("this server has no key to read signed tokens with")
            found = signer.read(token)
        except (BadToken, BeliefdError) as error:
            text = error.message if isinstance(error, BeliefdError) else str(error)
            return UNPROVEN, (), Proof(problem=text)
        return found.capability_id, found.narrowed, Proof(signed=True)
    plain = TOKEN.fullmatch(token)
    return (UNPROVEN, (), Proof()) if plain is None else (plain[1], (), Proof(secret=plain[2]))


def check_token(
    session: Session, capability_id: str | None, proof: Proof | None
) -> tuple[str | None, str | None]:
    """The capability that a token proves, or what is wrong with the token."""
    if capability_id is None:
        return None, None
    proof = proof or Proof()
    capability = session.substrate.capabilities.get(capability_id)
    expected = hashlib.sha256(b"").hexdigest() if capability is None else capability.secret_hash
    given = hashlib.sha256((proof.secret or "").encode()).hexdigest()
    proven = proof.signed or hmac.compare_digest(given, expected)
    if capability is None or not proven:
        return None, proof.problem or "the capability token is not one of this session's"
    return capability_id, None


def files_of(definition: ToolDefinition, args: dict[str, Any]) -> tuple[FileUse, ...]:
    """Paths as the file system sees them: dots gone, links followed, so that neither leads out of a root."""
    found = [FileUse(path=_resolved(path), writes=False) for path in _named(args, definition.fs_read_args)]
    found += [FileUse(path=_resolved(path), writes=True) for path in _named(args, definition.fs_write_args)]
    return tuple(found)


def _resolved(path: str) -> str:
    """Nothing, where it depends on who looks (a relative path) or cannot be looked at: no root holds that."""
    if not path.startswith("/"):
        return ""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # NUL, half a surrogate pair, a loop of links
        return ""


def hosts_of(definition: ToolDefinition, args: dict[str, Any]) -> tuple[str, ...]:
    return tuple(_host(address) for address in _named(args, definition.net_args))


def _host(address: str) -> str:
    """The host that every reader of an address agrees on; nothing, where they might not.

    Readers differ over control characters, over backslashes and blanks in a host, and people over what stands
    before an @.
    """
    if not address.isprintable():
        return ""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host = (parts.hostname or "").lower()
        _ = parts.port  # raises where it is none
        if ":" in host:
            host = ipaddress.IPv6Address(host).compressed
        elif not HOST.fullmatch(host):
            return ""
    except ValueError:
        return ""
    return "" if "@" in parts.netloc else host


def _named(args: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for name in names:
        value = args.get(name)
        values = value if isinstance(value, list) else [value]
        found += [item if isinstance(item, str) else "" for item in values if item is not None]
    return found
