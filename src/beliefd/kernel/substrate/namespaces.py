"""Who may write which part of F_sparse (symbolic-substrate 4)."""

from typing import Final

from beliefd.kernel.substrate.constraints import Reason
from beliefd.kernel.values import Role

WRITERS: Final[dict[str, frozenset[Role]]] = {
    "goal": frozenset({Role.AGENT}),
    "fact": frozenset({Role.ENCODER, Role.TOOL}),
    "policy": frozenset(),
    "constraint": frozenset(),
}
"""The last two belong to the kernel: they change with the policy and never by proposal."""
RULES: Final = "rule"
"""Where a policy has rules, this is the kernel's as well."""


def namespace(key: str) -> str:
    return key.partition(".")[0]


def write_capability(key: str) -> str:
    """The capability that constraints name to speak about writes to a namespace."""
    return f"write:{namespace(key)}"


def may_write(role: Role, key: str, *, rules: bool = False) -> Reason | None:
    """None if this role may write the key; else why not. With `rules`, there is a namespace for them, too."""
    head, dot, rest = key.partition(".")
    if rules and head == RULES and rest:
        return None  # nobody may, which `renewing.not_by_hand` says
    if head not in WRITERS or not dot or not rest:
        known = ", ".join(f"{name}.*" for name in (*WRITERS, *([RULES] if rules else ())))
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
