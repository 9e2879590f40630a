"""Who may tell what an agent was told."""

from typing import Final

from msgspec import UNSET

from beliefd.kernel.context.commands import AddContext
from beliefd.kernel.context.events import ContextAdded
from beliefd.kernel.context.findings import ContextFindings
from beliefd.kernel.context.policy import READ_BY
from beliefd.kernel.context.state import ContextRecord
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.labels import ATTESTED, WITNESSED, Label
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules


def add_context(session: Session, command: AddContext, facts: Facts) -> ContextAdded | Refused:
    """INVARIANT: only whom policy names says what the user said and what tools gave back, and only in
    sessions of the same owner."""
    policy, who = facts.policy.context, facts.principal
    if policy is UNSET:
        text = "policy has no `context`: nothing that is told here would count"
        return refused(Code.FORBIDDEN, text, "$", missing="context")
    if not policy.may_tell(who):
        text = f"`{who.id}` is none of `context.tellers`: what an agent was told is for others to say"
        return refused(Code.FORBIDDEN, text, "$")
    found = facts.findings
    if isinstance(found, ContextFindings) and found.opened_by is not UNSET:
        text = f"this session was opened by `{found.opened_by}`: others than its owner tell nothing here"
        return refused(Code.FORBIDDEN, text, "$")
    if (reading := READ_BY.get(command.tool_id or "")) in (policy.closed or ()):
        return refused(Code.FORBIDDEN, f"policy closes {reading} of tool servers (`context.closed`)", "$")
    if len(session.context.items) >= policy.max_items:
        text = f"a session takes {policy.max_items} items of context at most"
        return refused(Code.QUOTA_EXCEEDED, text, "$", limit=policy.max_items)
    if command.content is not None and not _is_kept(facts):
        return refused(Code.CONFLICT, "its text is not kept: tell it again", "$.content")
    tool_id = command.tool_id
    if command.call_id is not None:
        call = session.substrate.calls.get(command.call_id)
        if call is None:
            text = f"no call `{command.call_id[:64]}` was let through in this session"
            return refused(Code.NOT_FOUND, text, "$.call_id")
        if tool_id not in (None, call.tool_id):
            text = f"the call is one of `{call.tool_id}`, not of `{command.tool_id}`"
            return refused(Code.CONFLICT, text, "$.tool_id")
        tool_id = call.tool_id
    label: Label = WITNESSED if command.kind == "result" and policy.is_witness(who) else ATTESTED
    item = ContextRecord(
        context_id=f"ctx-{facts.event_id}",
        event_id=facts.event_id,
        kind=command.kind,
        label=label,
        told_by=who.id,
        content=command.content,
        size=command.size,
        tool_id=tool_id,
        call_id=command.call_id,
        join_key=command.join_key,
        error=command.error,
    )
    return ContextAdded(item=item)


def _is_kept(facts: Facts) -> bool:
    return isinstance(facts.findings, ContextFindings) and facts.findings.kept


RULES: Final[Rules] = {AddContext: add_context}
