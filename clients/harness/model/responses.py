"""OpenAI's Responses API, as Codex uses it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from clients.harness.model.wire import Reply, document, named_events, text_of
from clients.harness.script import Answer, Request, Say, Told

USAGE = {
    "input_tokens": 1,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 1,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 2,
}

FREE_FORM = "apply_patch"
"""A tool that Codex gives to models it knows: it takes a text and no arguments."""


def read(path: str, body: Mapping[str, Any]) -> Request:
    given = body.get("input")
    items = given if isinstance(given, list) else []
    return Request(
        path,
        body,
        told={
            item["call_id"]: Told(text_of(item.get("output")), None)
            for item in items
            if str(item.get("type", "")).endswith("call_output")
        },
        said=tuple(text_of(item.get("content")) for item in items if item.get("role") == "assistant"),
        offered=tuple(_names(body.get("tools") or ())),
    )


def _names(tools: Any) -> Iterator[str]:
    """Tools of an MCP server come in a namespace of their own."""
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from (f"{tool['name']}.{name}" for name in _names(tool["tools"]))
        else:
            yield tool.get("name") or tool["type"]


def write(request: Request, answer: Answer) -> Reply:
    number = len(request.told)
    items = [_message(answer, number)] if isinstance(answer, Say) else [_call(call) for call in answer]
    response = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": "scripted",
        "status": "completed",
        "output": items,
        "usage": USAGE,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }
    return named_events(_events(response)) if request.body.get("stream") else document(response)


def _message(said: Say, number: int) -> Mapping[str, Any]:
    content = [{"type": "output_text", "text": said.text, "annotations": []}]
    done = {"role": "assistant", "status": "completed", "content": content}
    return {"type": "message", "id": f"msg_{number}", **done}


def _call(call: Any) -> Mapping[str, Any]:
    name, arguments, namespace = call.wire
    if name == FREE_FORM:
        return {"type": "custom_tool_call", "call_id": call.id, "name": name, **arguments}
    return {
        "type": "function_call",
        "id": f"fc_{call.id}",
        "call_id": call.id,
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    } | ({"namespace": namespace} if namespace else {})


def _events(response: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield "response.created", {"response": {**response, "status": "in_progress", "output": []}}
    for index, item in enumerate(response["output"]):
        yield "response.output_item.added", {"output_index": index, "item": item}
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield "response.completed", {"response": response}
