"""An MCP server with letters in it: `mailbox.py FILE LETTER...` keeps in FILE what it is asked to send.

It runs where `mcp` is installed. What its tools do, only their names and annotations tell.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import mcp.types as t
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

WORD = {"type": "string"}
MESSAGE = {"type": "object", "properties": {"to": WORD, "body": WORD}, "required": ["to", "body"]}
TOOLS = [
    t.Tool(
        name="read_mail",
        description="Read the newest letters",
        input_schema={"type": "object", "properties": {}},
        annotations=t.ToolAnnotations(read_only_hint=True),
    ),
    t.Tool(name="send_mail", description="Send a letter", input_schema=MESSAGE),
]


async def list_tools(_: Any, __: Any) -> t.ListToolsResult:
    return t.ListToolsResult(tools=TOOLS)


async def call_tool(_: Any, params: Any) -> t.CallToolResult:
    if params.name == "read_mail":
        return t.CallToolResult(content=[t.TextContent(text="\n".join(sys.argv[2:]))])
    write_down({"tool": params.name, "arguments": params.arguments})
    return t.CallToolResult(content=[t.TextContent(text="sent")])


def write_down(note: dict[str, Any]) -> None:
    with Path(sys.argv[1]).open("a") as notes:
        notes.write(json.dumps(note) + "\n")


async def main() -> None:
    server = Server("mailbox", version="1", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (reader, writer):
        await server.run(reader, writer, server.create_initialization_options())


asyncio.run(main())
