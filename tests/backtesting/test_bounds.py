"""A policy that is only tried costs its server little, and those who decide by another nothing."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.origin import ContextItem
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate import rulebook as books
from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.ledger.chain import policy_hash
from beliefd.policy import compiling
from beliefd.policy.backtesting.steps import Began, Called, Step
from beliefd.policy.compiling import compiled, compiled_for
from beliefd.policy.pattern_budget import MOST_COMPILED, MOST_PATTERNS
from beliefd.policy.presets import preset
from beliefd.protocol.backtesting import AskBacktest
from beliefd.protocol.policy import PolicyRows
from beliefd.steward.backtesting.runs import CallVerdict, RunsTrial
from beliefd.steward.handlers import backtesting as handlers
from tests.backtesting.support import rules
from tests.claims.test_policy_reload import over_http

LARGE = "(a{1,20}){1,20}z"
BACKTEST = "/v1/policy/backtest"


def looking_for(count: int, pattern: str = "p") -> Policy:
    def one(at: int) -> dict[str, Any]:
        when = {"op": "matches", "args": ["call.args.t", f"{pattern}{at}"]}
        return {"v": 2, "effect": "deny", "subject": None, "when": {"op": "not", "args": [when]}}

    return rules(**{f"c{at:05}": one(at) for at in range(count)})


def with_schemas(count: int, pattern: str) -> Policy:
    return Policy(schemas={f"s{at}": {"items": {"pattern": pattern}} for at in range(count)})


TOO_MUCH: dict[str, tuple[Callable[[], Policy], str]] = {
    "patterns": (partial(looking_for, MOST_PATTERNS + 1), f"{MOST_PATTERNS} patterns"),
    "bytes": (partial(looking_for, 80, LARGE), f"{MOST_COMPILED} bytes"),
    "schemas": (partial(with_schemas, MOST_PATTERNS + 1, "x"), f"{MOST_PATTERNS} patterns"),
    "bytes of schemas": (partial(with_schemas, 80, LARGE), f"{MOST_COMPILED} bytes"),
    "no bounds": (
        lambda: replace(rules(), arbitration=ArbitrationPolicy(patterns="linear")),
        "patterns without bounds",
    ),
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_many_patterns_are_refused_before_they_are_compiled(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, words = TOO_MUCH[name]
    policy = made()
    monkeypatch.setattr(compiling, "rulebook", lambda *_: pytest.fail("it was compiled"))
    for check in (compiled, lambda one: compiled_for(one, ())):
        with pytest.raises(BeliefdError, match=words) as refused:
            check(policy)
        assert refused.value.details is not None
        assert str(refused.value.details["path"]).startswith(("$.constraints.", "$.schemas.", "$.arbitr"))


def test_as_many_as_may_be_are_compiled() -> None:
    assert compiled(looking_for(200))


def test_what_is_tried_pushes_nothing_out_that_is_decided_by() -> None:
    in_force = rules(own=looking_for(1).constraints["constraint.c00000"])
    name = policy_hash(in_force)
    first = books.rulebook(in_force, name)
    with books.trying():
        for at in range(books.KEEP + 1):
            policy = rules(**{f"tried{at}": {"v": 1, "effect": "deny", "subject": None}})
            books.rulebook(policy, policy_hash(policy))
    assert books.rulebook(in_force, name) is first


def test_who_tries_the_same_at_once_waits_for_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def make(named: Any) -> Any:
        made.append(named.hash)
        begun.set()
        assert go.wait(30)
        return books._compiled(named)

    monkeypatch.setattr(books, "_rulebooks", books._Memo(make))
    asked = AskBacktest(policy=rules())
    threads = [threading.Thread(target=handlers._tried, args=(asked,)) for _ in range(4)]
    for one in threads:
        one.start()
    assert begun.wait(30)
    go.set()
    for one in threads:
        one.join(30)
    assert made == [policy_hash(rules())]


def test_people_try_policies_and_programs_do_not() -> None:
    assert sorted(PolicyRows.backtest_policy.roles) == ["admin", "approver"]

    async def story(client: httpx.AsyncClient, headers: dict[str, Any], _: Any) -> None:
        refused = await client.post(BACKTEST, json={"policy": {}}, headers=headers["agent"])
        assert refused.status_code == 403
        assert (await client.post(BACKTEST, json={"policy": {}}, headers=headers["admin"])).status_code == 200

    over_http(story)


def test_a_backtest_is_compiled_in_the_bounded_pool_and_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried, threads = handlers._tried, []
    begun, go = threading.Event(), threading.Event()

    def slow(asked: Any) -> Any:
        threads.append(threading.current_thread().name)
        begun.set()
        assert go.wait(30), "nobody else was answered meanwhile"
        return tried(asked)

    monkeypatch.setattr(handlers, "_tried", slow)

    async def story(client: httpx.AsyncClient, headers: dict[str, Any], _: Any) -> None:
        asked = partial(client.post, BACKTEST, json={"policy": {}}, headers=headers["admin"])
        first = asyncio.ensure_future(asked())
        assert await asyncio.to_thread(begun.wait, 30)
        assert (await client.get("/healthz")).status_code == 200
        second = await asked()
        assert second.status_code == 503
        assert Code.TOO_BUSY in second.text
        go.set()
        assert (await first).status_code == 200
        assert (await asked()).status_code == 200

    over_http(story)
    assert threads == ["beliefd-question"] * 2


@pytest.mark.parametrize(("milder", "verdict"), [("ask", "undecidable"), ("block", "deny")])
def test_what_only_asks_settles_nothing_that_might_be_denied(milder: str, verdict: str) -> None:
    """A trace does not say who called: whether `who` denies is open."""
    who = {"op": "eq", "args": ["call.role", "agent"]}
    constraints: dict[str, Any] = {
        "constraint.all": {"v": 1, "effect": "allow", "subject": None},
        "constraint.other": {"v": 1, "effect": "deny", "subject": None, "on_fail": milder},
        "constraint.who": {"v": 1, "effect": "deny", "subject": None, "when": who},
    }
    policy = msgspec.convert({"constraints": constraints, "tools": {"mail": {"executor": "caller"}}}, Policy)
    found = [*RunsTrial(policy).verdicts([Began("run"), Called("c1", "mail")])]
    assert [one.verdict for one in found if isinstance(one, CallVerdict)] == [verdict]


def test_a_text_that_is_too_long_denies_where_nothing_unknown_comes_before_it() -> None:
    too_long = {"op": "matches", "args": ["call.args.text", "a+$"]}
    when = {"op": "all", "args": [too_long, {"op": "eq", "args": ["call.role", "agent"]}]}
    constraints: dict[str, Any] = {
        "constraint.all": {"v": 1, "effect": "allow", "subject": None},
        "constraint.who": {"v": 2, "effect": "deny", "subject": None, "when": when},
    }
    policy = msgspec.convert({"constraints": constraints, "tools": {"mail": {"executor": "caller"}}}, Policy)
    steps: list[Step] = [Began("run"), Called("c1", "mail", {"text": "a" * 1_100_000})]
    (one,) = [one for one in RunsTrial(policy).verdicts(steps) if isinstance(one, CallVerdict)]
    assert (one.verdict, one.reasons[0].code) == ("deny", "TEXT_TOO_LONG")


@pytest.mark.parametrize(("verdict", "origin"), [("allow", "own"), ("ask", "text")])
def test_what_the_record_says_of_a_call_that_is_refused_is_a_text_like_any_other(
    verdict: Any, origin: str
) -> None:
    run = RunsTrial(preset("guard"))._run(Began("run"))
    facts = run.facts(Called("c1", "create_note"), None)
    run.learn("c1", facts, verdict)
    run.tell(ContextItem(kind="result", text='{"id": "n-77"}', tool_id="create_note", call_id="c1"))
    one = run._index.heard.wanted("n-77")
    assert one is not None
    assert run._index.object(one) == origin
