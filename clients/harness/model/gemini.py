"""Gemini's generateContent and streamGenerateContent."""

import json
from collections.abc import Mapping
from typing import Any

from clients.harness.model.wire import Reply, data_events, document, text_of
from clients.harness.script import Answer, Request, Say, Told

SIDE_ANSWER = {
    "reasoning": "scripted",
    "complexity_reasoning": "scripted",
    "complexity_score": 10,
    "model_choice": "flash",
    "next_speaker": "user",
}
"""One object for all questions that the client asks with a schema, beside the conversation."""


def read(path: str, body: Mapping[str, Any]) -> Request:
    parts = [
        (content.get("role"), part)
        for content in body.get("contents", ())
        for part in content.get("parts", ())
    ]
    results = [part["functionResponse"] for _, part in parts if "functionResponse" in part]
    return Request(
        path,
        body,
        told={result["id"]: _told(result) for result in results if "id" in result},
        said=tuple(part["text"] for role, part in parts if role == "model" and "text" in part),
        offered=() if _asks_with_a_schema(body) else tuple(_names(body)),
    )


def _told(result: Mapping[str, Any]) -> Told:
    response = result.get("response", {})
    return Told(text_of(response.get("output", response.get("error", response))), "error" in response)


def _names(body: Mapping[str, Any]) -> list[str]:
    return [f["name"] for tool in body.get("tools") or () for f in tool.get("functionDeclarations", ())]


def _asks_with_a_schema(body: Mapping[str, Any]) -> bool:
    return any(name in body.get("generationConfig", {}) for name in ("responseJsonSchema", "responseSchema"))


def write(request: Request, answer: Answer) -> Reply:
    if "countTokens" in request.path:
        return document({"totalTokens": 5})
    if _asks_with_a_schema(request.body):
        parts: list[dict[str, Any]] = [{"text": json.dumps(SIDE_ANSWER)}]
    elif isinstance(answer, Say):
        parts = [{"text": answer.text}]
    else:
        parts = [
            {"functionCall": {"id": call.id, "name": call.wire.name, "args": dict(call.wire.arguments)}}
            for call in answer
        ]
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    value = {"candidates": [candidate], "usageMetadata": usage}
    return data_events([value]) if "stream" in request.path else document(value)
