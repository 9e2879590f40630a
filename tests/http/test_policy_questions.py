"""Why, what if and whether ever: questions about policies over HTTP, what they answer and what is refused."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from beliefd.kernel.values import Role
from beliefd.steward.write.steward import Steward
from tests.claims.test_policy_reload import over_http

Headers = dict[str, dict[str, str]]
ALLOW = {"v": 1, "effect": "allow", "subject": {"tool_id": "pay"}}
LARGE = {"v": 2, "effect": "ask", "subject": {"tool_id": "pay"}}
OVER = {**LARGE, "when": {"op": "gt", "args": ["call.args.amount", 100]}}
HOLED = {"constraints": {"constraint.pay": ALLOW, "constraint.large": OVER}}
CLOSED = {"constraints": {"constraint.pay": ALLOW, "constraint.large": LARGE}}
ALONE = {"name": "nobody pays alone", "role": "agent", "tool": "pay", "never": "without_person"}
PATHS = ("/v1/policy/explain", "/v1/policy/prove", "/v1/policy/backtest")
BODIES: dict[str, dict[str, Any]] = {
    "/v1/policy/explain": {"policy": HOLED, "call": {"tool_id": "pay", "args": {"amount": 250}}},
    "/v1/policy/prove": {"policy": HOLED, "questions": [ALONE]},
    "/v1/policy/backtest": {"policy": HOLED},
}

Story = Callable[[httpx.AsyncClient, Headers, Steward], Awaitable[None]]


def told(story: Story) -> None:
    over_http(story)


def error_of(answer: httpx.Response) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], (error["details"] or {}).get("path", "")


def test_a_call_is_explained_with_what_decides_what_it_read_and_the_smallest_change() -> None:
    async def story(client: httpx.AsyncClient, headers: Headers, _: Steward) -> None:
        body = BODIES["/v1/policy/explain"]
        answer = (await client.post("/v1/policy/explain", json=body, headers=headers["agent"])).json()
        assert (answer["verdict"], answer["reason_code"], answer["on_fail"]) == ("defer", "ASK", "ask")
        (deciding,) = answer["deciding"]
        assert (deciding["constraint"], deciding["effect"]) == ("constraint.large", "ask")
        (read,) = deciding["reads"]
        assert (read["path"], read["present"], read["value"]) == ("call.args.amount", True, 250)
        (change,) = answer["remedy"]["changes"]
        assert (change["path"], change["now"], change["then"] <= 100) == ("call.args.amount", 250, True)

    told(story)


def test_a_hole_is_told_with_a_call_that_gets_through_and_what_is_closed_is_proved() -> None:
    async def story(client: httpx.AsyncClient, headers: Headers, _: Steward) -> None:
        async def asked(policy: Any, **more: Any) -> Any:
            body = {"policy": policy, "questions": [ALONE], **more}
            return (await client.post("/v1/policy/prove", json=body, headers=headers["admin"])).json()

        holed = await asked(HOLED)
        (proof,) = holed["proofs"]
        assert (holed["holds"], proof["answer"], proof["question"]) == (
            *(False, "counterexample"),
            "nobody pays alone",
        )
        found = {"policy": HOLED, "call": proof["call"]["call"], "state": proof["call"]["state"]}
        again = await client.post("/v1/policy/explain", json=found, headers=headers["admin"])
        assert again.json()["verdict"] == "allow", "it can be replayed"
        closed = await asked(CLOSED, against=HOLED)
        assert (closed["holds"], [one["answer"] for one in closed["proofs"]]) == (True, ["proved"])

    told(story)


def test_a_backtest_of_nothing_says_so_and_names_the_policy() -> None:
    async def story(client: httpx.AsyncClient, headers: Headers, steward: Steward) -> None:
        body = BODIES["/v1/policy/backtest"]
        answer = (await client.post("/v1/policy/backtest", json=body, headers=headers["approver"])).json()
        assert (answer["sessions"], answer["decisions"], answer["groups"], answer["next"]) == (0, 0, [], None)
        assert answer["policy_hash"] != steward.in_force.hash

    told(story)


def test_a_backtest_shows_what_would_change_with_the_first_example() -> None:
    async def story(client: httpx.AsyncClient, headers: Headers, _: Steward) -> None:
        agent = headers["agent"]
        ontology = {
            **{"hypothesis_space_id": "space", "hypothesis_version": "1"},
            **{"causal_graph_ref": "graphstore://test", "causal_graph_version": "v1"},
        }
        wanted = {"constraints": {"constraint.all": {"v": 1, "effect": "allow", "subject": None}}}
        assert (await client.put("/v1/policy", json=wanted, headers=headers["admin"])).status_code == 200
        body = {"ontology": ontology, "hypotheses": ["a", "b"]}
        session = (await client.post("/v1/sessions", json=body, headers=agent)).json()["session_id"]
        patch = {"kind": "delta", "patch": {"set": {"goal.x": {"v": 1}}}}
        proposed = {"provenance": {"source": "agent"}, "candidates": [patch]}
        made = await client.post(f"/v1/sessions/{session}/proposals", json=proposed, headers=agent)
        assert made.json()["results"][0]["verdict"] == "allow", made.text
        shut = {"v": 1, "effect": "deny", "subject": {"capability": "write:goal"}, "reason": "no goals now"}
        body = {"policy": {"constraints": {**wanted["constraints"], "constraint.shut": shut}}}
        answer = (await client.post("/v1/policy/backtest", json=body, headers=headers["admin"])).json()
        (group,) = answer["groups"]
        assert (group["was"], group["would_be"], group["constraint"], group["count"]) == (
            *("allow", "deny"),
            *("constraint.shut", 1),
        )
        assert (group["first"]["session_id"], "no goals now" in group["first"]["reasons"][0]) == (
            session,
            True,
        )

    told(story)


@pytest.mark.parametrize("path", PATHS)
def test_a_policy_that_could_not_be_adopted_is_refused_with_its_place(path: str) -> None:
    async def story(client: httpx.AsyncClient, headers: Headers, steward: Steward) -> None:
        before = steward.in_force.hash
        wrong = {"constraints": {"constraint.pay": {**ALLOW, "effect": "perhaps"}}}
        answer = await client.post(path, json={**BODIES[path], "policy": wrong}, headers=headers["admin"])
        assert error_of(answer)[:2] == (400, "INVALID_REQUEST")
        assert error_of(answer)[2].endswith("constraints.constraint.pay.effect")
        odd = await client.post(path, json={**BODIES[path], "surprise": 1}, headers=headers["admin"])
        assert error_of(odd) == (400, "INVALID_REQUEST", "$.surprise")
        assert (await client.post(path, json=BODIES[path])).status_code == 401
        assert steward.in_force.hash == before

    told(story)


ASKERS = {
    "/v1/policy/explain": set(Role),
    "/v1/policy/prove": {Role.ADMIN},
    "/v1/policy/backtest": {Role.ADMIN, Role.APPROVER},
}


@pytest.mark.parametrize("path", PATHS)
def test_who_may_not_ask_is_refused(path: str) -> None:
    async def story(client: httpx.AsyncClient, headers: Headers, _: Steward) -> None:
        answers = {
            role: (await client.post(path, json=BODIES[path], headers=headers[role.value])).status_code
            for role in Role
        }
        assert answers == {role: 200 if role in ASKERS[path] else 403 for role in Role}

    told(story)


def test_a_policy_that_breaks_a_promise_is_refused_when_it_is_put_and_told_with_the_call() -> None:
    async def story(client: httpx.AsyncClient, headers: Headers, steward: Steward) -> None:
        admin = headers["admin"]
        kept = await client.put("/v1/policy", json={**CLOSED, "prove": [ALONE]}, headers=admin)
        assert (kept.status_code, kept.json()["policy_hash"]) == (200, steward.in_force.hash)
        refused = await client.put("/v1/policy", json=HOLED, headers=admin)
        assert error_of(refused) == (409, "CONFLICT", "$.prove")
        proof = refused.json()["error"]["details"]["proof"]
        assert (proof["answer"], proof["question"]) == ("counterexample", "nobody pays alone")
        found = {"policy": HOLED, "call": proof["call"]["call"], "state": proof["call"]["state"]}
        again = await client.post("/v1/policy/explain", json=found, headers=admin)
        assert again.json()["verdict"] == "allow"
        assert steward.in_force.hash == kept.json()["policy_hash"]

    told(story)
