"""No policy comes into force that breaks a promise: on the command line, over HTTP, and by a changed file."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import beliefd as package
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.guarantees import Guarantee
from beliefd.kernel.values import Principal, Role
from beliefd.policy.proving import process
from beliefd.steward.bootstrap import bootstrap, start
from beliefd.stores.base import Adoption
from beliefd.stores.memory import MemoryStore
from beliefd.stores.opening import open_store
from tests.cli.runner import answer, beliefd
from tests.proving.test_prover import on, policy

ADMIN = Principal(id="admin://zoe", role=Role.ADMIN)
ALONE = {"name": "nobody pays alone", "role": "agent", "tool": "pay", "never": "without_person"}
STRICTER_ONLY = {"update": "loosens_nothing"}
ASKS = {"a": on("pay", "allow"), "b": on("pay", "ask")}
HOLED = {"a": on("pay", "allow"), "b": on("pay", "ask", "gt", "call.args.amount", 100)}


def with_promises(constraints: dict[str, Any], *promises: dict[str, Any]) -> Policy:
    return policy(constraints, prove=list(promises))


def file_of(place: Path, constraints: dict[str, Any], *promises: dict[str, Any]) -> Path:
    named = {f"constraint.{name}": {"v": 2, "subject": None, **raw} for name, raw in constraints.items()}
    place.write_text(
        yaml.safe_dump({"constraints": named, **({"prove": list(promises)} if promises else {})})
    )
    return place


@pytest.mark.anyio
async def test_a_promise_of_the_policy_in_force_binds_what_follows_though_that_has_none() -> None:
    here = bootstrap(MemoryStore()).steward.in_force
    kept = with_promises(ASKS, ALONE)
    await here.bring_into_force(kept, ADMIN)
    with pytest.raises(BeliefdError, match="nobody pays alone") as raised:
        await here.bring_into_force(policy(HOLED), ADMIN)
    assert raised.value.code is Code.CONFLICT
    assert raised.value.details is not None
    assert raised.value.details["proof"]["call"]["verdicts"] == {"new": "allow ALLOWED"}
    assert here.policy == kept
    await here.bring_into_force(policy(ASKS), ADMIN)
    await here.bring_into_force(policy(HOLED), ADMIN)
    assert here.policy == policy(HOLED)


@pytest.mark.anyio
async def test_a_policy_that_breaks_its_own_promise_is_not_adopted() -> None:
    here = bootstrap(MemoryStore()).steward.in_force
    with pytest.raises(BeliefdError, match="nobody pays alone"):
        await here.bring_into_force(with_promises(HOLED, ALONE), ADMIN)
    assert here.origin.source == "default"


@pytest.mark.anyio
async def test_a_promise_about_updates_is_kept_from_the_next_on() -> None:
    here = bootstrap(MemoryStore()).steward.in_force
    await here.bring_into_force(with_promises(ASKS, STRICTER_ONLY), ADMIN)
    with pytest.raises(BeliefdError, match="loosens nothing"):
        await here.bring_into_force(with_promises(HOLED, STRICTER_ONLY), ADMIN)
    await here.bring_into_force(with_promises({**ASKS, "c": on("pay", "deny")}, STRICTER_ONLY), ADMIN)
    assert "constraint.c" in here.policy.constraints


@pytest.mark.anyio
async def test_an_update_that_drops_an_invariant_is_not_adopted_and_says_which() -> None:
    here = bootstrap(MemoryStore()).steward.in_force
    unpaid = {"effect": "deny", "when": {"op": "exists", "args": ["fact.debt"]}}
    kept = with_promises({**ASKS, "invariant.i": unpaid}, STRICTER_ONLY)
    await here.bring_into_force(kept, ADMIN)
    for looser in (policy(ASKS), policy({**ASKS, "invariant.i": unpaid}, provenance={"sources": "any"})):
        with pytest.raises(BeliefdError, match=r"cannot say.*`(constraint.invariant.i|provenance.sources)`"):
            await here.bring_into_force(looser, ADMIN)
    assert here.policy == kept


@pytest.mark.anyio
async def test_a_changed_file_that_breaks_a_promise_leaves_the_old_policy(tmp_path: Path) -> None:
    here = bootstrap(MemoryStore()).steward.in_force
    kept = with_promises(ASKS, ALONE)
    await here.take_file(kept, tmp_path / "policy.yaml")
    with pytest.raises(BeliefdError, match="is promised"):
        await here.take_file(with_promises(HOLED, ALONE), tmp_path / "policy.yaml")
    assert here.policy == kept


@pytest.mark.anyio
async def test_of_two_adoptions_at_once_the_second_keeps_what_the_first_promises() -> None:
    here = bootstrap(MemoryStore()).steward.in_force
    kept = with_promises(ASKS, ALONE)
    both = (here.bring_into_force(kept, ADMIN), here.bring_into_force(policy(HOLED), ADMIN))
    first, second = await asyncio.gather(*both, return_exceptions=True)
    assert first is None
    assert isinstance(second, BeliefdError)
    assert "nobody pays alone" in second.message
    assert here.policy == kept


@pytest.mark.anyio
async def test_a_second_server_that_has_not_heard_of_a_promise_keeps_it() -> None:
    store = MemoryStore()
    here, there = (bootstrap(store).steward.in_force for _ in range(2))
    kept = with_promises(ASKS, ALONE)
    await here.bring_into_force(kept, ADMIN)
    assert there.origin.source == "default"
    with pytest.raises(BeliefdError, match="nobody pays alone"):
        await there.bring_into_force(policy(HOLED), ADMIN)
    await there.bring_into_force(policy(ASKS), ADMIN)
    with pytest.raises(BeliefdError, match="nobody pays alone"):
        await here.bring_into_force(with_promises(HOLED, ALONE), ADMIN)
    await here.bring_into_force(policy(HOLED), ADMIN)  # given up there


@pytest.mark.anyio
async def test_a_promise_that_is_made_while_another_policy_is_proved_is_kept() -> None:
    class Meanwhile(MemoryStore):
        faster: Any = None

        async def adopt(self, adoption: Adoption) -> None:
            faster, self.faster = self.faster, None
            if faster is not None:
                await faster
            await super().adopt(adoption)

    store = Meanwhile()
    here, there = (bootstrap(store).steward.in_force for _ in range(2))
    kept = with_promises(ASKS, ALONE)
    store.faster = here.bring_into_force(kept, ADMIN)
    with pytest.raises(BeliefdError, match="nobody pays alone"):
        await there.bring_into_force(policy(HOLED), ADMIN)
    found = await store.adopted()
    assert found is not None
    assert found.policy_hash == here.hash == await there.on_record()
    store.faster = here.bring_into_force(with_promises({**ASKS, "c": on("pay", "deny")}, ALONE), ADMIN)
    await there.bring_into_force(policy(ASKS), ADMIN)
    assert await there.on_record() == there.hash == (await store.adopted() or found).policy_hash


@pytest.mark.anyio
async def test_a_server_with_a_file_begins_only_if_it_keeps_what_the_store_promises(tmp_path: Path) -> None:
    ledger, file = tmp_path / "ledger.db", tmp_path / "policy.yaml"
    first = await start(await open_store(ledger))
    await first.steward.in_force.bring_into_force(with_promises(ASKS, ALONE), ADMIN)
    await first.close()
    for place in (file, None):
        with pytest.raises(BeliefdError, match="nobody pays alone"):
            await start(await open_store(ledger), policy(HOLED), place)
    begun = await start(await open_store(ledger), policy(ASKS), file)
    assert begun.steward.in_force.policy == policy(ASKS)
    await begun.close()


@pytest.mark.anyio
async def test_what_a_file_promised_holds_when_a_server_begins_with_another(tmp_path: Path) -> None:
    ledger, file = tmp_path / "ledger.db", tmp_path / "policy.yaml"
    first = await start(await open_store(ledger), with_promises(ASKS, ALONE), file)
    await first.close()
    with pytest.raises(BeliefdError, match="nobody pays alone"):
        await start(await open_store(ledger), policy(HOLED), file)


@pytest.mark.anyio
async def test_what_cannot_be_said_is_not_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    here = bootstrap(MemoryStore()).steward.in_force
    nothing = lambda *_, **__: iter(())  # noqa: E731 - a process that says nothing
    monkeypatch.setattr(process, "_lines", nothing)
    with pytest.raises(BeliefdError, match="cannot say"):
        await here.bring_into_force(with_promises(ASKS, ALONE), ADMIN)


@pytest.mark.anyio
async def test_without_the_extra_a_policy_with_promises_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = bootstrap(MemoryStore()).steward.in_force
    monkeypatch.setattr(process, "find_spec", lambda _: None)
    with pytest.raises(BeliefdError, match=r"beliefd\[prove\]"):
        await here.bring_into_force(with_promises(ASKS, ALONE), ADMIN)
    await here.bring_into_force(policy(ASKS), ADMIN)


@pytest.mark.parametrize(
    ("promises", "told"),
    [
        ([ALONE, {"role": "agent", "tool": "pay", "can": "pass"}], "cannot both hold"),
        ([{"never": "at_all"}, {"tool": "pay", "can": "pass"}], "cannot both hold"),
        ([{"constraint": "constraint.z", "can": "fire"}], "no constraint `constraint.z`"),
        ([{"never_conflict": ["constraint.a", "constraint.z"]}], "no constraint `constraint.z`"),
        ([{**ALONE, "when": {"op": "xor", "args": []}}], "`when.op` is none of"),
    ],
)
def test_promises_that_make_no_sense_are_named(
    tmp_path: Path, promises: list[dict[str, Any]], told: str
) -> None:
    refused = beliefd("policy", "check", file_of(tmp_path / "policy.yaml", ASKS, *promises))
    assert refused.exit_code == 2
    assert told in refused.stderr


def test_a_hole_is_found_replayed_closed_and_adopted_under_guard(tmp_path: Path) -> None:
    data = tmp_path / "data"
    holed = file_of(tmp_path / "holed.yaml", HOLED, ALONE)
    out = tmp_path / "out"
    found = beliefd("policy", "prove", "--policy", holed, "--out", out)
    assert found.exit_code == 4, found.output
    assert "counterexample  nobody pays alone" in found.stdout
    command = (out / "replay.sh").read_text().split()[1:]
    assert answer(*command)["verdict"] == "allow"
    refused = beliefd("policy", "adopt", holed, "--data", data)
    assert refused.exit_code == 4
    assert "nobody pays alone" in refused.stderr
    closed = file_of(tmp_path / "closed.yaml", ASKS, ALONE)
    proved = answer("policy", "prove", "--policy", closed, "--against", holed)
    assert [one["answer"] for one in proved["proofs"]] == ["proved", "proved"]
    assert answer("policy", "adopt", closed, "--data", data)["source"] == "adopted"


def test_questions_are_asked_with_options(tmp_path: Path) -> None:
    file = file_of(tmp_path / "policy.yaml", HOLED)
    ask = ("policy", "prove", "--policy", file)
    fired = answer(*ask, "--constraint", "constraint.b", "--can", "fire")
    assert fired["proofs"][0]["call"]["call"]["args"]["amount"] > 100
    assert answer(*ask, "--conflict", "constraint.a", "constraint.b", code=4)["holds"] is False
    assert answer(*ask, "--tool", "read", "--never", "at_all")["holds"] is True
    assert answer(*ask, "--tool", "pay", "--never", "at_all", "--mode", "eco", code=4)["holds"] is False
    small = json.dumps({"op": "le", "args": ["call.args.amount", 100]})
    of_small = answer(*ask, "--tool", "pay", "--never", "without_person", "--when", small, code=4)
    assert of_small["proofs"][0]["call"]["call"]["args"]["amount"] <= 100
    assert "{" not in of_small["proofs"][0]["question"]
    big = json.dumps({"op": "gt", "args": ["call.args.amount", 100]})
    assert answer(*ask, "--tool", "pay", "--never", "without_person", "--when", big)["holds"] is True
    low = answer(*ask, "--agent-tier", "READ_ONLY", "--can", "pass")["proofs"][0]
    assert low["call"]["call"]["tier"] == "READ_ONLY"
    nothing = beliefd(*ask)
    assert (nothing.exit_code, "--against" in nothing.stderr) == (2, True)


def test_every_field_of_a_question_has_an_option() -> None:
    told = beliefd("policy", "prove", "--help").stdout
    fields = {*Guarantee.__struct_fields__} - {"name", "never_conflict"}
    assert {name for name in fields if f"--{name.replace('_', '-')} " not in told} == set()
    assert "--conflict KEY KEY" in told


def test_policies_are_written_in_cedar_with_what_is_left_out(tmp_path: Path) -> None:
    matching = {**ASKS, "m": on("pay", "deny", "matches", "call.args.to", "^a")}
    made = beliefd("policy", "export", file_of(tmp_path / "policy.yaml", matching), "--to", "cedar")
    assert made.exit_code == 0
    assert 'permit (principal, action, resource == Tool::"pay")' in made.stdout
    assert "`constraint.m` is left out" in made.stderr


def test_an_embedded_ledger_answers_as_the_command_does() -> None:
    with package.open(":memory:", principal=ADMIN) as ledger:
        ledger.adopt_policy(policy(HOLED))
        alone = Guarantee(role=Role.AGENT, tool="pay", never="without_person")
        found = ledger.prove_policy([alone])
        assert (found.holds, found.proofs[0].answer) == (False, "counterexample")
        update = Guarantee(update="loosens_nothing")
        assert ledger.prove_policy([update], policy=policy(ASKS)).holds
        assert json.dumps(found.proofs[0].call.call if found.proofs[0].call else None)
