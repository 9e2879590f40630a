"""A judge that decides by a file, for tests of the gateway's own work; run as a program, a gateway with it.

fake.py FOLDER CONFIG    FOLDER/verdicts.json says what is decided, FOLDER/ledger.jsonl what was asked
"""

import asyncio
import json
import socket
import sys
import time
from pathlib import Path
from typing import Any

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.mcp.judging import Judgement, Outcome, Pins, Proposed, Waiting


class FakeJudge:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pins: dict[tuple[str, str], str] = {}
        self.begun: dict[str, str] = {}
        self.calls = 0

    def _log(self, **entry: Any) -> None:
        with (self.folder / "ledger.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")

    def _verdicts(self, part: str = "") -> dict[str, Any]:
        path = self.folder / "verdicts.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        if found.get("unreachable") in (True, part):
            raise BeliefdError(Code.STORAGE_UNAVAILABLE, "cannot reach the server")
        return found

    async def open_session(self, key: str) -> str:
        self._verdicts()
        self._log(opened=key)
        return f"session-{key[-8:]}"

    async def session_of(self, join_key: str) -> str | None:
        found: str | None = self._verdicts().get("joins", {}).get(join_key)
        return found

    async def pin(self, upstream: str, tools: list[dict[str, Any]]) -> Pins:
        self._verdicts()
        self._log(pinned=upstream)
        pinned, waiting = set(), {}
        for tool in tools:
            held = self.pins.setdefault((upstream, tool["name"]), json.dumps(tool, sort_keys=True))
            if held == json.dumps(tool, sort_keys=True):
                pinned.add(tool["name"])
            else:
                waiting[tool["name"]] = Waiting(tool["name"], "approval-drift", "its description changed")
        return Pins(frozenset(pinned), waiting)

    async def propose(self, call: Proposed) -> Judgement:
        verdicts = self._verdicts()
        verdict = verdicts.get(call.tool, verdicts.get("*", "allow"))
        self._log(proposed=call.tool, args=call.arguments, join=call.join_key, session=call.session_id)
        if verdict == "deny":
            return Judgement(session_id=call.session_id, code="DENIED", reasons=("rule R7 says no",))
        if verdict == "ask" and verdicts.get("approval") != "approved":
            return Judgement(
                session_id=call.session_id,
                code="ASKED",
                reasons=("a person decides",),
                approval_id="approval-1",
                approval_url="http://127.0.0.1:8642/v1/approvals/approval-1",
                inbox_url="http://127.0.0.1:8642/inbox/approval-1",
            )
        if call.join_key in self.begun:
            call_id = self.begun[call.join_key]
            return Judgement(session_id=call.session_id, code="REPEATED", call_id=call_id, status="running")
        self.calls += 1
        call_id = self.begun[call.join_key] = f"call-{self.calls}-{time.time_ns()}"
        self._log(begun=call_id, tool=call.tool)
        return Judgement(session_id=call.session_id, seconds=verdicts.get("seconds", 20), call_id=call_id)

    async def wait(self, approval_id: str, seconds: float) -> tuple[str, str]:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            status = self._verdicts().get("approval")
            if status:
                return status, approval_id
            await asyncio.sleep(0.02)
        return "pending", approval_id

    async def report(self, session_id: str, call_id: str, outcome: Outcome) -> str | None:
        self._verdicts("reports")
        size = len(json.dumps(outcome.result))
        self._log(reported=call_id, status=outcome.status, error=outcome.error, size=size)
        return "sha256:whole"

    async def tell(self, session_id: str, tool: str, text: str, structured: Any = None) -> None:
        self._log(told=tool, text=text, session=session_id)


async def main(folder: Path, config: Path, tokens: tuple[str, ...]) -> None:
    from beliefd.mcp.config import read_config
    from beliefd.mcp.gateway import Gateway
    from beliefd.mcp.running import Listening, run_gateway

    listening = None
    if tokens:
        listener = socket.create_server(("127.0.0.1", 0))

        def started() -> None:
            address = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
            (folder / "address.new").write_text(address)
            (folder / "address.new").rename(folder / "address")

        listening = Listening(listener, tokens, started)
    await run_gateway(Gateway(read_config(config), FakeJudge(folder)), listening)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), tuple(sys.argv[3:])))
