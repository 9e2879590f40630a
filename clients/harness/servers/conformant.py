"""The MCP server that the conformance suite asks for: on stdio, or over HTTP with `conformant.py PORT`.

It runs where `mcp` is installed. The suite names every tool, resource and prompt, and what each answers.
"""

import asyncio
import base64
import json
import struct
import sys
import zlib
from typing import Any

import mcp.types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

PAUSE = 0.05
ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def text_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


HEADER = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
RED = chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
PNG = text_of(b"\x89PNG\r\n\x1a\n" + HEADER + RED + chunk(b"IEND", b""))
"""One red pixel."""
FORMAT = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
WAV = text_of(b"RIFF" + struct.pack("<I", 36) + b"WAVE" + FORMAT + b"data" + struct.pack("<I", 0))
"""Silence."""


def words(text: str) -> t.TextContent:
    return t.TextContent(text=text)


def image() -> t.ImageContent:
    return t.ImageContent(data=PNG, mime_type="image/png")


def embedded(uri: str, kind: str, text: str) -> t.EmbeddedResource:
    return t.EmbeddedResource(resource=t.TextResourceContents(uri=uri, mime_type=kind, text=text))


PLAIN: dict[str, list[Any]] = {
    "test_simple_text": [words("This is a simple text response for testing.")],
    "test_image_content": [image()],
    "test_audio_content": [t.AudioContent(data=WAV, mime_type="audio/wav")],
    "test_embedded_resource": [
        embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        words("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
    "json_schema_2020_12_tool": [words("fits")],
}


async def with_logging(context: Any, _: Any) -> Any:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", text, related_request_id=context.request_id)
        await asyncio.sleep(PAUSE)
    return t.CallToolResult(content=[words("logged")])


async def with_progress(context: Any, _: Any) -> Any:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await asyncio.sleep(PAUSE)
    return t.CallToolResult(content=[words("progressed")])


async def failing(_: Any, __: Any) -> Any:
    text = "This tool intentionally returns an error for testing"
    return t.CallToolResult(content=[words(text)], is_error=True)


async def sampling(context: Any, arguments: Any) -> Any:
    asked = t.SamplingMessage(role="user", content=words(arguments["prompt"]))
    said = await context.session.create_message(
        [asked], max_tokens=100, related_request_id=context.request_id
    )
    return t.CallToolResult(content=[words(f"LLM response: {said.content.text}")])


async def eliciting(context: Any, arguments: Any) -> Any:
    fields = {name: {"type": "string", "description": name} for name in ("username", "email")}
    form = {"type": "object", "properties": fields, "required": list(fields)}
    said = await context.session.elicit_form(
        arguments["message"], form, related_request_id=context.request_id
    )
    return t.CallToolResult(content=[words(f"User response: {said.action} {json.dumps(said.content)}")])


ACTIVE = {
    "test_tool_with_logging": with_logging,
    "test_tool_with_progress": with_progress,
    "test_error_handling": failing,
    "test_sampling": sampling,
    "test_elicitation": eliciting,
}
SCHEMAS: dict[str, dict[str, Any]] = {
    "test_sampling": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]},
    "test_elicitation": {
        "type": "object",
        "properties": {"message": {"type": "string"}},
        "required": ["message"],
    },
    "json_schema_2020_12_tool": {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": False,
    },
}


async def list_tools(_: Any, __: Any) -> t.ListToolsResult:
    tools = [
        t.Tool(
            name=name,
            description=f"For the suite: {name}",
            input_schema=SCHEMAS.get(name, ANYTHING),
            annotations=t.ToolAnnotations(read_only_hint=True),
        )
        for name in (*PLAIN, *ACTIVE)
    ]
    return t.ListToolsResult(tools=tools)


async def call_tool(context: Any, params: Any) -> Any:
    if params.name in PLAIN:
        return t.CallToolResult(content=PLAIN[params.name])
    return await ACTIVE[params.name](context, params.arguments or {})


RESOURCES: dict[str, Any] = {
    "test://static-text": {
        "mime_type": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mime_type": "image/png", "blob": PNG},
    "test://watched-resource": {"mime_type": "text/plain", "text": "watched"},
}
TEMPLATE = "test://template/{id}/data"


async def list_resources(_: Any, __: Any) -> t.ListResourcesResult:
    shown = [
        t.Resource(uri=uri, name=uri, description=f"For the suite: {uri}", mime_type=held["mime_type"])
        for uri, held in RESOURCES.items()
    ]
    return t.ListResourcesResult(resources=shown)


async def list_templates(_: Any, __: Any) -> t.ListResourceTemplatesResult:
    template = t.ResourceTemplate(uri_template=TEMPLATE, name="template", mime_type="application/json")
    return t.ListResourceTemplatesResult(resource_templates=[template])


async def read_resource(_: Any, params: Any) -> t.ReadResourceResult:
    uri = str(params.uri)
    held = RESOURCES.get(uri)
    if held is None:
        name = uri.removeprefix("test://template/").removesuffix("/data")
        told = {"id": name, "templateTest": True, "data": f"Data for ID: {name}"}
        held = {"mime_type": "application/json", "text": json.dumps(told)}
    made: Any = t.BlobResourceContents if "blob" in held else t.TextResourceContents
    return t.ReadResourceResult(contents=[made(uri=uri, **held)])


async def nothing(_: Any, __: Any) -> t.EmptyResult:
    return t.EmptyResult()


PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


async def list_prompts(_: Any, __: Any) -> t.ListPromptsResult:
    shown = [
        t.Prompt(
            name=name,
            description=f"For the suite: {name}",
            arguments=[t.PromptArgument(name=one, description=one, required=True) for one in wanted],
        )
        for name, wanted in PROMPTS.items()
    ]
    return t.ListPromptsResult(prompts=shown)


async def get_prompt(_: Any, params: Any) -> t.GetPromptResult:
    given = params.arguments or {}
    contents: dict[str, list[Any]] = {
        "test_simple_prompt": [words("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            words(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            embedded(given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            words("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [image(), words("Please analyze the image above.")],
    }
    said = [t.PromptMessage(role="user", content=content) for content in contents[params.name]]
    return t.GetPromptResult(messages=said)


async def complete(_: Any, __: Any) -> t.CompleteResult:
    return t.CompleteResult(
        completion=t.Completion(values=["paris", "park", "party"], total=3, has_more=False)
    )


def server() -> Any:
    return Server(
        "conformant",
        version="1",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=nothing,
        on_unsubscribe_resource=nothing,
        on_subscriptions_listen=ListenHandler(InMemorySubscriptionBus()),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=nothing,
    )


async def over_stdio() -> None:
    made = server()
    async with stdio_server() as (reader, writer):
        await made.run(reader, writer, made.create_initialization_options())


def over_http(port: int) -> None:
    import uvicorn

    uvicorn.run(server().streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")


if len(sys.argv) > 1:
    over_http(int(sys.argv[1]))
else:
    asyncio.run(over_stdio())
