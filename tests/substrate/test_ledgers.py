"""Ledgers of arbitration: reworded reasons are fine, altered effects are not."""

import hashlib
from typing import Any

import pytest

from beliefd.kernel.canonical import canonical
from beliefd.kernel.strict_json import loads
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.verify import Verification, verify
from beliefd.testing.world import AGENT
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, deny, rules, tool_call, when

RULES = rules(
    all=ALLOW_ALL,
    ask=deny("email.send", when=when("missing", "fact.source"), on_fail="ask", reason="no source"),
)


@pytest.fixture(scope="module")
def records() -> list[bytes]:
    """A ledger with a change, a call, a refusal, a question, its confirmation, and an entry."""
    with ToolWorld(policy=RULES) as house:
        session = house.session()
        token = house.token(session)
        house.agent.propose(session, [delta(goal__x={"v": 1, "reason": "why", "text": "words"})])
        house.agent.propose(session, [tool_call("calc.add", token, a=1, b=2), tool_call("calc.add", token)])
        answer = house.agent.propose(session, [tool_call("email.send", token, "k", to="ana")])
        house.ann.approve(house.ann.show_approval(answer.results[0].approval_id or ""))
        entry = {"memory_id": "m", "kind": "hypothesis", "value": {"text": 1}, "confidence": 0.5, "ttl_ms": 9}
        house.agent.remember(session, entry)
        house.check(session)
        return house.ledger(session)


def changed(records: list[bytes], place: int, path: list[Any], value: Any) -> Verification:
    """The ledger with one value changed, and every hash after it made to fit."""
    entries: list[Sealed] = []
    previous = None
    for number, record in enumerate(records, 1):
        document = loads(record)
        if previous is not None:
            document["prev_hash"] = previous
        if number == place:
            target = document
            for step in path[:-1]:
                target = target[step]
            assert path[-1] in target if isinstance(target, dict) else path[-1] < len(target)
            target[path[-1]] = value
        data = canonical(document)
        previous = hashlib.sha256(data).hexdigest()
        entries.append(Sealed(number, document["event_id"], data, previous))
    found, _ = verify(entries, loads(records[0])["session_id"], {policy_hash(RULES): RULES})
    return found


# Places: 1 declared, 2 capability, 3 goal, 4 calls, 5 began, 6 outcome, 7 question, 8 confirmed, 9 began,
# 10 outcome, 11 memory.
WORDS: dict[str, tuple[int, list[Any], Any]] = {
    "the text of a reason": (4, ["delta", "results", 1, "reasons", 0, "text"], "in other words"),
    "what would make it pass": (4, ["delta", "results", 1, "reasons", 0, "remedy"], "something else"),
    "why a question is asked": (7, ["delta", "results", 0, "approval", "reason"], "because"),
}
EFFECTS: dict[str, tuple[int, list[Any], Any]] = {
    "a value, under a name that is also one of ours": (
        3,
        ["delta", "results", 0, "patch", "set", "goal.x", "reason"],
        "another why",
    ),
    "another such value": (3, ["delta", "results", 0, "patch", "set", "goal.x", "text"], "more words"),
    "a key": (3, ["delta", "results", 0, "patch", "set"], {"goal.y": {"v": 1}}),
    "a verdict": (4, ["delta", "results", 1, "verdict"], "allow"),
    "a code": (4, ["delta", "results", 1, "reason_code"], "OTHER"),
    "an argument": (4, ["delta", "results", 0, "call", "args", "a"], 7),
    "a call out of nothing": (4, ["delta", "results", 1, "call"], None),
    "who calls": (4, ["delta", "results", 0, "call", "agent_id"], "agent://other"),
    "a deadline": (4, ["delta", "results", 0, "call", "deadline"], "2030-01-01T00:00:00.000000Z"),
    "what is set aside": (5, ["delta", "call", "reserved", "tokens"], 5),
    "that a call began": (5, ["facts", "call", "definition_hash"], "0" * 64),
    "which capability it has": (5, ["facts", "call", "capability_id"], None),
    "a result": (6, ["delta", "result"], 4),
    "a status": (6, ["delta", "call", "status"], "unknown"),
    "a result's hash": (6, ["delta", "call", "result_hash"], "0" * 64),
    "what was asked": (7, ["delta", "results", 0, "approval", "subject", "asked"], {}),
    "who asked": (7, ["delta", "results", 0, "approval", "proposers"], ["agent://other"]),
    "who confirmed": (8, ["actor", "id"], AGENT.id),
    "what was confirmed": (8, ["payload", "content_hash"], "0" * 64),
    "what the tool was found to be": (8, ["facts", "calls", 0, "definition_hash"], "0" * 64),
    "that the token was good": (4, ["facts", "calls", 0, "token_problem"], "it is forged"),
    "where a path led": (4, ["facts", "calls", 0, "files"], [{"path": "/etc", "writes": True}]),
    "what is remembered": (11, ["delta", "entry", "value", "text"], 2),
    "that it is confirmed": (11, ["delta", "confirmed"], True),
    "when it ends": (11, ["delta", "expires_at"], "2030-01-01T00:00:00.000000Z"),
    "evidence that was seen": (11, ["delta", "seen"], ["source x"]),
}


@pytest.mark.parametrize(("place", "path", "value"), WORDS.values(), ids=WORDS.keys())
def test_reasons_may_be_put_in_other_words(
    records: list[bytes], place: int, path: list[Any], value: Any
) -> None:
    found = changed(records, place, path, value)
    assert found.ok, found.first_bad


@pytest.mark.parametrize(("place", "path", "value"), EFFECTS.values(), ids=EFFECTS.keys())
def test_an_effect_that_was_not_decided_is_found_where_it_stands(
    records: list[bytes], place: int, path: list[Any], value: Any
) -> None:
    if path[-1] == "call" and value is None:
        value = loads(records[place - 1])["delta"]["results"][0]["call"]
    found = changed(records, place, path, value)
    assert not found.ok
    assert found.first_bad is not None
    assert found.first_bad.seq == place


def test_the_ledger_as_it_is_verifies(records: list[bytes]) -> None:
    assert changed(records, 1, ["verb"], "DECLARE_SESSION").ok
