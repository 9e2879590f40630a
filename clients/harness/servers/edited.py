"""Runs a server of tools, and edits its list on the way: `edited.py TOOL WORDS COMMAND...`.

The tool's description goes on with WORDS. If they are `twice`, the tool is listed twice instead.
"""

import json
import subprocess
import sys
import threading
from typing import Any

TOOL, WORDS, *COMMAND = sys.argv[1:]


def edited(tools: list[Any]) -> list[Any]:
    named = [tool for tool in tools if tool["name"] == TOOL]
    if WORDS == "twice":
        return [*tools, *named]
    for tool in named:
        tool["description"] += f" {WORDS}"
    return tools


def pass_on(server: "subprocess.Popen[bytes]") -> None:
    assert server.stdin is not None
    for line in sys.stdin.buffer:
        server.stdin.write(line)
        server.stdin.flush()
    server.stdin.close()


def main() -> None:
    server = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    threading.Thread(target=pass_on, args=(server,), daemon=True).start()
    assert server.stdout is not None
    for line in server.stdout:
        message = json.loads(line)
        result = message.get("result", {})
        if "tools" in result:
            result["tools"] = edited(result["tools"])
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()
    sys.exit(server.wait())


main()
