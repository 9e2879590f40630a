"""A tool server over HTTP, made with the SDK: its sessions remember, and it can answer with very much.

http_upstream.py FOLDER    writes its address to FOLDER/upstream.address, effects to FOLDER/effects
"""

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from starlette.responses import Response

FOLDER = Path(sys.argv[1])
server = MCPServer("remembers")
counts: dict[str, int] = {}


@server.tool()
async def count(ctx: Context) -> str:
    """How often this session has asked."""
    request = ctx.request_context.request
    key = "" if request is None else request.headers.get("mcp-session-id", "")
    counts[key] = counts.get(key, 0) + 1
    return str(counts[key])


@server.tool()
async def write(text: str) -> str:
    """Leaves a trace."""
    with (FOLDER / "effects").open("a") as file:
        file.write(json.dumps({"text": text}) + "\n")
    return "written"


@server.tool()
async def large(n: int) -> str:
    """So many bytes."""
    return "x" * n


@server.tool()
async def slow(ctx: Context) -> str:
    """Takes its time, with progress."""
    for step in range(1, 4):
        await ctx.report_progress(step, 3)
        await asyncio.sleep(0.05)
    return "done"


@server.tool()
async def change(what: str, ctx: Context) -> str:
    """Says that a list has changed."""
    await (ctx.notify_prompts_changed() if what == "prompts" else ctx.notify_resources_changed())
    return "changed"


@server.tool()
async def hang() -> str:
    """Never answers."""
    await asyncio.Event().wait()
    return "never seen"


@server.tool()
async def secret(ctx: Context) -> str:
    """The header that it was called with."""
    request = ctx.request_context.request
    return "" if request is None else request.headers.get("x-secret", "none")


@server.tool()
async def broken() -> str:
    """Is answered with a status that says nothing."""
    (FOLDER / "broken").touch()
    return "never seen"


class Breaking:
    """Answers the call after `broken` was run with 502, as a proxy does whose server has gone."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self.app(scope, receive, send)
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        sent = False

        async def again() -> Any:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": body, "more_body": False}

        if b'"tools/call"' in body and b'"broken"' in body:
            await server.call_tool("broken", {})
            await Response(status_code=502)(scope, again, send)
            return
        await self.app(scope, again, send)


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    app = Breaking(server.streamable_http_app(json_response="--json" in sys.argv))
    config = uvicorn.Config(app, log_level="error", lifespan="on")
    (FOLDER / "upstream.new").write_text(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
    (FOLDER / "upstream.new").rename(FOLDER / "upstream.address")
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
