"""What is found out about tool calls before they are arbitrated: definition, arguments, paths, token."""

import hashlib
import hmac
import os
from typing import Any
from urllib.parse import urlsplit

import jsonschema_rs
from msgspec.structs import replace

from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.tools import CallFinding, FileUse, ProposalFindings, ToolDefinition
from beliefd.kernel.values import Tier
from beliefd.tools.registry import Registry, schema_errors


def proposal_findings(
    session: Session,
    candidates: tuple[Candidate, ...],
    secrets: tuple[str | None, ...],
    policy: Policy,
    registry: Registry,
) -> ProposalFindings:
    return ProposalFindings(
        calls=tuple(
            call_finding(
                session, candidate, secrets[index] if index < len(secrets) else None, policy, registry
            )
            if isinstance(candidate, CallCandidate)
            else None
            for index, candidate in enumerate(candidates)
        )
    )


def confirmed_finding(
    session: Session, candidate: CallCandidate, policy: Policy, registry: Registry
) -> ProposalFindings:
    """For a call that a person confirms: its token was checked when it was proposed."""
    finding = call_finding(session, candidate, None, policy, registry)
    return ProposalFindings(
        calls=(replace(finding, capability_id=candidate.capability_id, token_problem=None),)
    )


def call_finding(
    session: Session, candidate: CallCandidate, secret: str | None, policy: Policy, registry: Registry
) -> CallFinding:
    tool = registry.get(candidate.tool_id)
    if tool is None:
        return CallFinding()
    definition, errors = tool.definition, tool.argument_errors(candidate.args)
    named = policy.tools.get(candidate.tool_id)
    if named is not None:
        definition = tightened(definition, named)
        errors += schema_errors(jsonschema_rs.validator_for(named.schema), candidate.args)
    capability_id, problem = check_token(session, candidate.capability_id, secret)
    return CallFinding(
        definition=replace(definition, schema={}, description=""),
        definition_hash=tool.definition_hash,
        argument_errors=errors,
        files=_files(definition, candidate.args),
        hosts=_hosts(definition, candidate.args),
        capability_id=capability_id,
        token_problem=problem,
    )


def tightened(own: ToolDefinition, named: ToolDefinition) -> ToolDefinition:
    """A policy may raise what a tool says of itself, never lower it."""
    return replace(
        own,
        capabilities=tuple(dict.fromkeys((*own.capabilities, *named.capabilities))),
        tier=max(own.tier, named.tier, key=lambda name: Tier[name]),
        mutates=own.mutates or named.mutates,
        fs_read_args=tuple(dict.fromkeys((*own.fs_read_args, *named.fs_read_args))),
        fs_write_args=tuple(dict.fromkeys((*own.fs_write_args, *named.fs_write_args))),
        net_args=tuple(dict.fromkeys((*own.net_args, *named.net_args))),
    )


def check_token(
    session: Session, capability_id: str | None, secret: str | None
) -> tuple[str | None, str | None]:
    """The capability that a token proves, or what is wrong with the token."""
    if capability_id is None:
        return None, None
    capability = session.capabilities.get(capability_id)
    expected = hashlib.sha256(b"").hexdigest() if capability is None else capability.secret_hash
    given = hashlib.sha256((secret or "").encode()).hexdigest()
    if not hmac.compare_digest(given, expected) or capability is None:
        return None, "the capability token is not one of this session's"
    return capability_id, None


def _files(definition: ToolDefinition, args: dict[str, Any]) -> tuple[FileUse, ...]:
    """Paths as the file system sees them: dots gone, links followed, so that neither leads out of a root."""
    found = [FileUse(path=_resolved(path), writes=False) for path in _named(args, definition.fs_read_args)]
    found += [FileUse(path=_resolved(path), writes=True) for path in _named(args, definition.fs_write_args)]
    return tuple(found)


def _resolved(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # NUL, too long, a loop of links: no root holds what cannot be resolved
        return ""


def _hosts(definition: ToolDefinition, args: dict[str, Any]) -> tuple[str, ...]:
    return tuple(_host(address) for address in _named(args, definition.net_args))


def _host(address: str) -> str:
    try:
        return (urlsplit(address if "://" in address else f"//{address}").hostname or "").lower()
    except ValueError:
        return ""


def _named(args: dict[str, Any], names: tuple[str, ...]) -> list[str]:
    found: list[str] = []
    for name in names:
        value = args.get(name)
        values = value if isinstance(value, list) else [value]
        found += [item if isinstance(item, str) else "" for item in values if item is not None]
    return found
