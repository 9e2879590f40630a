"""Capabilities: what an agent may do in a session, for how long and how often. They only ever narrow."""

import posixpath
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import UNSET, UnsetType

from beliefd.kernel.approvals.findings import Authority
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.substrate.tools import Amount, CallFinding
from beliefd.kernel.values import Id, Timestamp, Value, refuse_impossible, seconds

ANY: Final = "*"


class Budgets(Value, frozen=True):
    """How much may be used up; None is no limit. Calls are counted here, the rest as tools report it.

    What a call may use is reserved when it begins, and settled when it is known what it did use.
    """

    calls: Amount | None = None
    tokens: Amount | None = None
    cpu_ms: Amount | None = None
    disk_bytes: Amount | None = None


class Scope(Value, frozen=True):
    """Which tools, files and hosts. `*` in `tools` or `net_allowlist` means all; roots are absolute."""

    tools: tuple[Id, ...]
    fs_read_roots: tuple[Id, ...] = ()
    fs_write_roots: tuple[Id, ...] = ()
    net_allowlist: tuple[Id, ...] = ()
    budgets: Budgets = Budgets()

    def __post_init__(self) -> None:
        for root in (*self.fs_read_roots, *self.fs_write_roots):
            # Two leading slashes survive normpath, and mean something else on some systems.
            if not root.startswith("/") or root.startswith("//") or posixpath.normpath(root) != root:
                raise ValueError(f"root `{root[:64]}` is not an absolute path without dots or trailing slash")


class Used(Value, frozen=True):
    """What has been used of a budget."""

    calls: int = 0
    tokens: int = 0
    cpu_ms: int = 0
    disk_bytes: int = 0


class Amounts(Value, frozen=True):
    """What calls use beside being calls."""

    tokens: int = 0
    cpu_ms: int = 0
    disk_bytes: int = 0


class Capability(Value, frozen=True):
    """A capability as recorded; of the token itself only its hash is kept.

    `reserved` is set aside for calls under way. `rule` is the rule of the policy that issued it, if one did:
    its holder needs no token. `policy_hash` is the policy that it was issued under, `provenance` at whose
    word: older ones do not say.
    """

    capability_id: str
    agent_id: str
    scope: Scope
    issued_at: Timestamp
    expires_at: Timestamp
    issued_by: str
    secret_hash: str
    parent: str | None = None
    revoked_at: Timestamp | None = None
    used: Used = Used()
    rule: Id | UnsetType = UNSET
    reserved: Amounts | UnsetType = UNSET
    policy_hash: str | UnsetType = UNSET
    provenance: Provenance | UnsetType = UNSET


class Narrowing(Value, frozen=True):
    """What the holder of a signed token has narrowed it down to; None leaves a dimension as it is."""

    tools: tuple[Id, ...] | None = None
    root: Id | None = None
    hosts: tuple[Id, ...] | None = None
    expires_at: Timestamp | None = None
    agent_id: Id | None = None

    def __post_init__(self) -> None:
        if self.expires_at is not None:
            refuse_impossible(self.expires_at, "expires_at")


def widened(parent: Scope, child: Scope) -> str | None:
    """What a child scope has that its parent has not, or None: attenuation can only narrow."""
    if ANY not in parent.tools and (extra := set(child.tools) - set(parent.tools)):
        return f"tool `{min(extra)}`"
    if ANY not in parent.net_allowlist and (more := _hosts(child) - _hosts(parent)):
        return f"host `{min(more)}`"
    for root in child.fs_read_roots:
        if not within(root, (*parent.fs_read_roots, *parent.fs_write_roots)):
            return f"read root `{root}`"
    for root in child.fs_write_roots:
        if not within(root, parent.fs_write_roots):
            return f"write root `{root}`"
    for name in Budgets.__struct_fields__:
        limit, wanted = getattr(parent.budgets, name), getattr(child.budgets, name)
        if limit is not None and (wanted is None or wanted > limit):
            return f"budget `{name}`"
    return None


def _hosts(scope: Scope) -> frozenset[str]:
    """Names of hosts know no case."""
    return frozenset(host.lower() for host in scope.net_allowlist)


def within(path: str, roots: tuple[str, ...]) -> bool:
    """Is a resolved path one of the roots or below one? By segments: /data is not above /database."""
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def ancestors(held: Mapping[str, Capability], capability: Capability) -> tuple[Capability, ...]:
    """What a capability came out of, nearest first."""
    found: list[Capability] = []
    while capability.parent is not None:
        capability = held[capability.parent]
        found.append(capability)
    return tuple(found)


def cannot_use(
    capability: Capability, lineage: tuple[Capability, ...], agent_id: str, now: str
) -> str | None:
    """Why a token does not count at all; a child falls with any of its ancestors."""
    if capability.agent_id not in (ANY, agent_id):
        return f"it was issued to `{capability.agent_id}`"
    for one in (capability, *lineage):
        if one.revoked_at is not None:
            return f"`{one.capability_id}` was revoked at {one.revoked_at}"
        if seconds(now) >= seconds(one.expires_at):
            return f"`{one.capability_id}` expired at {one.expires_at}"
    return None


def givers(lineage: tuple[Capability, ...]) -> frozenset[str]:
    """Everybody through whom a capability came: who issued it, and who held what it came out of. What policy
    issues comes from nobody."""
    issuers = {one.issued_by for one in lineage if one.rule is UNSET}
    holders = {one.agent_id for one in lineage[1:]}
    return frozenset((issuers | holders) - {ANY})


def forsaken(lineage: tuple[Capability, ...], agent_id: str, standing: Authority | UnsetType) -> str | None:
    """INVARIANT: a capability is worth what those may now who gave it. Who uses it is judged elsewhere."""
    found = standing or {}
    gone = sorted(name for name in givers(lineage) if name != agent_id and found.get(name, UNSET) is None)
    return f"it came from `{gone[0]}`, who may not give it any more" if gone else None


def out_of_scope(scope: Scope, tool_id: str, finding: CallFinding) -> list[str]:
    """Everything about a call that the scope does not cover."""
    found: list[str] = []
    if ANY not in scope.tools and tool_id not in scope.tools:
        found.append(f"tool `{tool_id}` is not in its scope")
    for use in finding.files:
        roots = scope.fs_write_roots if use.writes else (*scope.fs_read_roots, *scope.fs_write_roots)
        if not within(use.path, roots):
            found.append(f"`{use.path}` is outside its {'write' if use.writes else 'read'} roots")
    for host in finding.hosts:
        if not host or (ANY not in scope.net_allowlist and host not in _hosts(scope)):
            found.append(f"host `{host}` is not in its allow-list")
    return found


def beyond(narrowing: Narrowing, tool_id: str, finding: CallFinding, agent_id: str, now: str) -> list[str]:
    """Everything about a call that goes beyond what a token was narrowed down to."""
    found: list[str] = []
    if narrowing.tools is not None and tool_id not in narrowing.tools:
        found.append(f"tool `{tool_id}`")
    if narrowing.root is not None:
        found += [f"`{use.path}`" for use in finding.files if not within(use.path, (narrowing.root,))]
    if narrowing.hosts is not None:
        found += [f"host `{host}`" for host in finding.hosts if host not in narrowing.hosts]
    if narrowing.expires_at is not None and seconds(now) >= seconds(narrowing.expires_at):
        found.append(f"the time after {narrowing.expires_at}")
    if narrowing.agent_id not in (None, agent_id):
        found.append(f"agent `{agent_id}`")
    return found


Part = Callable[[int], int]
"""What may be used of a limit just now."""


def exhausted(capability: Capability, part: Part, need: Mapping[str, int | None]) -> str | None:
    """The budget that is used up or does not hold what a call may need, if one is."""
    for name in Budgets.__struct_fields__:
        limit, used = getattr(capability.scope.budgets, name), getattr(capability.used, name)
        if limit is None:
            continue
        said = f"budget `{name}` of `{capability.capability_id}`: {used} of {part(limit)} used"
        if used >= part(limit):
            return said
        if used + (need.get(name) or 0) > part(limit):
            return f"{said}, and a call may use {need[name]}"
    return None
