"""Anthropic's Messages API, as Claude Code uses it."""

from collections.abc import Iterator, Mapping
from typing import Any

from clients.harness.model.wire import Reply, document, named_events, text_of
from clients.harness.script import Answer, Request, Say, Told


def read(path: str, body: Mapping[str, Any]) -> Request:
    blocks = list(_blocks(body))
    return Request(
        path,
        body,
        told={
            b["tool_use_id"]: Told(text_of(b.get("content")), bool(b.get("is_error")))
            for _, b in blocks
            if b["type"] == "tool_result"
        },
        said=tuple(b["text"] for role, b in blocks if role == "assistant" and b["type"] == "text"),
        offered=tuple(tool["name"] for tool in body.get("tools") or ()),
    )


def _blocks(body: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for message in body.get("messages", ()):
        content = message.get("content")
        if isinstance(content, str):
            yield message["role"], {"type": "text", "text": content}
        else:
            yield from ((message["role"], block) for block in content or ())


def write(request: Request, answer: Answer) -> Reply:
    if isinstance(answer, Say):
        content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}]
        reason = "end_turn"
    else:
        content = [
            {"type": "tool_use", "id": call.id, "name": call.wire.name, "input": dict(call.wire.arguments)}
            for call in answer
        ]
        reason = "tool_use"
    message = {
        "id": f"msg_{len(request.told)}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model", "scripted"),
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }
    return named_events(_events(message)) if request.body.get("stream") else document(message)


def _events(message: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "message_start", {"message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        empty: dict[str, Any] = {"text": ""} if block["type"] == "text" else {"input": {}}
        yield "content_block_start", {"index": index, "content_block": {**block, **empty}}
        yield "content_block_delta", {"index": index, "delta": _delta(block)}
        yield "content_block_stop", {"index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ended, "usage": {"output_tokens": 5}}
    yield "message_stop", {}


def _delta(block: Mapping[str, Any]) -> Mapping[str, Any]:
    if block["type"] == "text":
        return {"type": "text_delta", "text": block["text"]}
    return {"type": "input_json_delta", "partial_json": document(block["input"]).body.decode()}
