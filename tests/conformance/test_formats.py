"""Formats and released logs: worked values do not rot, and both languages agree on every one of them."""

import asyncio
import hashlib
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from beliefd.kernel.beliefs.survivors import Survivors, Universe
from beliefd.kernel.canonical import canonical
from beliefd.kernel.errors import Code
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.ledger.envelope import read
from beliefd.ledger.replay import fold, redecide
from beliefd.ledger.state_hash import state_hash
from beliefd.ledger.transfer import read_export
from beliefd.ledger.verify import same_outcome, verify
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.statuses import STATUS
from tests.conformance.beliefs import BELIEFS
from tests.conformance.node import CONFORMANCE, run_node, verify_with_node

ROOT = CONFORMANCE.parent
PROTOCOL = (ROOT / "BELIEF_PROTOCOL.md").read_text()
CANONICAL: dict[str, Any] = json.loads((CONFORMANCE / "vectors/formats/canonical.json").read_text())
HASHES: dict[str, Any] = json.loads((CONFORMANCE / "vectors/formats/hashes.json").read_text())
LOGS = sorted((CONFORMANCE / "released-logs").glob("*.jsonl"))


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, CONFORMANCE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("vector", CANONICAL["accepted"], ids=lambda vector: vector["name"])
def test_canonical_vectors_hold(vector: dict[str, str]) -> None:
    written = canonical(loads(vector["json"].encode()))
    assert written.decode() == vector["canonical"]
    assert hashlib.sha256(written).hexdigest() == vector["sha256"]


@pytest.mark.parametrize("vector", CANONICAL["refused"], ids=lambda vector: vector["name"])
def test_what_has_no_canonical_form_is_refused(vector: dict[str, str]) -> None:
    with pytest.raises(Unreadable):
        loads(vector["json"].encode())


@pytest.mark.parametrize("vector", HASHES["universes"], ids=lambda vector: vector["universe_hash"][:8])
def test_universe_and_survivors_vectors_hold(vector: dict[str, Any]) -> None:
    universe = Universe(vector["hypotheses"])
    assert universe.digest.hex() == vector["universe_hash"]
    for case in vector["survivors"]:
        survivors = Survivors(universe).without(set(vector["hypotheses"]) - set(case["surviving"]))
        assert survivors.to_bytes().hex() == case["bitmap"]
        assert survivors.digest == case["survivors_hash"]


def test_node_finds_the_same_values_in_all_format_vectors() -> None:
    verdict = run_node("check_formats.mjs")
    assert verdict.code == 0, verdict.text
    assert re.fullmatch(r"ok \d+ values", verdict.text)


def test_written_vectors_and_the_worked_example_are_what_the_script_makes() -> None:
    made = script("make_vectors")
    for path, text in made.format_files().items():
        assert path.read_text() == text, f"run `python conformance/make_vectors.py --write` ({path.name})"
    assert made.with_example(PROTOCOL) == PROTOCOL, "run `python conformance/make_vectors.py --write`"


def test_the_worked_example_can_be_recomputed_from_its_own_listings() -> None:
    example = PROTOCOL.split("<!-- worked example: begin -->")[1]
    framed, universe, full, fewer, genesis, genesis_hash, policy, policy_hash, export, verdict = re.findall(
        r"```text\n(.*?)\n```", example, re.DOTALL
    )
    assert hashlib.sha256(bytes.fromhex(framed)).hexdigest() == universe
    for bitmap, expected in (("e0", full), ("a0", fewer)):
        data = b"belief/1 survivors\0" + bytes.fromhex(universe + bitmap)
        assert hashlib.sha256(data).hexdigest() == expected
        assert f"bitmap `{bitmap}`" in example
    assert hashlib.sha256(genesis.encode()).hexdigest() == genesis_hash
    assert hashlib.sha256(policy.encode()).hexdigest() == policy_hash
    assert verify_with_node(export.encode()) == (0, verdict)


def test_the_readme_shows_what_the_verifiers_print() -> None:
    readme = (CONFORMANCE / "README.md").read_text()
    commands = re.findall(r"\$ node conformance/(\S+)(?: (\S+))?\n((?:[^$`].*\n)+)", readme)
    assert len(commands) == 2
    for name, argument, output in commands:
        assert run_node(name, *([str(ROOT / argument)] if argument else [])) == (0, output.strip())


def test_the_protocol_lists_every_error_code_with_its_status() -> None:
    table = PROTOCOL.split("**Errors**")[1].split("**Principals.**")[0]
    listed = dict(re.findall(r"\| `([A-Z_]+)`[^|]*\| (\d{3}) ", table))
    assert listed == {code.value: str(status) for code, status in STATUS.items()}
    assert listed.keys() == {code.value for code in Code}


def test_the_protocol_lists_every_path_of_belief() -> None:
    table = PROTOCOL.split("## 10. HTTP")[1].split("**Errors**")[0]
    for name in (*BELIEFS, "events"):
        operation = BY_NAME[name]
        suffix = operation.path.removeprefix("/v1/sessions/{session_id}")
        assert f"`{operation.method} {operation.path}`" in table or f"`{suffix}`" in table, operation.path


def test_the_protocol_describes_every_verb_and_kind_of_event() -> None:
    from beliefd.kernel.commands import Command
    from beliefd.kernel.events import Event

    for kind in (*Command.__args__, *Event.__args__):
        assert f"`{kind.__struct_config__.tag}`" in PROTOCOL


def test_there_is_a_released_log() -> None:
    assert LOGS


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
class TestReleasedLog:
    """The ledgers of all released versions, for ever."""

    def test_verifies(self, log: Path) -> None:
        exported = read_export(log.read_bytes().splitlines())
        result, position = verify(
            exported.entries, exported.header.session_id, exported.header.policies, exported.header.head
        )
        assert result.ok, result.first_bad
        assert position is not None
        assert self.expected(log)["state_hash"] == state_hash(position.session)

    def test_verifies_in_node(self, log: Path) -> None:
        expected = self.expected(log)
        assert verify_with_node(log.read_bytes()) == (
            0,
            f"ok {expected['events']} events, head {expected['head']}",
        )

    def test_folds_to_what_was_known_then(self, log: Path) -> None:
        expected = self.expected(log)
        position = fold(read_export(log.read_bytes().splitlines()).entries)
        assert position is not None
        session = position.session
        assert [position.head.seq, position.head.hash] == [expected["events"], expected["head"]]
        assert [list(session.beliefs.survivors), session.beliefs.status] == [
            expected["survivors"],
            expected["status"],
        ]
        assert session.beliefs.conclusions == expected["conclusions"]
        assert list(session.beliefs.obligations) == [
            kept["obligation_id"] for kept in expected["obligations"]
        ]

    def test_is_decided_the_same_again(self, log: Path) -> None:
        exported = read_export(log.read_bytes().splitlines())
        entries = [read(entry.record) for entry in exported.entries]
        for step in redecide(entries, exported.header.policies):
            assert same_outcome(step.event, step.entry.delta), step.entry.seq

    def test_holds_the_verbs_of_belief_under_several_policies_and_a_state_hash(self, log: Path) -> None:
        entries = [json.loads(line) for line in log.read_bytes().splitlines()[1:]]
        assert {entry["verb"] for entry in entries} >= {
            "DECLARE_SESSION",
            "ELIMINATE",
            "ENTER_OBLIGATION",
            "REQUEST_EXIT",
            "DECLARE_CONCLUSION",
            "REQUEST_TERMINATION",
            "MERGE",
        }
        assert len({entry["policy_hash"] for entry in entries}) > 1
        assert any("state_hash" in entry for entry in entries)

    def expected(self, log: Path) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(log.with_suffix(".expected.json").read_text())
        return found


def test_the_log_of_this_version_is_still_what_this_version_writes() -> None:
    """The same story, event by event; only its policies may have learnt new words, which moves the hashes."""
    export, found = asyncio.run(script("make_released_log").Story().written())
    log = CONFORMANCE / "released-logs" / f"{found['version']}.jsonl"
    assert log.exists(), "run `python conformance/make_released_log.py` before the release"
    by_policy = {"policy_hash", "prev_hash", "hash"}
    written, released = (
        [
            {name: value for name, value in json.loads(line).items() if name not in by_policy}
            for line in lines.splitlines()[1:]
        ]
        for lines in (export, log.read_bytes())
    )
    for now, then in zip(written, released, strict=True):
        # A merge names both heads, and those hashes are over policies, too.
        assert now == then or now["verb"] == "MERGE"
