"""What stands beside the ledger is shown while it is there; then it is said that it was erased."""

import httpx

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from tests.console.visitor import Person, session_of
from tests.http.calls import error_of
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess

SECRET = "Zoë Quennell"


def test_pages_and_answers_say_erased(
    guarded: tuple[ServerProcess, Tokens], agent: httpx.Client, approver: Person
) -> None:
    server, tokens = guarded
    headers = {"Authorization": f"Bearer {tokens[Role.ADMIN]}"}
    with httpx.Client(base_url=server.url, headers=headers, verify=False, timeout=60) as admin:
        adopted = admin.put("/v1/policy", json={"erasable": {"ELIMINATE": ["justification"]}})
        assert adopted.status_code == 200, adopted.text
        session_id = session_of(agent, ["h1", "h2"])
        body = {
            "source_id": "s",
            "observation_id": "o",
            "eliminated": ["h1"],
            "justification": {"by": SECRET},
        }
        assert agent.post(f"/v1/sessions/{session_id}/eliminate", json=body).status_code == 200
        (part,) = agent.get(f"/v1/sessions/{session_id}/parts").json()["items"]
        assert (part["state"], part["value"]) == ("kept", SECRET)
        pages = [f"/sessions/{session_id}", f"/sessions/{session_id}/audit", f"/sessions/{session_id}/why/h1"]
        for page in pages[1:]:
            assert f"[withheld {part['digest'][:8]}] {SECRET}" in approver.read(page)
        asked = {"digests": [part["digest"]], "reason": "asked for"}
        path = f"/v1/sessions/{session_id}/erasures"
        error_of(agent.post(path, json=asked), 403, Code.FORBIDDEN)
        answer = admin.post(path, json=asked)
        assert answer.json()["erased"] == [part["digest"]], answer.text
        error_of(agent.get(f"/v1/content/{part['digest']}"), 410, Code.CONTENT_ERASED)
        for page in pages:
            assert SECRET not in approver.read(page)
        for page in pages[1:]:
            assert f"[erased {part['digest'][:8]}]" in approver.read(page)
        assert "1 were erased" in approver.read(f"/sessions/{session_id}/verified")
        lines = [
            agent.get(f"/v1/sessions/{session_id}/audit/export", params=how)
            for how in ({}, {"parts": "kept"})
        ]
        assert all(line.status_code == 200 and SECRET not in line.text for line in lines)
        assert SECRET not in agent.get(f"/v1/audit?session={session_id}").text
