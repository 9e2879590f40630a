"""What a client is told: results as they came, heads of large ones, refusals, and calls that wait."""

from typing import Any, Final

import mcp_types as types
import msgspec

from beliefd.mcp.judging import Judgement, Outcome, Waiting
from beliefd.protocol.headlines import REPEATED
from beliefd.protocol.visible import visible_lines

META: Final = "beliefd"
"""The key in `_meta` under which an answer says what beliefd knows of the call."""
LINE: Final = 2_000
UNANNOUNCED: Final = (
    "No announcement was found for this call: what a hook was told by the user did not count for it"
)
"""Said where the client names its call and no hook of the same owner has announced it."""


def refused(words: str, **told: Any) -> types.CallToolResult:
    """An error result: the model sees it, and can go on with something else. Programs read `told`.

    INVARIANT: it has no structured content. Clients that find some show it to the model instead of the text,
    and clients that check it against the tool's output schema take the whole answer for a defect.
    """
    text = types.TextContent(text=visible_lines(words)[:LINE])
    known = {name: value for name, value in told.items() if value is not None}
    return types.CallToolResult(content=[text], is_error=True, _meta={META: known} if known else None)


def not_run(judgement: Judgement, unannounced: bool = False) -> types.CallToolResult:
    """Nothing was sent to the tool: why, and what can be done about it."""
    told: dict[str, Any] = {
        "decision": "waits" if judgement.approval_id else "refused",
        "code": judgement.code or None,
        "session_id": judgement.session_id,
        "call_id": judgement.call_id,
        "status": judgement.status,
        "approval_id": judgement.approval_id,
        "approval_url": judgement.approval_url,
    }
    reasons = "; ".join(judgement.reasons) or judgement.code or "no reason was given"
    if unannounced:
        reasons += f". {UNANNOUNCED}"
    if judgement.approval_id:
        places = [place for place in (judgement.approval_url, judgement.decide_at) if place]
        where = f" ({'; '.join(places)})" if places else ""
        words = (
            "beliefd: this call waits for a person; it has not run. "
            f"Approval {judgement.approval_id}{where}. Why: {reasons}. "
            "Once it is approved, make the same call again."
        )
        return refused(words, **told)
    if judgement.code == "REPEATED":
        words = (
            f"beliefd: {REPEATED}: this call was let through already "
            f"(call {judgement.call_id}, {judgement.status})."
        )
        return refused(words, **told)
    return refused(f"beliefd refused this call; it has not run. Why: {reasons}.", **told)


def tool_waits(waiting: Waiting) -> types.CallToolResult:
    words = (
        f"beliefd: the tool `{waiting.name}` is not available: its definition waits for a person "
        f"({waiting.what}). Approval {waiting.approval_id}."
    )
    return refused(words, decision="waits", approval_id=waiting.approval_id)


def uncertain(judgement: Judgement, why: str) -> types.CallToolResult:
    """It was sent, and nobody can say what came of it."""
    words = f"beliefd: it is not known whether this call had an effect: {why}. It is recorded as unknown."
    return refused(words, decision="unknown", call_id=judgement.call_id, session_id=judgement.session_id)


def outcome_of(result: types.CallToolResult) -> Outcome:
    """What is recorded of a result: its whole content, and its structured part."""
    content = [block.model_dump(by_alias=True, mode="json", exclude_none=True) for block in result.content]
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    status = "error" if result.is_error else "ok"
    error = "\n".join(texts)[:LINE] or "the tool says that it failed" if result.is_error else None
    plain = "\n".join(texts) if len(texts) == len(content) else content
    return Outcome(status=status, result=plain, structured=result.structured_content, error=error)


def head_of(
    result: types.CallToolResult, size: int, most: int, kept: str | None, has_schema: bool
) -> types.CallToolResult:
    """A head of the result that has at most so many bytes.

    A tool that promises structured output cannot give a part of it: the client would take that for a defect.
    """
    whole = f"; the whole is {kept}" if kept else ""
    note = f"[beliefd: the result has {size} bytes; this is its head{whole}]"
    head: list[Any] = []
    left = most
    for block in result.content:
        if not isinstance(block, types.TextContent):
            cost = len(block.model_dump_json(by_alias=True, exclude_none=True))
            if cost > left:
                continue
            head.append(block)
            left -= cost
            continue
        text = block.text.encode()[: max(left, 0)].decode(errors="ignore")
        if text:
            head.append(types.TextContent(text=text))
        left -= len(text.encode())
    head.append(types.TextContent(text=note))
    told = {"head_of": kept, "bytes": size}
    failed = result.is_error or (has_schema and result.structured_content is not None)
    return types.CallToolResult(content=head, is_error=failed, _meta={META: told})


def size_of(result: types.CallToolResult) -> int:
    """The bytes of what a model would read of it."""
    size = 0
    for block in result.content:
        if isinstance(block, types.TextContent):
            size += len(block.text.encode())
        else:
            size += len(block.model_dump_json(by_alias=True, exclude_none=True))
    if result.structured_content is not None:
        size += len(msgspec.json.encode(result.structured_content))
    return size
