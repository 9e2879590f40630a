"""Claims and proposals in a batch: what each line comes to is what its own operation would have come to."""

import json
from typing import Any

from beliefd.kernel.errors import Code
from beliefd.ledger.envelope import read
from beliefd.testing.world import World, policy
from tests.claims.support import bundle, claim
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, rules, tool_call

PROVENANCE = {"source": "agent"}


def claims(*tiers: str, **more: Any) -> dict[str, Any]:
    made = [claim(tier, id=f"c{n}") for n, tier in enumerate(tiers or ("READ_ONLY",))]
    return {"verb": "SUBMIT_CLAIMS", **bundle(*made), **more}


def proposal(*candidates: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"verb": "PROPOSE", "provenance": PROVENANCE, "candidates": list(candidates), **more}


def elimination(name: str, **more: Any) -> dict[str, Any]:
    told = {"source_id": "s", "observation_id": "o", "eliminated": [name], "justification": {}}
    return {"verb": "ELIMINATE", **told, **more}


def verbs(house: World, session: str) -> list[str]:
    return [read(entry.record).verb for entry in house.entries(session)]


def code_of(answer: dict[str, Any]) -> str:
    return str(answer["error"]["code"])


def test_lines_of_all_kinds_are_decided_and_answered_in_order() -> None:
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        session = house.session()
        token = house.token(session)
        answers = house.agent.batch(
            session,
            [
                elimination("h1"),
                claims(),
                proposal(tool_call("calc.add", token, a=1, b=2), tool_call("note.read", token)),
                claims("DELETE"),
                proposal(delta(goal__x=1)),
                {"verb": "DECLARE_CONCLUSION", "conclusion_id": "c"},
            ],
        )
        first, published, ran, waits, changed, concluded = answers
        assert first["applied_eliminated"] == ["h1"]
        assert (published["decision"], waits["decision"]) == ("PUBLISH", "ESCALATE")
        assert [one["result"] for one in ran["results"]] == [3, "a note"]
        assert [one["status"] for one in ran["results"]] == ["ok", "ok"]
        assert changed["results"][0]["verdict"] == "allow"
        assert concluded["accepted"] is True
        assert verbs(house, session)[2:] == [
            "ELIMINATE",
            "SUBMIT_CLAIMS",
            "PROPOSE",
            "START_CALL",
            "RECORD_OUTCOME",
            "START_CALL",
            "RECORD_OUTCOME",
            "SUBMIT_CLAIMS",
            "PROPOSE",
            "DECLARE_CONCLUSION",
        ]
        assert house.toolbox.ran == [("calc.add", {"a": 1, "b": 2}), ("note.read", {})]
        house.check(session)


def test_a_line_comes_to_the_same_as_its_own_request() -> None:
    """The same story, told line by line and in one batch, on worlds where the same time it is."""
    lines = [claims("READ_ONLY", "DELETE"), claims("PRIVILEGE"), proposal(delta(goal__x=1)), claims()]
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as one, ToolWorld(policy=rules(all=ALLOW_ALL)) as other:
        single, together = one.session(), other.session()
        for line in lines:
            body = {name: value for name, value in line.items() if name != "verb"}
            if line["verb"] == "PROPOSE":
                one.agent.propose(single, body["candidates"])
            else:
                one.agent.submit_claims(single, body)
        other.agent.batch(together, lines)
        assert one.deltas(single) == other.deltas(together)
        assert one.hash(single) == other.hash(together)
        assert [row.status for row in one.rows()] == [row.status for row in other.rows()]


def test_what_comes_after_a_call_is_decided_when_the_call_has_ended() -> None:
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        session = house.session()
        token = house.token(session)
        lines: list[dict[str, Any]] = []
        for n in range(5):
            lines += [proposal(tool_call("calc.add", token, a=n, b=n)), elimination("h1")]
        answers = house.agent.batch(session, lines)
        assert [one["results"][0]["result"] for one in answers[::2]] == [0, 2, 4, 6, 8]
        assert verbs(house, session)[2:] == ["PROPOSE", "START_CALL", "RECORD_OUTCOME", "ELIMINATE"] * 5


def test_a_line_with_a_key_happens_once() -> None:
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        session = house.session()
        token = house.token(session)
        lines = [
            proposal(tool_call("note.read", token), idempotency_key="p"),
            claims("DELETE", idempotency_key="c", notes="n"),
            elimination("h1", idempotency_key="e"),
            elimination("h1", idempotency_key="e"),
        ]
        first, again = house.agent.batch(session, lines), house.agent.batch(session, lines)
        assert first == again
        assert first[2]["audit_event_id"] == first[3]["audit_event_id"]
        assert house.toolbox.count == 1
        assert verbs(house, session)[2:] == [
            "PROPOSE",
            "START_CALL",
            "RECORD_OUTCOME",
            "SUBMIT_CLAIMS",
            "ELIMINATE",
        ]
        other = [elimination("h2", idempotency_key="e"), claims("DELETE", idempotency_key="c", notes="m")]
        assert [code_of(one) for one in house.agent.batch(session, other)] == ["CONFLICT", "CONFLICT"]
        house.agent.eliminate(
            session, source_id="s", observation_id="o", eliminated=["h1"], idempotency_key="e"
        )
        assert len(house.entries(session)) == 7, "the key is the same one over all ways to ask"
        house.check(session)


def test_lines_that_fail_hold_up_nobody() -> None:
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        session = house.session()
        lines = {
            json.dumps(claims(decisions="x")): ("INVALID_REQUEST", "$.decisions"),
            json.dumps({"verb": "SUBMIT_CLAIMS"}): ("INVALID_REQUEST", "$.claims"),
            json.dumps(proposal(candidates="x")): ("INVALID_REQUEST", "$.candidates"),
            json.dumps(claims(session_id="elsewhere")): ("INVALID_REQUEST", "$.session_id"),
            json.dumps(claims(idempotency_key="")): ("INVALID_REQUEST", "$.idempotency_key"),
            json.dumps(claims(idempotency_key=7)): ("INVALID_REQUEST", "$.idempotency_key"),
            json.dumps(elimination("h1", notes="")): ("INVALID_REQUEST", "$.notes"),
            json.dumps(elimination("h1", notes=["n"])): ("INVALID_REQUEST", "$.notes"),
            json.dumps({"verb": "STAGE_INTENT"}): ("INVALID_REQUEST", "$.verb"),
            json.dumps(claims(origin_agent="shyp-7")): ("HYPOTHESIS_IS_NOT_EVIDENCE", "$.origin_agent"),
            json.dumps(proposal(delta(goal__x="shyp-7"))): (
                "HYPOTHESIS_IS_NOT_EVIDENCE",
                '$.candidates[0].patch.set["goal.x"].value',
            ),
        }
        good = elimination("h1", notes="n")
        asked = [one for line in lines for one in (json.loads(line), good)]
        answers = house.agent.batch(session, asked)
        told = [(code_of(one), one["error"]["details"]["path"]) for one in answers[::2]]
        assert told == list(lines.values())
        assert all(one["snapshot"]["seq"] for one in answers[1::2])
        recorded = [read(entry.record) for entry in house.entries(session)]
        assert [one.notes for one in recorded].count("n") == len(lines)
        assert len(recorded) == 1 + len(lines) + 2, "what the kernel refuses is on record"


def test_the_limit_on_how_often_somebody_speaks_holds_in_a_batch() -> None:
    with World(policy=policy(security={"rate_limit": 3, "rate_window_seconds": 3600})) as house:
        session = house.session()
        answers = house.agent.batch(session, [claims()] * 5)
        assert [one["decision"] for one in answers] == ["PUBLISH"] * 3 + ["DEFER"] * 2


def test_many_claims_share_their_commits() -> None:
    with World() as house:
        session = house.session()
        appends = 0
        append = house.store.append

        def counted(batch: Any) -> Any:
            nonlocal appends
            appends += 1
            return append(batch)

        house.store.append = counted  # type: ignore[method-assign]
        answers = house.agent.batch(session, [claims() for _ in range(200)])
        assert {one["decision"] for one in answers} == {"PUBLISH"}
        assert len({one["id"] for one in answers}) == 200
        assert appends <= 3
        assert Code.CONFLICT not in {one.get("error", {}).get("code") for one in answers}
