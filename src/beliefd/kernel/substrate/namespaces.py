"""Who may write which part of F_sparse (symbolic-substrate 4)."""

from collections.abc import Mapping
from typing import Final

from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.values import Role

WRITERS: Final[dict[str, frozenset[Role]]] = {
    "goal": frozenset({Role.AGENT}),
    "fact": frozenset({Role.ENCODER, Role.TOOL}),
    "policy": frozenset(),
    "constraint": frozenset(),
    "rule": frozenset(),
}
"""The last three belong to the kernel: they change with the policy and never by proposal."""
EARLIER: Final = {name: roles for name, roles in WRITERS.items() if name != "rule"}
"""Those that answers named before `rule.*` was one of them."""


def namespace(key: str) -> str:
    return key.partition(".")[0]


def write_capability(key: str) -> str:
    """The capability that constraints name to speak about writes to a namespace."""
    return f"write:{namespace(key)}"


def may_write(role: Role, key: str, writers: Mapping[str, frozenset[Role]] = WRITERS) -> Reason | None:
    """None if this role may write the key; else why not."""
    head, dot, rest = key.partition(".")
    if head not in writers or not dot or not rest:
        known = ", ".join(f"{name}.*" for name in writers)
        return Reason(code="UNKNOWN_NAMESPACE", text=f"`{key}` is in none of {known}", keys=(key,))
    if role in WRITERS[head]:
        return None
    if not WRITERS[head]:
        return Reason(code="KERNEL_OWNED", text=f"`{key}` changes with the policy only", keys=(key,))
    able = ", ".join(sorted(WRITERS[head]))
    return Reason(
        code="NOT_AUTHORISED",
        text=f"role `{role}` may not write `{key}`",
        keys=(key,),
        remedy=f"a principal with role {able}",
    )
