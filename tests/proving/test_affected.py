"""An update is looked at wherever it may change a verdict, whichever member of the policy it changes."""

from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.ledger.chain import policy_hash
from beliefd.policy.proving.prover import Prover
from tests.proving.test_prover import on, policy, verdict

UPDATE = Guarantee(update="loosens_nothing")
DELETES = {"pay": {"tier": "DELETE"}}
PAYS = {"a": on("pay", "allow")}
CARD = {"a": on("card.pay", "allow")}
FITS = {
    "a": on("pay", "allow"),
    "b": on("pay", "deny", "not", {"op": "schema", "args": ["call.args.n", "s"]}),
}
LARGE = {"a": on("pay", "allow"), "b": on("pay", "deny", "schema", "call.args.n", "refund")}
SAID = {"a": on("pay", "allow"), "b": on("pay", "deny", "missing", "fact.call.tier")}


NET = {**PAYS, "b": {"effect": "deny", "subject": {"capability": "net"}}}


def up_to(most: int) -> dict[str, Any]:
    """A tool with an argument that no constraint reads."""
    return {"pay": {"schema": {"properties": {"n": {"type": "integer", "maximum": most}}, "required": ["n"]}}}


def members(**more: Any) -> Policy:
    return policy(PAYS, **more)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (members(modes={"rules": {"eco": {"mutating": False}}}), members()),
        (policy(FITS, schemas={"s": {"maximum": 5}}), policy(FITS, schemas={"s": {"maximum": 9}})),
        (policy(SAID), policy(SAID, context={})),
        (policy(CARD, tiers={"tools": {"card.*": "DELETE"}}), policy(CARD)),
        (members(tiers={"tools": {"pay": "DELETE"}}), members()),
        (members(tools=DELETES), members(tools=DELETES, approvals={"tools_without_person": ["pay"]})),
        (policy({**PAYS, "b": {"effect": "deny"}}), members()),
        (policy(NET, tools={"pay": {"capabilities": ["net"]}}), policy(NET, tools={"pay": {}})),
        (members(tools=up_to(5)), members(tools=up_to(9))),
        (policy(LARGE), policy(LARGE, tools={"refund": {"schema": {"type": "string"}}})),
    ],
    ids=[
        "modes",
        "schemas",
        "context",
        "tier-patterns",
        "tiers",
        "approvals",
        "any-tool",
        "capability",
        "arguments",
        "names",
    ],
)
def test_what_an_update_loosens_is_found_whatever_it_changes(old: Policy, new: Policy) -> None:
    proof = Prover(new, old).answer(UPDATE)
    assert proof.answer == "counterexample", proof
    assert verdict(proof, new) != verdict(proof, old)


def test_what_reads_the_policy_itself_changes_with_every_update() -> None:
    barred = {**PAYS, "b": on("pay", "deny", "starts_with", "policy.hash", "0")}

    def hashed(zero: bool) -> Policy:
        tried = (policy({**barred, "c": {**on("read", "deny"), "reason": f"{at}"}}) for at in count())
        return next(one for one in tried if policy_hash(one).startswith("0") is zero)

    old, new = hashed(zero=True), hashed(zero=False)
    proof = Prover(new, old).answer(UPDATE)
    assert proof.answer == "counterexample"
    assert (verdict(proof, new), verdict(proof, old)) == ("allow", "deny")


def issues(**more: Any) -> Policy:
    rule = {"name": "all", "roles": ["agent"], "scope": {"tools": ["pay"]}, "expires_in_seconds": 60, **more}
    return members(capabilities=[rule])


def holding(**invariants: dict[str, Any]) -> Policy:
    """With invariants of the state, beside what allows a call."""
    return policy({**PAYS, **{f"invariant.{name}": one for name, one in invariants.items()}})


def unpaid(path: str = "fact.debt") -> dict[str, Any]:
    return {"effect": "deny", "when": {"op": "exists", "args": [path]}}


NAMES_SCHEMA = policy(
    {**PAYS, "invariant.i": {"effect": "deny", "when": {"op": "schema", "args": ["fact.a.n", "s"]}}},
    schemas={"s": {"maximum": 9}},
)
WRITING = {"effect": "deny", "subject": {"capability": "write:fact"}}
ALL_BY_CALLERS = {"tools": {"*": {"executor": "caller"}, "pay": {"executor": "caller"}}}


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        (holding(i=unpaid()), holding(), "constraint.invariant.i"),
        (holding(i=unpaid()), holding(i=unpaid("fact.other")), "constraint.invariant.i"),
        (NAMES_SCHEMA, replace(NAMES_SCHEMA, schemas={"s": {"maximum": 5}}), "schemas"),
        (members(), members(provenance={"sources": "any"}), "provenance.sources"),
        (members(), members(provenance={"inputs": "any"}), "provenance.inputs"),
        (members(), members(provenance={"permissions": "any"}), "provenance.permissions"),
        (members(), members(arbitration={"scheduling": 1}), "arbitration.scheduling"),
        (policy({**PAYS, "w": WRITING}, **ALL_BY_CALLERS), members(**ALL_BY_CALLERS), "constraint.w"),
        (issues(), issues(expires_in_seconds=61), "capabilities"),
        (issues(), issues(scope={"tools": ["*"]}), "capabilities"),
        (issues(), issues(roles=["agent", "tool"]), "capabilities"),
        (members(scheduling={"episode": {"candidates": 1}}), members(), "scheduling"),
        (members(), members(modes={"rules": {"eco": {"budget_share": 0.9}}}), "modes.rules.budget_share"),
    ],
)
def test_what_nothing_is_proved_about_is_named_if_it_may_loosen_something(
    old: Policy, new: Policy, named: str
) -> None:
    proof = Prover(new, old).answer(UPDATE)
    assert (proof.answer, f"`{named}`" in proof.why) == ("cannot_say", True), proof
    same = Prover(old, old).answer(UPDATE)
    assert same.answer == "proved"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (holding(), holding(i=unpaid())),
        (members(provenance={"sources": "any"}), members()),
        (members(**ALL_BY_CALLERS), policy({**PAYS, "w": WRITING}, **ALL_BY_CALLERS)),
    ],
    ids=["invariant", "provenance", "write"],
)
def test_what_only_makes_changes_of_the_state_stricter_is_proved(old: Policy, new: Policy) -> None:
    assert Prover(new, old).answer(UPDATE).answer == "proved"
