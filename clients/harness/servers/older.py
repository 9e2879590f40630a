"""A server that speaks older revisions of MCP only: `older.py COMMAND...` hides that the command knows newer.

Clients probe with `server/discover`; a server that has never heard of it is asked to `initialize`.
"""

import json
import subprocess
import sys
import threading

server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
assert server.stdin is not None
assert server.stdout is not None
writing = threading.Lock()


def answer(line: bytes) -> None:
    with writing:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def answers() -> None:
    for line in server.stdout or ():
        answer(line)


threading.Thread(target=answers, daemon=True).start()
for line in sys.stdin.buffer:
    asked = json.loads(line)
    if asked.get("method") == "server/discover":
        unknown = {"code": -32601, "message": "Method not found"}
        answer(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": unknown}).encode() + b"\n")
    else:
        server.stdin.write(line)
        server.stdin.flush()
server.stdin.close()
server.wait()
