"""Names that constraints use and nothing stands behind: tools, capabilities, keys and arguments."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, Final

from beliefd.kernel.names import ALL
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraints import Constraint
from beliefd.kernel.substrate.namespaces import WRITERS, namespace
from beliefd.kernel.substrate.predicates import CALL, is_of_call, paths_read
from beliefd.policy.lint.domains import KERNEL
from beliefd.policy.lint.finding import Finding

WRITES: Final = tuple(f"write:{name}" for name, roles in WRITERS.items() if roles)
OF_CALL: Final = tuple(
    dict.fromkeys(
        (*KERNEL, *(f"{CALL}.{name}" for name in ("args", "tool_id", "agent_id", "tier", "mutates", "now")))
    )
)
"""What stands under `call`."""
SEEN_BY_OTHERS: Final = ("policy",)
"""Namespaces that nobody writes and that are there all the same."""


def names(one: Constraint, policy: Policy) -> Iterator[Finding]:
    yield from _subject(one, policy)
    for path in sorted(paths_read(one.when)) if one.when is not None else ():
        if namespace(path) == CALL:
            yield from _of_call(one, path, policy)
        yield from unwritten(one.key, path)


def _subject(one: Constraint, policy: Policy) -> Iterator[Finding]:
    tool_id, capability = one.subject.tool_id, one.subject.capability
    if tool_id is not None and policy.tools and tool_id not in policy.tools and ALL not in policy.tools:
        text = f"the policy has no tool `{tool_id}`, and a server may{_meant(tool_id, policy.tools)}"
        yield _named(one, "UNKNOWN_TOOL", text, tool_id, policy.tools)
    if capability is not None:
        known = {*WRITES, *(name for tool in policy.tools.values() for name in tool.capabilities)}
        if capability not in known and (policy.tools or capability.startswith("write:")):
            text = f"no tool of the policy needs `{capability}`{_meant(capability, known)}"
            yield _named(one, "UNKNOWN_CAPABILITY", text, capability, known)


def _named(one: Constraint, code: Any, text: str, name: str, known: Iterable[str]) -> Finding:
    """What looks like a known name is most probably meant to be it; another may be known elsewhere."""
    level: Any = "warning" if get_close_matches(name, list(known), 1, 0.8) else "note"
    return Finding(code=code, constraint=one.key, message=text, level=level)


def unwritten(reader: str, path: str) -> Iterator[Finding]:
    """A path that leads nowhere: nobody writes in its namespace."""
    head = namespace(path)
    if not is_of_call(path) and not WRITERS.get(head) and head not in SEEN_BY_OTHERS:
        known = [name for name, roles in WRITERS.items() if roles]
        text = (
            f"nothing writes `{path}`: keys are in {', '.join(f'{name}.*' for name in known)}, or in {CALL}"
        )
        yield Finding(code="UNKNOWN_KEY", constraint=reader, message=text + _meant(head, [*known, CALL]))


def _of_call(one: Constraint, path: str, policy: Policy) -> Iterator[Finding]:
    parts = path.split(".")
    if len(parts) < 2:
        return
    member = ".".join(parts[:2])
    if member not in OF_CALL:
        text = f"a call has no `{member}`{_meant(member, OF_CALL)}"
        yield Finding(code="UNKNOWN_KEY", constraint=one.key, message=text)
    elif member == f"{CALL}.args" and len(parts) > 2 and one.subject.tool_id is not None:
        tool = policy.tools.get(one.subject.tool_id)
        known = tool.schema.get("properties") if tool is not None else None
        if isinstance(known, dict) and known and parts[2] not in known:
            text = f"`{one.subject.tool_id}` has no argument `{parts[2]}`{_meant(parts[2], known)}"
            yield Finding(code="UNKNOWN_ARGUMENT", constraint=one.key, message=text)


def _meant(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean `{near[0]}`?" if near else ""


def similar(constraints: Iterable[Constraint]) -> Iterator[Finding]:
    """Keys of the state that one constraint alone reads, and that look like one that others read."""
    readers: dict[str, set[str]] = {}
    for one in constraints:
        for path in paths_read(one.when) if one.when is not None else ():
            if WRITERS.get(namespace(path)) and not is_of_call(path):
                readers.setdefault(".".join(path.split(".")[:2]), set()).add(one.key)
    common = sorted(key for key, by in readers.items() if len(by) > 1)
    for key, by in sorted(readers.items()):
        near = get_close_matches(key, [one for one in common if one != key], 1, 0.9) if len(by) == 1 else []
        if near:
            text = f"it alone reads `{key}`, and others read `{near[0]}`: is that the same?"
            yield Finding(code="SIMILAR_KEYS", constraint=min(by), message=text)
