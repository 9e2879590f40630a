"""Names in a policy that can be nobody's: patterns where none are read, no ids, and what cannot be seen.

INVARIANT: no rule comes into force that names what can never be. Such a deny would let everything pass.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from msgspec import UNSET, Struct

from beliefd.kernel.names import ALL
from beliefd.kernel.policy import ApproverRule, Policy
from beliefd.kernel.substrate.constraints import Subject
from beliefd.kernel.substrate.namespaces import WRITERS
from beliefd.kernel.values import PEOPLE, Role, shown
from beliefd.protocol.visible import visible

WRITE: Final = "write:"
PROGRAMS: Final = (*(role.value for role in Role if role not in PEOPLE), "gateway", "hook", "adapter")
SCHEMES: Final = ("human", "operator", *(role.value for role in PEOPLE), *PROGRAMS)
"""What ids of principals begin with, unless a token is named otherwise."""
NEAR: Final = 0.75
"""What looks so much like a known name is meant to be it."""


class Unnamed(Struct, frozen=True):
    """A name that can be nobody's, where it stands, and what would do instead."""

    path: str
    message: str
    remedy: str


def unnamed(policy: Policy) -> Iterator[Unnamed]:
    for path, name in _names(policy):
        yield from _unseen(path, name)
    for path, principal in _principals(policy):
        yield from _principal(path, principal)
    for path, rule in _approvers(policy):
        yield from _approver(path, rule)
    for at, issued in enumerate(policy.capabilities or ()):
        for place, tool in enumerate(issued.scope.tools):
            if ALL in tool and tool != ALL:
                wrong = f"`{shown(tool)}` is a pattern, and a scope names tools one by one"
                yield Unnamed(
                    f"$.capabilities[{at}].scope.tools[{place}]", wrong, f"name each, or `{ALL}` for all"
                )


def wrong_subject(subject: Subject, policy: Policy) -> tuple[str, str] | None:
    """What is wrong with the subject of a constraint, and what would do."""
    name = subject.tool_id or subject.capability
    if name is None:
        return None
    if (wrong := next(_unseen("", name), None)) is not None:
        return wrong.message, wrong.remedy
    if ALL in name:
        remedy = "write one constraint for each, or `subject: null` with a `when` that reads the call"
        return f"`{shown(name)}` is a pattern, and a subject names one tool or one capability", remedy
    return None if subject.capability is None else _capability(subject.capability, policy)


def _capability(name: str, policy: Policy) -> tuple[str, str] | None:
    """Writes are the kernel's own words. All others are words of tools, and servers bring their own tools."""
    if name in {one for tool in policy.tools.values() for one in tool.capabilities}:
        return None
    known = [f"{WRITE}{space}" for space in WRITERS]
    near = get_close_matches(name, known, 1, NEAR)
    if name in known or not (near or name.startswith(WRITE)):
        return None
    meant = f"did you mean `{near[0]}`? " if near else ""
    fitting = ", ".join(f"`{one}`" for one in known)
    return (
        f"there is no capability `{shown(name)}`",
        f"{meant}here fits {fitting}, or what a tool names as its own",
    )


def _unseen(path: str, name: str) -> Iterator[Unnamed]:
    if name != name.strip() or visible(name) != name:
        wrong = f"`{visible(shown(name))}` has blanks at an end, or characters that cannot be seen"
        yield Unnamed(path, wrong, "take them out: no name is matched that is spelled otherwise")


def _names(policy: Policy) -> Iterator[tuple[str, str]]:
    """Every name that is compared with others, beside subjects."""
    for tool, given in policy.tools.items():
        yield f"$.tools.{tool}", tool
        yield from ((f"$.tools.{tool}.capabilities", one) for one in given.capabilities)
    yield from ((f"$.tiers.tools.{tool}", tool) for tool in policy.tiers.tools)
    for at, tool in enumerate(policy.approvals.tools_without_person):
        yield f"$.approvals.tools_without_person[{at}]", tool
    for at, issued in enumerate(policy.capabilities or ()):
        for place, tool in enumerate(issued.scope.tools):
            yield f"$.capabilities[{at}].scope.tools[{place}]", tool
    for at, asked in enumerate(policy.prove or ()):
        for field in ("tool", "capability"):
            if (name := getattr(asked, field)) is not UNSET:
                yield f"$.prove[{at}].{field}", name


def _principals(policy: Policy) -> Iterator[tuple[str, str]]:
    for at, raised in enumerate(policy.tiers.raise_):
        yield from ((f"$.tiers.raise[{at}].agents[{n}]", one) for n, one in enumerate(raised.agents))
    for at, issued in enumerate(policy.capabilities or ()):
        yield from ((f"$.capabilities[{at}].principals[{n}]", one) for n, one in enumerate(issued.principals))
    for relay, origins in policy.security.relays.items():
        yield f"$.security.relays.{relay}", relay
        yield from ((f"$.security.relays.{relay}[{n}]", one) for n, one in enumerate(origins))
    for path, rule in _approvers(policy):
        yield from ((f"{path}.principals[{n}]", one) for n, one in enumerate(rule.principals))


def _principal(path: str, name: str) -> Iterator[Unnamed]:
    yield from _unseen(path, name)
    scheme, parts, rest = name.partition("://")
    if name == ALL or (parts and rest and scheme in SCHEMES):
        return
    near = get_close_matches(scheme, SCHEMES, 1, NEAR)
    if parts and rest and not near:
        return  # a token may be named with a scheme of its own
    guessed = f"{near[0]}://{rest}" if near and rest else f"agent://{scheme}"
    wrong = f"`{shown(name)}` is the id of no principal"
    yield Unnamed(
        path,
        wrong,
        f"did you mean `{shown(guessed)}`? ids are `SCHEME://NAME`, as `beliefd token list` shows",
    )


def _approvers(policy: Policy) -> Iterator[tuple[str, ApproverRule]]:
    given = policy.approvals
    yield from ((f"$.approvals.approvers.{tier}", rule) for tier, rule in given.approvers.items())
    yield "$.approvals.otherwise", given.otherwise
    yield "$.approvals.escalate_to", given.escalate_to


def _approver(path: str, rule: ApproverRule) -> Iterator[Unnamed]:
    for at, name in enumerate(rule.principals):
        if name.partition("://")[0] in PROGRAMS:
            yield Unnamed(
                f"{path}.principals[{at}]",
                f"`{shown(name)}` is a program, and only people approve",
                "name people",
            )
    if rule.principals and set(rule.roles) >= set(PEOPLE):
        wrong = "`principals` changes nothing: whoever has one of `roles` may decide, and all people do"
        yield Unnamed(
            f"{path}.principals", wrong, "add `roles: []`, so that only they may decide, or take it out"
        )
