"""Every operation in one story, played on a real server: its examples are sent, its answers are kept."""

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from beliefd.kernel.values import Role
from beliefd.protocol.operation import LINES
from beliefd.protocol.operations import BY_NAME, OPERATIONS, Operation
from tests.http.calls import url
from tests.http.conftest import Tokens, make_tokens
from tests.support.server import server_process

SPEAKERS = {
    "seal_session": Role.ADMIN,
    "unseal_session": Role.ADMIN,
    "sign_checkpoint": Role.ADMIN,
    "submit_claims": Role.ADMIN,
    "retract_claims": Role.ADMIN,  # an agent's tier is too low for the DELETE in the example
    "decide_approval": Role.APPROVER,
    "withdraw_approval": Role.ADMIN,
    "give_grant": Role.APPROVER,
    "adopt_policy": Role.ADMIN,
    "backtest_policy": Role.APPROVER,
    "prove_policy": Role.ADMIN,
    "create_space": Role.ADMIN,
    "create_token": Role.ADMIN,
    "store_calibration": Role.ADMIN,
    "append_calibration": Role.ADMIN,
    "issue_capability": Role.ADMIN,
    "set_mode": Role.APPROVER,
    "interrupt": Role.APPROVER,
    "resume": Role.APPROVER,
    "pin_tools": Role.ADMIN,
    "erase": Role.ADMIN,
}


STORY = [
    "declare_session",
    "enter_obligation",
    "eliminate",
    "batch",
    "request_exit",
    "declare_conclusion",
    "sign_checkpoint",
    "counterfactual",
    "store_content",
    "check_claims",
    "submit_claims",
    "decide_approval",
    "retract_claims",
    "submit_claims",
    "withdraw_approval",
    "give_grant",
    "explain_policy",
    "adopt_policy",
    "backtest_policy",
    "prove_policy",
    "create_space",
    "create_token",
    "measure",
    "measure_semantic_entropy",
    "measure_model_disagreement",
    "measure_confidence",
    "measure_conformal_set",
    "store_calibration",
    "append_calibration",
    "issue_capability",
    "propose",
    "begin_call",
    "report_outcome",
    "add_context",
    "pin_tools",
    "remember",
    "set_mode",
    "interrupt",
    "resume",
    "speculate",
    "hook_event",
    "observe",
    "design_experiment",
    "run_experiment",
    "reproduce_experiment",
    "link_evidence",
    "stage_intent",
    "decide_approval",
    "erase",
    "request_termination",
    "seal_session",
    "unseal_session",
]


FEED = "text/event-stream"
UNTOLD = frozenset({"merge", "add_cosignatures", "cancel_experiment", "follow_inbox"})
"""They need a replica, a witness, or somebody who does something at the same time. What the first three
answer, others answer too."""
FEW = 2
"""Items per page: an example is to be read."""
Kept = dict[str, Any]
"""Answers by the names of operations; text where the answer is no JSON document."""


class Story:
    """What has been told so far: ids by their names, and the newest answer of each operation."""

    def __init__(self, http: httpx.Client, tokens: Tokens) -> None:
        self.http, self.tokens = http, tokens
        example = BY_NAME["enter_obligation"].example
        self.known: dict[str, Any] = {"obligation_id": example["obligation_id"], "client": "claude-code"}
        self.kept: Kept = {}

    def tell(self) -> None:
        """Send all examples, one after the other, and look around before the last; nothing may be refused."""
        for name in STORY:
            if name == "begin_call":
                self.known["call_id"] = approved_call(self.http, self.known["session_id"], self.tokens)
            elif name == "request_termination":
                self._look()
            self._send(BY_NAME[name])
            if name == "seal_session":
                self._put_away()

    def _put_away(self) -> None:
        """The sealed ledger out of the store, and back."""
        at, headers = f"/v1/sessions/{self.known['session_id']}", self._as(Role.ADMIN)
        ledger = self.http.get(f"{at}/audit/export", headers=headers).content
        told = {"place": "s3://ledgers/2026/incident.jsonl", "sha256": sha256(ledger).hexdigest()}
        self.kept["archive_session"] = self.http.post(f"{at}/archive", json=told, headers=headers).json()
        lines = {**headers, "Content-Type": LINES}
        self.kept["unarchive_session"] = self.http.post(
            f"{at}/unarchive", content=ledger, headers=lines
        ).json()

    def _as(self, role: Role) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[role]}"}

    def _send(self, operation: Operation) -> None:
        role = SPEAKERS.get(operation.name, Role.AGENT)
        text = sent(self.http, operation, self.known, self.tokens[role])
        self.kept[operation.name] = text if operation.stream else json.loads(text)
        for line in text.splitlines():
            self.known |= json.loads(line)
        self.known["bundle_id"] = self.known.get("id")
        # Tools are pinned in a session of their own, which is not that of the story.
        self.known["session_id"] = self.kept["declare_session"]["session_id"]

    def _look(self) -> None:
        """Ask every question that has no body about what the story has left behind."""
        self._announce("toolu_01")
        fallen = self.kept["eliminate"]["applied_eliminated"][0]
        named = {
            "capability_id": self.kept["issue_capability"]["capability"]["capability_id"],
            "hypothesis": fallen,
            "join_key": "toolu_01",
            "name": self.kept["store_calibration"]["name"],
            "sha256": self.kept["store_content"]["sha256"],
        }
        known = {name: value for name, value in self.known.items() if isinstance(value, str)}
        ids = {**_ids_in(self.kept), **known, **named}
        for operation in OPERATIONS:
            if operation.method == "GET" and operation.media != FEED and operation.name not in UNTOLD:
                self._ask(operation, ids)
                ids = {**_ids_in(self.kept[operation.name]), **ids}
        self.kept["events"] = self._first_told(f"/v1/sessions/{ids['session_id']}/events")
        for name in ("revoke_grant", "revoke_capability", "revoke_token"):
            self._ask(BY_NAME[name], ids)
        self.kept["health"] = self.http.get("/healthz").json()

    def _announce(self, join_key: str) -> None:
        told = {"kind": "announcement", "join_key": join_key}
        headers = {"Authorization": f"Bearer {self.tokens[Role.AGENT]}"}
        path = f"/v1/sessions/{self.known['session_id']}/context"
        assert self.http.post(path, json=told, headers=headers).is_success

    def _ask(self, operation: Operation, ids: dict[str, Any]) -> None:
        role = Role.AGENT if Role.AGENT in operation.roles and operation.method == "GET" else Role.ADMIN
        headers = {"Authorization": f"Bearer {self.tokens[role]}"}
        asked = {
            "from": 1,
            "event_id": self.kept["declare_session"]["audit_event_id"],
            **({"limit": FEW} if _pages(operation) else {}),
        }
        params = {one.name: asked[one.name] for one in operation.query if one.name in asked}
        path = url(operation, **{name: quote(value, safe="") for name, value in ids.items()})
        answer = self.http.request(operation.method, path, params=params, headers=headers)
        assert answer.status_code == operation.status, (operation.name, answer.text)
        if operation.answer is bytes:
            self.kept[operation.name] = answer.text
        else:
            self.kept[operation.name] = answer.json()

    def _first_told(self, path: str) -> str:
        """The first message of a live feed."""
        headers = {"Authorization": f"Bearer {self.tokens[Role.AGENT]}"}
        told = ""
        with self.http.stream("GET", path, headers=headers) as feed:
            for line in feed.iter_lines():
                told += f"{line}\n"
                if not line and "data:" in told:
                    break
        return told


def _pages(operation: Operation) -> bool:
    return any(one.name == "limit" for one in operation.query)


def _ids_in(value: Any) -> dict[str, Any]:
    """Texts and whose ids they are, however deep they stand."""
    found: dict[str, Any] = {}
    if isinstance(value, dict):
        for name, one in value.items():
            if isinstance(one, str) and name.endswith("_id"):
                found[name] = one
            found |= _ids_in(one)
    elif isinstance(value, list):
        for one in value:
            found |= _ids_in(one)
    return found


def told_story(folder: Path) -> Kept:
    """The answers of the story, told on a server of its own; its ledger is taken in by another."""
    places = [folder / "one", folder / "other"]
    for place in places:
        place.mkdir()
    tokens, others = [asyncio.run(make_tokens(place / "beliefd.db")) for place in places]
    with server_process(places[0]) as server, httpx.Client(base_url=server.url, timeout=60) as http:
        story = Story(http, tokens)
        story.tell()
    with server_process(places[1]) as server, httpx.Client(base_url=server.url, timeout=60) as http:
        headers = {"Authorization": f"Bearer {others[Role.ADMIN]}", "Content-Type": LINES}
        taken = http.post("/v1/ledgers", content=story.kept["export"], headers=headers)
        assert taken.status_code == BY_NAME["import_ledger"].status, taken.text
        story.kept["import_ledger"] = taken.json()
    story.kept["export"] = "".join(story.kept["export"].splitlines(keepends=True)[:1])
    return story.kept


def approved_call(http: httpx.Client, session_id: str, tokens: dict[Role, str]) -> str:
    """A call that a person has said yes to, and that its caller runs."""

    def told(role: Role, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {tokens[role]}"}
        answer = http.request(method, path, json=body, headers=headers)
        assert answer.is_success, answer.text
        return answer.json()

    fact = {"op": "exists", "args": ["fact.source"]}
    asks = {"v": 1, "effect": "allow", "subject": {"tool_id": "mail"}, "when": fact, "on_fail": "ask"}
    rules = [{"name": "all", "scope": {"tools": ["*"]}, "roles": ["agent"]}]
    policy = {"tools": {"mail": {"executor": "caller"}}, "constraints": {"constraint.mail": asks}}
    tells = {"tellers": ["agent://test-agent"]}
    told(Role.ADMIN, "PUT", "/v1/policy", {**policy, "capabilities": rules, "context": tells})
    call = {"kind": "tool_call", "tool_id": "mail"}
    asked = {"provenance": {"source": "agent"}, "candidates": [call], "execute": "caller"}
    waits = told(Role.AGENT, "POST", f"/v1/sessions/{session_id}/proposals", asked)["results"][0]
    said = {"decision": "APPROVED", "content_hash": waits["content_hash"]}
    decided = told(Role.APPROVER, "POST", f"{waits['approval_url']}/decision", said)
    return str(decided["call"]["call_id"])


def sent(http: httpx.Client, operation: Operation, known: dict[str, Any], token: str) -> str:
    """Send an operation's example and return its answer; nothing may be refused."""
    example = operation.example
    path = url(operation, **{"session_id": "", **known})
    if isinstance(example, dict):
        unsaid = {name: known[name] for name, value in example.items() if str(value).startswith("<")}
        example = json.dumps({**example, **unsaid})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": operation.body_media}
    answer = http.request(operation.method, path, content=example, headers=headers)
    assert answer.status_code == operation.status, (operation.name, answer.text)
    told: dict[str, Any] = {}
    for line in answer.text.splitlines():
        one = json.loads(line)
        # A refusal is an object, in whichever line it stands; what a call ran into is a text.
        assert one.get("error") in (None, "", False), one
        told |= one
    assert told.get("approved", True), told
    assert told.get("accepted", True), told
    return answer.text
