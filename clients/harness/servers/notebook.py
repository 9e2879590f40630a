"""An MCP server that writes down what it is called with: `notebook.py FILE`.

It runs where `mcp` is installed.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp.types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

QUESTION = "May it run?"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
CONSENT = {"type": "object", "properties": {"approve": {"type": "boolean"}}, "required": ["approve"]}
TOOLS = {
    "note": "Write a note",
    "ask": "Ask the person, then write down what was answered",
    "fail": "Write a note and fail",
}


async def list_tools(_: Any, __: Any) -> t.ListToolsResult:
    tools = [t.Tool(name=name, description=what, input_schema=TEXT) for name, what in TOOLS.items()]
    return t.ListToolsResult(tools=tools)


async def call_tool(context: Any, params: Any) -> Any:
    note = {"tool": params.name, "arguments": params.arguments, "meta": dict(context.meta or {})}
    if params.name == "ask":
        answered = await consent(context, params)
        if isinstance(answered, t.InputRequiredResult):
            return answered
        note["answer"] = answered
    write_down(note)
    return t.CallToolResult(content=[t.TextContent(text="noted")], is_error=params.name == "fail")


def write_down(note: dict[str, Any]) -> None:
    with Path(sys.argv[1]).open("a") as notes:
        notes.write(json.dumps(note, default=str) + "\n")


async def consent(context: Any, params: Any) -> Any:
    """What the client answers for its person; newer clients are sent back to ask, older ones are asked."""
    if params.input_responses is not None:
        answer = params.input_responses["consent"]
    elif context.session.can_send_request:
        asked = context.request_id
        answer = await context.session.elicit_form(QUESTION, CONSENT, related_request_id=asked)
    else:
        form = t.ElicitRequestFormParams(message=QUESTION, requested_schema=CONSENT)
        wanted: Any = {"consent": t.ElicitRequest(params=form)}
        return t.InputRequiredResult(input_requests=wanted, request_state="1")
    return answer.model_dump(mode="json")


async def main() -> None:
    server = Server("notebook", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


asyncio.run(main())
