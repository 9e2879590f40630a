"""Pinning: what a server of tools offers counts as it was first seen, and what changes waits for a person."""

from typing import Final

from msgspec import Struct

from beliefd.kernel.approvals.state import Approval, DefinitionSubject
from beliefd.kernel.canonical import digest
from beliefd.kernel.catalogues.commands import PinTools
from beliefd.kernel.catalogues.events import Offer, ToolsPinned
from beliefd.kernel.catalogues.policy import CATALOGUES
from beliefd.kernel.catalogues.state import CATALOGUE, OfferedTool, Pinned
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules
from beliefd.kernel.values import TierName, later

GATE: Final = "definition"
TIER: Final[TierName] = "MODIFY"
"""What it takes to let a tool be another one than it was."""


class Drift(Struct, frozen=True):
    """What an offer changes: tools to pin, tools to ask about, and tools that are as pinned again."""

    pinned: tuple[OfferedTool, ...]
    asked: tuple[OfferedTool, ...]
    restored: tuple[str, ...]

    @property
    def is_none(self) -> bool:
        return not (self.pinned or self.asked or self.restored)


def drift(session: Session, tools: tuple[OfferedTool, ...], policy: Policy) -> Drift:
    held = session.catalogue
    pinned: list[OfferedTool] = []
    asked: list[OfferedTool] = []
    restored: list[str] = []
    asks_new = bool(held.pins) and (policy.catalogues or CATALOGUES).new_tools == "ask"
    for tool in tools:
        known, waits = held.pins.get(tool.name), held.offered.get(tool.name)
        if waits is not None and waits.hash == tool.hash and _is_answered(session, waits.approval_id):
            continue
        if known is not None and known.hash == tool.hash:
            restored += [tool.name] if waits is not None else []
        elif known is None and waits is None and not asks_new:
            pinned.append(tool)
        else:
            asked.append(tool)
    return Drift(tuple(pinned), tuple(asked), tuple(restored))


def _is_answered(session: Session, approval_id: str) -> bool:
    """It waits, or somebody said no. What nobody decided in time is asked again."""
    return session.approvals.by_id[approval_id].status not in ("timed_out", "withdrawn")


def pin_tools(session: Session, command: PinTools, facts: Facts) -> ToolsPinned | Refused:
    """INVARIANT: a definition is replaced by a person's yes to exactly the new one, and by nothing else."""
    if not session.session_id.startswith(CATALOGUE):
        return refused(Code.CONFLICT, "this session holds no catalogue", "$")
    found = drift(session, command.tools, facts.policy)
    pins = tuple(Pinned(tool=tool, hash=tool.hash, pinned_at=facts.now) for tool in found.pinned)
    offers = tuple(
        Offer(name=tool.name, hash=tool.hash, approval=_asked(session, command, tool, index, facts))
        for index, tool in enumerate(found.asked)
    )
    return ToolsPinned(event_id=facts.event_id, pinned=pins, offers=offers, restored=found.restored)


def _asked(session: Session, command: PinTools, tool: OfferedTool, index: int, facts: Facts) -> Approval:
    known = session.catalogue.pins.get(tool.name)
    was = None if known is None else known.tool
    policy = facts.policy.approvals
    return Approval(
        approval_id=f"apr-{facts.event_id}-{index}",
        event_id=facts.event_id,
        subject=DefinitionSubject(upstream=command.upstream, name=tool.name, definition=tool, was=was),
        content_hash=digest([command.upstream, tool.hash, None if known is None else known.hash]),
        proposers=(facts.principal.id,),
        proposer=facts.principal,
        gate=GATE,
        tier=TIER,
        reason=_reason(command.upstream, tool, was),
        rule=policy.rule_for(TIER),
        opened_at=facts.now,
        expires_at=later(facts.now, policy.expires_seconds),
    )


def _reason(upstream: str, tool: OfferedTool, was: OfferedTool | None) -> str:
    if was is None:
        return f"`{upstream}` offers a new tool `{tool.name}`"
    changed = [name for name in OfferedTool.__struct_fields__ if getattr(tool, name) != getattr(was, name)]
    told = ", ".join(f"`{name}`" for name in changed)
    return f"`{upstream}` defines `{tool.name}` otherwise than it was pinned: {told}"


def annotated_tier(tool: OfferedTool, *, reads: bool, trusted: bool) -> TierName | None:
    """What the annotations of a tool say of it; None if they say nothing. `reads`: that it reads counts.

    They are a stranger's word: only where policy trusts them do they make a tool as dangerous as DELETE.
    """
    if reads:
        return "READ_ONLY"
    if tool.hints("destructiveHint") is not False and trusted:
        return "DELETE"
    told = (tool.hints("readOnlyHint"), tool.hints("destructiveHint"))
    return None if told == (None, None) else "WRITE_LIMITED"


RULES: Final[Rules] = {PinTools: pin_tools}
