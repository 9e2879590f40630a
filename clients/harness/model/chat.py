"""OpenAI's Chat Completions API, as most frameworks use it."""

import json
from collections.abc import Mapping
from typing import Any

from clients.harness.model.wire import Reply, data_events, document, text_of
from clients.harness.script import Answer, Request, Say, Told

USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def read(path: str, body: Mapping[str, Any]) -> Request:
    messages = body.get("messages", ())
    return Request(
        path,
        body,
        told={
            m["tool_call_id"]: Told(text_of(m.get("content")), None) for m in messages if m["role"] == "tool"
        },
        said=tuple(text_of(m["content"]) for m in messages if m["role"] == "assistant" and m.get("content")),
        offered=tuple(tool["function"]["name"] for tool in body.get("tools") or ()),
    )


def write(request: Request, answer: Answer) -> Reply:
    if isinstance(answer, Say):
        message: dict[str, Any] = {"role": "assistant", "content": answer.text}
        reason = "stop"
    else:
        calls = [_call(index, call) for index, call in enumerate(answer)]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
        reason = "tool_calls"
    base = {"id": f"chat_{len(request.told)}", "created": 0, "model": "scripted", "usage": USAGE}
    if not request.body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return document({**base, "object": "chat.completion", "choices": [choice]})
    parts: tuple[tuple[dict[str, Any], str | None], ...] = (message, None), ({}, reason)
    choices = ({"index": 0, "delta": delta, "finish_reason": ended} for delta, ended in parts)
    chunk = {**base, "object": "chat.completion.chunk"}
    return data_events(({**chunk, "choices": [choice]} for choice in choices), end="data: [DONE]\n\n")


def _call(index: int, call: Any) -> Mapping[str, Any]:
    function = {"name": call.wire.name, "arguments": json.dumps(call.wire.arguments)}
    return {"index": index, "id": call.id, "type": "function", "function": function}
