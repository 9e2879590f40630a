"""Policies are compiled before they count: what could only deny is refused by name, on every way in."""

from pathlib import Path
from typing import Any

import httpx
import pytest

import beliefd as library
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.substrate.constraints import EFFECTS, ON_FAIL
from beliefd.kernel.substrate.predicates import OPERATORS
from beliefd.policy.compiling import compiled, problems
from beliefd.policy.files import parse_policy
from beliefd.testing.world import policy
from tests.claims.test_policy_reload import over_http
from tests.cli.runner import beliefd, finished
from tests.cli.test_serve import serving
from tests.substrate.test_into_force import ADMIN
from tests.substrate.vectors import CASES, Case

SEND = "$.constraints.constraint.no.send"
HEAD = "v: 1\nconstraints:\n  constraint.no.send:\n    v: 1\n"
HEAD2 = HEAD.replace("    v: 1", "    v: 2")

WRONG: dict[str, tuple[str, int, str, str]] = {
    # what is wrong: the file, its line, the path, what the complaint offers
    "effect": (f"{HEAD}    effect: ask\n", 5, f"{SEND}.effect", "`ask` is a word of `on_fail`"),
    "on_fail": (f"{HEAD}    effect: deny\n    on_fail: bock\n", 6, f"{SEND}.on_fail", "mean `block`"),
    "field": (f"{HEAD}    effect: deny\n    on_fial: ask\n", 6, f"{SEND}.on_fial", "mean `on_fail`"),
    "subject": (
        f"{HEAD}    effect: deny\n    subject: email.send\n",
        6,
        f"{SEND}.subject",
        "`{tool_id: ...}`",
    ),
    "op": (
        f"{HEAD}    effect: deny\n    when:\n      op: exist\n      args: [fact.x]\n",
        7,
        f"{SEND}.when.op",
        "mean `exists`",
    ),
    "inner op": (
        f"{HEAD}    effect: deny\n    when:\n      op: all\n      args:\n"
        "        - {op: exists, args: [fact.x]}\n        - {op: equals, args: [fact.x, 1]}\n",
        10,
        f"{SEND}.when.args[1].op",
        "`eq`",
    ),
    "arity": (
        f"{HEAD}    effect: deny\n    when:\n      op: eq\n      args: [fact.x]\n",
        8,
        f"{SEND}.when.args",
        "eq takes a path and a value",
    ),
    "schema name": (
        f"{HEAD}    effect: deny\n    when: {{op: schema, args: [fact.x, mony]}}\nschemas: {{money: {{}}}}\n",
        6,
        f"{SEND}.when",
        "mean `money`",
    ),
    "version": (f"{HEAD.replace('    v: 1', '    v: 3')}    effect: deny\n", 4, f"{SEND}.v", "`1`, `2`"),
    "operator of version 2": (
        f"{HEAD}    effect: deny\n    when: {{op: '>', args: [call.args.amount, 100]}}\n",
        6,
        f"{SEND}.when.op",
        "with `v: 2`, `gt` fits too",
    ),
    "effect of version 2": (f"{HEAD}    effect: ask\n", 5, f"{SEND}.effect", "with `v: 2`, `ask` fits too"),
    "word of another language": (
        f"{HEAD2}    effect: deny\n    when: {{op: '>=', args: [call.args.amount, 100]}}\n",
        6,
        f"{SEND}.when.op",
        "did you mean `ge`?",
    ),
    "effect and on_fail": (
        f"{HEAD2}    effect: ask\n    on_fail: ask\n",
        6,
        f"{SEND}.on_fail",
        "`on_fail` is said already: the effect is `ask`",
    ),
    "number": (
        f"{HEAD2}    effect: deny\n    when: {{op: lt, args: [fact.x, '100']}}\n",
        6,
        f"{SEND}.when.args",
        "lt takes a path and a number or an ISO time",
    ),
    "ends": (
        f"{HEAD2}    effect: deny\n    when: {{op: between, args: [fact.x, 5, 1]}}\n",
        6,
        f"{SEND}.when.args",
        "the low one first",
    ),
    "look-around": (
        f"{HEAD2}    effect: deny\n    when: {{op: matches, args: [fact.x, '(?=a)b']}}\n",
        6,
        f"{SEND}.when.args[1]",
        "it looks around",
    ),
    "back-reference": (
        f"{HEAD2}    effect: deny\n    when: {{op: matches, args: [fact.x, '(a)\\1']}}\n",
        6,
        f"{SEND}.when.args[1]",
        "refers back",
    ),
    "long pattern": (
        f"{HEAD2}    effect: deny\n    when: {{op: matches, args: [fact.x, {'a' * 1001}]}}\n",
        6,
        f"{SEND}.when.args[1]",
        "at most 1000 characters",
    ),
    "time in an invariant": (
        f"{HEAD2.replace('no.send', 'invariant.x')}    effect: deny\n"
        "    when: {op: age_over, args: [fact.x, 1]}\n",
        6,
        "$.constraints.constraint.invariant.x.when",
        "about states alone",
    ),
    "no object": ("constraints:\n  constraint.no.send: deny\n", 2, SEND, "not an object"),
    "key": (
        "constraints:\n  all:\n    v: 1\n    effect: allow\n",
        2,
        "$.constraints.all",
        "`constraint.all`",
    ),
    "key of others": (
        "constraints:\n  fact.x: {v: 1, effect: allow}\n",
        2,
        "$.constraints.fact.x",
        "not in `constraint.*`",
    ),
    "bare key": (
        "constraints:\n  constraint.: {v: 1, effect: allow}\n",
        2,
        "$.constraints.constraint.",
        "`constraint.NAME`",
    ),
    "tool's schema": (
        "tools:\n  email.send:\n    schema:\n      type: objct\n",
        3,
        "$.tools.email.send.schema",
        "not a JSON Schema",
    ),
    "schema": ("schemas:\n  money:\n    type: 5\n", 2, "$.schemas.money", "not a JSON Schema"),
    "rule that rests on itself": (
        "rules:\n  rule.a:\n    v: 1\n    when: {op: missing, args: [fact.b]}\n    derive: {fact.a: {v: 1}}\n"
        "  rule.b:\n    v: 1\n    when: {op: exists, args: [fact.a]}\n    derive: {fact.b: {v: 1}}\n",
        4,
        "$.rules.rule.a.when",
        "`fact.a` -> `fact.b` -> `fact.a`: `fact.a` would rest on itself, by `missing`",
    ),
    "field of a rule": (
        "rules:\n  rule.a:\n    v: 1\n    derives: {fact.a: {v: 1}}\n",
        4,
        "$.rules.rule.a.derives",
        "mean `derive`",
    ),
    "name of a rule": ("rules:\n  a: {v: 1, derive: {fact.a: {v: 1}}}\n", 2, "$.rules.a", "`rule.a`"),
    "what can be read of a policy": (
        f"{HEAD}    effect: deny\n    when: {{op: eq, args: [policy.mood, eco]}}\n",
        3,
        SEND,
        "mean `policy.mode`",
    ),
    "subject that is a pattern": (
        f"{HEAD}    effect: deny\n    subject: {{tool_id: 'db.*'}}\n",
        6,
        f"{SEND}.subject",
        "one constraint for each",
    ),
    "blank at the end of a subject": (
        f"{HEAD}    effect: deny\n    subject: {{tool_id: 'wipe.it '}}\n",
        6,
        f"{SEND}.subject",
        "take them out",
    ),
    "what cannot be seen in a subject": (
        f'{HEAD}    effect: deny\n    subject: {{capability: "net\\u200b"}}\n',
        6,
        f"{SEND}.subject",
        "take them out",
    ),
    "capability that is nobody's": (
        f"{HEAD}    effect: deny\n    subject: {{capability: 'wirte:fact'}}\n",
        6,
        f"{SEND}.subject",
        "mean `write:fact`",
    ),
    "blank in the name of a tool": (
        "tiers:\n  tools:\n    'db.drop ': DELETE\n",
        3,
        "$.tiers.tools.db.drop ",
        "take them out",
    ),
    "approvers that are all people anyway": (
        "approvals:\n  approvers:\n    DELETE:\n      principals: ['human://ana']\n      required: 2\n",
        4,
        "$.approvals.approvers.DELETE.principals",
        "`roles: []`",
    ),
    "approver that is a program": (
        "approvals:\n  otherwise:\n    roles: []\n    principals: ['agent://a']\n",
        4,
        "$.approvals.otherwise.principals[0]",
        "name people",
    ),
    "agents that are no ids": (
        "tiers:\n  raise:\n    - agents: [intern]\n      to: DELETE\n",
        3,
        "$.tiers.raise[0].agents[0]",
        "mean `agent://intern`",
    ),
    "relay that is no id": (
        "security:\n  relays:\n    gw: ['agent://a']\n",
        3,
        "$.security.relays.gw",
        "`SCHEME://NAME`",
    ),
    "holder of a capability with a mistyped id": (
        "capabilities:\n  - name: x\n    principals: ['agnet://a']\n    scope: {tools: [db]}\n",
        3,
        "$.capabilities[0].principals[0]",
        "mean `agent://a`",
    ),
    "scope that is a pattern": (
        "capabilities:\n  - name: x\n    roles: [agent]\n    scope:\n      tools: ['db.*']\n",
        5,
        "$.capabilities[0].scope.tools[0]",
        "name each",
    ),
}
BAD = pytest.mark.parametrize("name", WRONG)


@BAD
def test_a_file_that_does_not_compile_is_refused_with_line_path_and_remedy(name: str) -> None:
    text, line, path, remedy = WRONG[name]
    with pytest.raises(BeliefdError) as caught:
        parse_policy(text.encode(), "p.yaml")
    assert caught.value.code is Code.INVALID_REQUEST
    assert caught.value.details == {"path": path, "line": line}
    assert f"`p.yaml` line {line}:" in caught.value.message
    assert remedy in caught.value.message


@pytest.mark.parametrize("number", ["010", "1:30", "-007", "0_10"])
def test_a_number_that_yaml_reads_otherwise_than_people_is_refused(number: str) -> None:
    with pytest.raises(BeliefdError, match="write a decimal number") as caught:
        parse_policy(f"security:\n  rate_limit: {number}\n".encode(), "p.yaml")
    assert caught.value.details == {"line": 2}


def test_names_of_schemes_and_capabilities_of_ones_own_are_taken() -> None:
    own = {
        "tools": {"db drop": {"capabilities": ["wirte:fact"], "executor": "caller"}},
        "constraints": {
            "constraint.a": {"v": 1, "effect": "deny", "subject": {"capability": "wirte:fact"}},
            "constraint.b": {"v": 1, "effect": "deny", "subject": {"tool_id": "db drop"}},
            "constraint.c": {"v": 1, "effect": "deny", "subject": {"capability": "money"}},
        },
        "security": {"relays": {"spiffe://corp/relay": ["agent://team/*"]}},
        "approvals": {"otherwise": {"roles": ["admin"], "principals": ["human://ana"]}},
    }
    assert compiled(policy(**own))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_compiles_is_what_the_kernel_can_read(case: Case) -> None:
    """The published table knows malformed constraints by their verdict; no other case is complained about."""
    found = [each for each in problems(case.rules) if not each.path.startswith("$.schemas.")]
    if case.expect["reason_code"] == "MALFORMED_CONSTRAINT":
        assert found
        assert all(each.path.startswith("$.constraints.constraint.") and each.remedy for each in found)
    elif case.name == "predicates: exists: a namespace is not a key":
        assert [each.message for each in found] == ["`fact` is never there: it is a namespace, and no key"]
    elif "malformed" not in case.name:
        assert not found


@pytest.mark.parametrize(
    ("field", "words"), [("effect", EFFECTS), ("on_fail", ON_FAIL)], ids=["effect", "on_fail"]
)
def test_a_wrong_word_is_answered_with_all_that_fit(field: str, words: tuple[str, ...]) -> None:
    given = policy(constraints={"constraint.x": {"v": 1, "effect": "deny", field: "nonsense"}})
    (problem,) = problems(given)
    assert all(f"`{word}`" in problem.remedy for word in words)
    for word in words:
        assert compiled(policy(constraints={"constraint.x": {"v": 1, "effect": "deny", field: word}}))


def test_a_wrong_operator_is_answered_with_all_that_there_are() -> None:
    when = {"op": "nonsense", "args": []}
    (problem,) = problems(policy(constraints={"constraint.x": {"v": 1, "effect": "deny", "when": when}}))
    assert all(f"`{name}`" in problem.remedy for name in OPERATORS)


def document(name: str) -> dict[str, Any]:
    import yaml

    read: dict[str, Any] = yaml.safe_load(WRONG[name][0])
    return read


@BAD
def test_the_library_refuses_it_at_the_start_and_later(name: str) -> None:
    bad = policy(**document(name))
    with pytest.raises(BeliefdError) as caught:
        library.open(":memory:", policy=bad)
    assert caught.value.details == {"path": WRONG[name][2]}
    with library.open(":memory:", principal=ADMIN) as ledger:
        with pytest.raises(BeliefdError) as caught:
            ledger.adopt_policy(bad)
        assert caught.value.details == {"path": WRONG[name][2]}
        assert ledger.show_policy().source == "default"


def test_a_server_refuses_it_over_http_and_keeps_the_old_one() -> None:
    async def story(client: httpx.AsyncClient, headers: dict[str, Any], steward: Any) -> None:
        before = steward.in_force.hash
        for name, (_, _, path, remedy) in WRONG.items():
            answer = await client.put("/v1/policy", json=document(name), headers=headers["admin"])
            assert answer.status_code == 400
            assert answer.json()["error"]["details"]["path"] == path
            assert remedy in answer.json()["error"]["message"]
        assert steward.in_force.hash == before
        assert await steward.store.adopted() is None

    over_http(story)


def test_every_command_that_reads_a_policy_refuses_it(tmp_path: Path) -> None:
    bad, text = tmp_path / "bad.yaml", WRONG["effect"][0]
    bad.write_text(text)
    (tmp_path / "empty.json").write_text("{}")
    (tmp_path / "call.json").write_text('{"tool_id": "a", "args": {}}')
    (tmp_path / "cases.json").write_text('{"cases": []}')
    files = ("--state", tmp_path / "empty.json", "--call", tmp_path / "call.json")
    for command in (
        ("policy", "check", bad),
        ("policy", "adopt", bad, "--data", tmp_path / "data"),
        ("policy", "explain", "--policy", bad, *files),
        ("policy", "test", tmp_path / "cases.json", "--policy", bad),
    ):
        told = beliefd(*command)
        assert told.exit_code == 2, told.output
        assert "line 5" in told.stderr
        assert "`allow`" in told.stderr
    refused = finished("serve", "--port", "0", "--data", tmp_path / "data", "--policy", bad)
    assert (refused.returncode, "line 5" in refused.stderr) == (2, True)


def test_a_running_server_keeps_the_old_policy_and_says_who_brought_which(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("security: {rate_limit: 7}\n")
    with serving("--data", tmp_path / "data", "--policy", path) as (url, server):
        before = httpx.get(f"{url}/v1/policy", verify=False).json()
        assert (before["source"], before["adopted_by"]) == ("file", "operator://local")
        assert server.stderr is not None
        assert server.stderr.readline().startswith("a new store: ")
        first = server.stderr.readline()
        assert server.stderr.readline().startswith("look and decide at ")
        path.write_text(WRONG["field"][0])
        second = server.stderr.readline()
        assert httpx.get(f"{url}/v1/policy", verify=False).json() == before
        path.write_text("security: {rate_limit: 8}\n")
        third = server.stderr.readline()
        after = httpx.get(f"{url}/v1/policy", verify=False).json()
    for line, shown in ((first, before), (third, after)):
        assert f"policy {shown['policy_hash']} (file from `{path}`), given by operator://local" in line
    assert "old one stays" in second
    assert "line 6" in second
    assert after["policy"]["security"]["rate_limit"] == 8
