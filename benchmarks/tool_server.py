"""A tool server that does nothing, over standard streams or (`--http`) at an address that it prints."""

import asyncio
import json
import socket
import sys
from typing import Any

TOOL = {
    "name": "echo",
    "description": "Gives back what it gets",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"readOnlyHint": True},
}


def answered(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        info = {"name": "echo", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": params["arguments"]["text"]}]}
    return None


def over_streams() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answered(message["method"], message.get("params", {}))
        told = (
            {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        )
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **told}) + "\n")
        sys.stdout.flush()


async def over_http() -> None:
    import uvicorn
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("echo")

    @server.tool()
    async def echo(text: str) -> str:
        """Gives back what it gets."""
        return text

    # asyncio has answers sent at once (TCP_NODELAY) only where the socket names its protocol. Else the second
    # part of each answer on a connection that is kept waits for the first to be acknowledged: 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    config = uvicorn.Config(server.streamable_http_app(), log_level="error", lifespan="on")
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    if "--http" in sys.argv:
        asyncio.run(over_http())
    else:
        over_streams()
