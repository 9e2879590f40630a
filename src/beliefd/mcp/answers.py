"""What a client is told: results as they came, heads of large ones, refusals, and calls that wait."""

from typing import Any, Final

import msgspec
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from beliefd.mcp.judging import Judgement, Outcome, Waiting
from beliefd.protocol.headlines import REPEATED
from beliefd.protocol.visible import visible_lines

Result = dict[str, Any]
"""The result of a call as it is sent."""
META: Final = "beliefd"
"""The key in `_meta` under which an answer says what beliefd knows of the call."""
STRUCTURED: Final = "structuredContent"
LINE: Final = 2_000
PLAIN: Final = frozenset({"content", "isError", STRUCTURED, "resultType", "_meta"})
TEXT: Final = frozenset({"type", "text"})
UNANNOUNCED: Final = (
    "No announcement was found for this call: what a hook was told by the user did not count for it"
)
"""Said where the client names its call and no hook of the same owner has announced it."""


def refused(words: str, **told: Any) -> Result:
    """An error result: the model sees it, and can go on with something else. Programs read `told`.

    INVARIANT: it has no structured content. Clients that find some show it to the model instead of the text,
    and clients that check it against the tool's output schema take the whole answer for a defect.
    """
    result = {"content": [_text(visible_lines(words)[:LINE])], "isError": True}
    known = {name: value for name, value in told.items() if value is not None}
    return {**result, "_meta": {META: known}} if known else result


def _text(words: str) -> Result:
    return {"type": "text", "text": words}


def not_run(judgement: Judgement, unannounced: bool = False) -> Result:
    """Nothing was sent to the tool: why, and what can be done about it."""
    told: dict[str, Any] = {
        "decision": "waits" if judgement.approval_id else "refused",
        "code": judgement.code or None,
        "session_id": judgement.session_id,
        "call_id": judgement.call_id,
        "status": judgement.status,
        "approval_id": judgement.approval_id,
        "approval_url": judgement.approval_url,
        "inbox_url": judgement.inbox_url,
    }
    reasons = "; ".join(judgement.reasons) or judgement.code or "no reason was given"
    if unannounced:
        reasons += f". {UNANNOUNCED}"
    if judgement.approval_id:
        places = [place for place in (judgement.inbox_url, judgement.decide_at) if place]
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


def tool_waits(waiting: Waiting) -> Result:
    words = (
        f"beliefd: the tool `{waiting.name}` is not available: its definition waits for a person "
        f"({waiting.what}). Approval {waiting.approval_id}."
    )
    return refused(words, decision="waits", approval_id=waiting.approval_id)


def uncertain(judgement: Judgement, why: str) -> Result:
    """It was sent, and nobody can say what came of it."""
    words = f"beliefd: it is not known whether this call had an effect: {why}. It is recorded as unknown."
    return refused(words, decision="unknown", call_id=judgement.call_id, session_id=judgement.session_id)


def outcome_of(result: Result) -> Outcome:
    """What is recorded of a result: its whole content, and its structured part."""
    content, failed = result["content"], result.get("isError", False)
    texts = [block["text"] for block in content if block["type"] == "text"]
    status = "error" if failed else "ok"
    error = "\n".join(texts)[:LINE] or "the tool says that it failed" if failed else None
    plain = "\n".join(texts) if len(texts) == len(content) else content
    return Outcome(status=status, result=plain, structured=result.get(STRUCTURED), error=error)


def as_plain(result: Any, spoken: str, revision: str) -> Result | None:
    """A result of nothing but texts and a structure, in the form of a revision: the SDK's tables, which look
    at each field, would leave it as it is. None for all others."""
    if not isinstance(result, dict) or not result.keys() <= PLAIN:
        return None
    content, told = result.get("content"), result.get("resultType")
    if not isinstance(content, list) or not all(map(_is_text, content)):
        return None
    kinds = (("isError", bool), (STRUCTURED, dict), ("_meta", dict))
    if not all(isinstance(result[name], kind) for name, kind in kinds if name in result):
        return None
    if told != ("complete" if spoken in MODERN_PROTOCOL_VERSIONS else None):
        return None
    bare = {name: value for name, value in result.items() if name != "resultType"}
    return {"resultType": "complete", **bare} if revision in MODERN_PROTOCOL_VERSIONS else bare


def _is_text(block: Any) -> bool:
    """A text, and nothing else that could be said of it."""
    return (
        type(block) is dict
        and block.keys() == TEXT
        and block["type"] == "text"
        and isinstance(block["text"], str)
    )


def head_of(result: Result, size: int, most: int, kept: str | None, has_schema: bool) -> Result:
    """A head of the result that has at most so many bytes.

    A tool that promises structured output cannot give a part of it: the client would take that for a defect.
    """
    whole = f"; the whole is {kept}" if kept else ""
    note = f"[beliefd: the result has {size} bytes; this is its head{whole}]"
    head: list[Any] = []
    left = most
    for block in result["content"]:
        if block["type"] != "text":
            cost = len(msgspec.json.encode(block))
            if cost > left:
                continue
            head.append(block)
            left -= cost
            continue
        text = block["text"].encode()[: max(left, 0)].decode(errors="ignore")
        if text:
            head.append(_text(text))
        left -= len(text.encode())
    head.append(_text(note))
    told = {"head_of": kept, "bytes": size}
    failed = result.get("isError", False) or (has_schema and result.get(STRUCTURED) is not None)
    return {"content": head, "isError": failed, "_meta": {META: told}}


def size_of(result: Result) -> int:
    """The bytes of what a model would read of it."""
    size = 0
    for block in result["content"]:
        size += len(block["text"].encode() if block["type"] == "text" else msgspec.json.encode(block))
    if (structured := result.get(STRUCTURED)) is not None:
        size += len(msgspec.json.encode(structured))
    return size
