"""The same over HTTP: the examples of the specification, a goal conflict, a question that is confirmed."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from beliefd.http.app import create_app
from beliefd.kernel.values import Role, Tier
from beliefd.steward.credentials import create_token
from beliefd.testing.world import ONTOLOGY_JSON, policy
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, rules, tool_call, when

EXCLUSIVE = {
    "v": 1,
    "effect": "deny",
    "subject": None,
    "when": when("all", when("exists", "goal.ship"), when("exists", "goal.freeze")),
}
RULES = rules(
    all=ALLOW_ALL,
    no_send_email={"v": 1, "effect": "deny", "subject": {"tool_id": "email.send"}, "on_fail": "block"},
    requires_source={
        "v": 1,
        "effect": "deny",
        "subject": {"tool_id": "fs.write"},
        "when": {"op": "missing", "args": ["fact.source_ref"]},
        "on_fail": "ask",
    },
    **{"invariant.exclusive": EXCLUSIVE},
)


class Web:
    """A house behind HTTP, with a token for every role."""

    def __init__(self, house: ToolWorld) -> None:
        self.house = house
        self.app = create_app(house.runtime, close_runtime=False)
        self.tokens = house.run(self._tokens)
        self.session = str(
            self.post("agent", "/v1/sessions", ontology=ONTOLOGY_JSON, hypotheses=["a"])["session_id"]
        )

    async def _tokens(self) -> dict[str, str]:
        store = self.house.store
        return {role.value: await create_token(store, "web", role, Tier.MODIFY, role.value) for role in Role}

    def ask(self, role: str, method: str, path: str, body: Any = None) -> httpx.Response:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                headers = {"Authorization": f"Bearer {self.tokens[role]}"}
                return await client.request(method, path, json=body, headers=headers)

        return self.house.run(send)

    def post(self, role: str, path: str, **body: Any) -> dict[str, Any]:
        response = self.ask(role, "POST", path, body)
        assert response.is_success, response.text
        found: dict[str, Any] = response.json()
        return found

    def get(self, role: str, path: str) -> dict[str, Any]:
        response = self.ask(role, "GET", path)
        assert response.is_success, response.text
        found: dict[str, Any] = response.json()
        return found

    def propose(self, role: str, *candidates: Any) -> list[dict[str, Any]]:
        path = f"/v1/sessions/{self.session}/proposals"
        answer = self.post(role, path, provenance={"source": "agent"}, candidates=list(candidates))
        results: list[dict[str, Any]] = answer["results"]
        return results

    def token(self) -> str:
        scope = {"tools": ["*"], "fs_write_roots": ["/tmp"]}
        issued = self.post(
            "admin", "/v1/capabilities", session_id=self.session, agent_id="agent://web", scope=scope
        )
        return str(issued["token"])


@pytest.fixture
def web() -> Iterator[Web]:
    with ToolWorld(policy=RULES) as house:
        yield Web(house)


def test_both_example_constraints_of_the_specification(web: Web) -> None:
    token = web.token()
    mail = tool_call("email.send", token, "m", to="ana")
    write = tool_call("fs.write", token, "w", path="/tmp/x", text="hello")
    refused, waiting = web.propose("agent", mail, write)
    assert (refused["verdict"], refused["on_fail"], refused["reasons"][0]["constraint"]) == (
        "deny",
        "block",
        "constraint.no_send_email",
    )
    assert (waiting["verdict"], waiting["on_fail"], waiting["reasons"][0]["keys"]) == (
        "defer",
        "ask",
        ["fact.source_ref"],
    )
    assert waiting["reasons"][0]["remedy"] == (
        "a person must approve, or `fact.source_ref` exists (now missing)"
    )
    assert web.house.toolbox.count == 0
    (stated,) = web.propose("encoder", delta(fact__source_ref="doc-1"))
    assert stated["verdict"] == "allow"
    (done,) = web.propose("agent", {**write, "idempotency_key": "w2"})
    assert (done["verdict"], done["status"], done["result"]) == ("allow", "ok", 5)
    (again,) = web.propose("agent", mail)
    assert again["verdict"] == "deny"
    assert [name for name, _ in web.house.toolbox.ran] == ["fs.write"]
    web.house.check(web.session)


def test_a_goal_that_conflicts_with_another_is_refused_with_both_named(web: Web) -> None:
    (first,) = web.propose("agent", delta(goal__ship=1))
    (second,) = web.propose("agent", delta(goal__freeze=1))
    assert (first["verdict"], second["verdict"]) == ("allow", "deny")
    assert second["reason_code"] == "GOAL_CONFLICT"
    assert second["reasons"][0]["keys"] == ["goal.freeze", "goal.ship"]
    state = web.get("agent", f"/v1/sessions/{web.session}/state")
    assert {key for key in state["f_sparse"] if key.startswith("goal.")} == {"goal.ship"}
    assert state["f_sparse"]["constraint.no_send_email"]["effect"] == "deny"
    assert state["mode"] == "normal"


def test_an_asked_for_call_is_confirmed_and_runs_once(web: Web) -> None:
    (waiting,) = web.propose("agent", tool_call("fs.write", web.token(), "w", path="/tmp/x", text="hello"))
    inbox = web.get("approver", "/v1/approvals")["approvals"]
    assert [card["approval_id"] for card in inbox] == [waiting["approval_id"]]
    path = f"/v1/approvals/{waiting['approval_id']}/decision"
    body = {"decision": "APPROVED", "content_hash": waiting["content_hash"]}
    assert web.ask("agent", "POST", path, body).status_code == 403
    assert web.house.toolbox.count == 0
    decided = web.post("approver", path, **body)
    assert (decided["call"]["verdict"], decided["call"]["result"]) == ("allow", 5)
    assert web.ask("approver", "POST", path, body).status_code == 409
    assert web.house.toolbox.count == 1


def test_a_capability_is_shown_without_its_secret_and_revoked_by_its_full_name(web: Web) -> None:
    token = web.token()
    name = token.partition(".")[0]
    shown = web.ask("agent", "GET", f"/v1/sessions/{web.session}/capabilities/{name}")
    assert shown.is_success
    assert token.partition(".")[2] not in shown.text
    assert "secret" not in shown.text
    for spelling in (f"{web.session}/{name}", f"{web.session}%2F{name}"):
        assert web.ask("agent", "DELETE", f"/v1/capabilities/{spelling}").status_code in (403, 404)
    answer = web.ask("admin", "DELETE", f"/v1/capabilities/{web.session}%2F{name}")
    assert answer.is_success, answer.text
    (denied,) = web.propose("agent", tool_call("note.read", token))
    assert denied["reason_code"] == "BAD_CAPABILITY"


@pytest.mark.parametrize(
    "candidates",
    [
        [],
        [{}],
        [{"kind": "wish"}],
        [{"kind": "delta"}],
        [{"kind": "delta", "patch": {"set": {"goal.x": {"v": 1}}, "drop": []}}],
        [{"kind": "tool_call"}],
        [{"kind": "tool_call", "tool_id": ""}],
        [{"kind": "tool_call", "tool_id": "t", "args": []}],
        [{"kind": "tool_call", "tool_id": "t", "capability_token": "x" * 5000}],
        [{"kind": "tool_call", "tool_id": "t", "capability_id": "cap-1"}],
        [{"kind": "tool_call", "tool_id": "t", "narrowed": []}],
        [delta(goal__x=1)] * 101,
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_is_no_proposal_is_an_error_and_no_record(web: Web, candidates: Any) -> None:
    before = len(web.house.ledger(web.session))
    body = {"provenance": {"source": "agent"}, "candidates": candidates}
    response = web.ask("agent", "POST", f"/v1/sessions/{web.session}/proposals", body)
    assert response.status_code == 400, response.text
    assert response.json()["error"]["code"] == "INVALID_REQUEST"
    assert len(web.house.ledger(web.session)) == before


def test_memory_over_http(web: Web) -> None:
    path = f"/v1/sessions/{web.session}/memory"
    entry = {"memory_id": "m", "kind": "fact", "value": 1, "confidence": 0.9, "source_chunk_ids": ["c"]}
    assert web.post("agent", path, **entry)["memory"]["confirmed"] is True
    assert web.ask("agent", "POST", path, {**entry, "confidence": 0.1}).status_code == 400
    assert [view["entry"]["memory_id"] for view in web.get("agent", path)["entries"]] == ["m"]
    assert web.get("agent", f"{path}?show=review")["entries"] == []


ISSUING = policy(
    constraints={"constraint.all": ALLOW_ALL},
    capabilities=[
        {"name": "web", "roles": ["agent"], "scope": {"tools": ["slow", "quick"], "budgets": {"calls": 9}}}
    ],
)


def test_an_agent_needs_no_admin_and_what_is_revoked_meanwhile_is_stopped() -> None:
    with ToolWorld(policy=ISSUING) as house:
        web = Web(house)
        asked = {"session_id": web.session}
        issued = web.post("agent", "/v1/capabilities", **asked)
        assert (issued["capability"]["agent_id"], issued["capability"]["rule"]) == ("agent://web", None)
        root = web.get("agent", f"/v1/sessions/{web.session}/capabilities/{issued['capability']['parent']}")
        assert (root["rule"], root["issued_by"]) == ("web", "policy://web")
        more = {**asked, "scope": {"tools": ["*"], "budgets": {"calls": 9}}}
        assert web.ask("agent", "POST", "/v1/capabilities", more).status_code == 403
        assert web.ask("encoder", "POST", "/v1/capabilities", asked).status_code == 400
        path = f"/v1/capabilities/{root['capability_id']}"
        house.toolbox.add("slow", lambda: web.ask("admin", "DELETE", path).status_code)
        house.toolbox.add("quick", lambda: "ran", mutates=True)
        slow, quick = web.propose("agent", tool_call("slow", None), tool_call("quick", None, "k"))
        assert (slow["verdict"], slow["result"]) == ("allow", 200)
        assert (quick["verdict"], quick["reason_code"], quick["status"]) == (
            "deny",
            "BAD_CAPABILITY",
            "stopped",
        )
        assert [name for name, _ in house.toolbox.ran] == ["slow"]
        house.check(web.session)
