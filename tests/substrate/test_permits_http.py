"""Permits over HTTP: one request decides, one reports; what is too large is refused before it is read."""

from collections.abc import Iterator
from typing import Any

import pytest

from beliefd.kernel.errors import Code
from tests.substrate.support import ToolWorld
from tests.substrate.test_http import Web
from tests.substrate.test_permits import RULES, wants

HUGE = 100 * 1000 * 1000


@pytest.fixture
def web() -> Iterator[Web]:
    with ToolWorld(policy=RULES) as house:
        yield Web(house)


def proposed(web: Web, call: dict[str, Any], role: str = "agent") -> dict[str, Any]:
    path = f"/v1/sessions/{web.session}/proposals"
    body = {"provenance": {"source": "agent"}, "candidates": [call], "execute": "caller"}
    (result,) = web.post(role, path, **body)["results"]
    found: dict[str, Any] = result
    return found


def test_propose_run_report(web: Web) -> None:
    answer = proposed(web, wants("Bash", web.token(), "use-1", command="ls"))
    assert set(answer["permit"]) == {"call_id", "args_hash", "definition_hash", "policy_hash", "expires_at"}
    path = f"/v1/sessions/{web.session}/calls/{answer['call_id']}"
    assert web.get("approver", path)["status"] == "running"
    other = web.ask("tool", "POST", f"{path}/outcome", {"status": "ok"})
    assert (other.status_code, other.json()["error"]["code"]) == (403, Code.FORBIDDEN)
    told = web.post("agent", f"{path}/outcome", status="ok", result={"files": 2}, tokens=5)
    assert (told["status"], told["label"], told["result_hash"]) == ("ok", "attested", told["content"])
    again = web.ask("agent", "POST", f"{path}/outcome", {"status": "ok"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, Code.CONFLICT)
    missing = web.ask("agent", "POST", f"{path}x/outcome", {"status": "ok"})
    assert missing.status_code == 404
    web.house.check(web.session)


def test_ask_wait_begin(web: Web) -> None:
    call = wants("mail", web.token(), "use-1", to="ana")
    waits = proposed(web, {**call, "rationale": "the customer asked for it"})
    card = web.get("approver", f"{waits['approval_url']}?wait=1")
    assert (card["status"], card["subject"]["candidate"]["rationale"]) == (
        "pending",
        "the customer asked for it",
    )
    decided = web.post(
        "approver",
        f"{waits['approval_url']}/decision",
        decision="APPROVED",
        content_hash=waits["content_hash"],
    )
    call_id = decided["call"]["call_id"]
    assert decided["call"]["permit"] is None
    assert decided["approval"]["came_to"].startswith("approved; its agent can make the call now, until ")
    begin = f"/v1/sessions/{web.session}/calls/{call_id}/begin"
    assert web.ask("tool", "POST", begin, {}).status_code == 403
    begun = web.post("agent", begin)
    assert (begun["status"], begun["permit"]["call_id"]) == ("running", call_id)
    assert web.ask("agent", "POST", begin, {}).status_code == 409
    web.house.check(web.session)


async def sent(web: Web, path: str, more: dict[bytes, bytes]) -> tuple[int, int]:
    """The status that a body of 100 MB is answered with, and how many MB of it were read until then."""
    read, told = 0, list[tuple[int, int]]()

    async def receive() -> Any:
        nonlocal read
        read += 1
        return {"type": "http.request", "body": b" " * 1_000_000, "more_body": read < HUGE // 1_000_000}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            told.append((message["status"], read))

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    headers.append((b"authorization", f"Bearer {web.tokens['agent']}".encode()))
    headers += more.items()
    scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "headers": headers}
    await web.app({**scope, "query_string": b"", "http_version": "1.1"}, receive, send)
    return told[0]


def test_a_result_that_is_too_large_is_refused_before_it_is_read(web: Web) -> None:
    answer = proposed(web, wants("Bash", web.token(), "use-1", command="ls"))
    path = f"/v1/sessions/{web.session}/calls/{answer['call_id']}/outcome"
    # Who asks before sending is told at once; of others the rest is dropped as it comes.
    asking = {b"content-length": str(HUGE).encode(), b"expect": b"100-continue"}
    assert web.house.run(lambda: sent(web, path, asking)) == (413, 0)
    status, _ = web.house.run(lambda: sent(web, path, {}))
    assert status == 413
    assert web.get("agent", path.removesuffix("/outcome"))["status"] == "running"
