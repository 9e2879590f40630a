"""An outsider with a checkpoint, an exported session and a verifier needs no server, and is not fooled."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import beliefd as package
from beliefd.cli.checkpoints import log_settings
from beliefd.cli.commands import log as log_commands
from beliefd.cli.output import Exit
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.testing.world import ONTOLOGY
from tests.cli.runner import answer, beliefd
from tests.conformance.node import Verdict
from tests.log.outsider import Case


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(tmp_path_factory.mktemp("outsider"))


def test_both_verifiers_say_which_events_a_kept_checkpoint_covers_and_which_not(case: Case) -> None:
    told = case.verify("cp2")
    assert (told["ok"], told["checked"]) == (True, 5)
    assert (told["covering"]["covered"], told["covering"]["not_covered"]) == (3, 2)
    said = beliefd(
        *("audit", "verify", "--ledger", case.at("ledger"), "--checkpoint", case.at("cp2")),
        *("--key", case.at("key")),
    ).stdout
    assert "events 1 to 3 are covered" in said
    assert "2 more in the file are not covered" in said
    for few in ((), ("key",), ("key", "cp2"), ("key", "cp2", "--later", "cp3")):
        assert case.node(*few).text.startswith("INVALID_REQUEST: give KEYS CHECKPOINT LEDGER"), few
    size = told["covering"]["size"]
    assert case.node("key", "cp2", "ledger") == Verdict(
        0,
        f"ok events 1 to 3 of 5 in the file are covered by the checkpoint of size {size};"
        " whether more followed cannot be seen from it",
    )
    answer(
        "log",
        "prove",
        case.session,
        "-o",
        case.at("proof"),
        "--checkpoint",
        case.at("cp3"),
        "--data",
        case.data,
    )
    assert case.verify("cp3", "--proof", case.at("proof"))["covering"]["covered"] == 4
    assert case.node("key", "cp3", "ledger", "proof").code == 0


def test_nobody_says_that_nothing_followed_a_ledger_whose_end_was_cut_off(case: Case) -> None:
    """Whoever cuts the last covered events off can ask for a proof of the event that is the last now."""
    header, *lines = case.at("ledger").read_text().splitlines()
    kept, dropped = json.loads(lines[1]), json.loads(lines[2])
    given = ("-o", case.at("earlier"), "--checkpoint", case.at("cp2"), "--data", case.data)
    answer("log", "prove", case.session, kept["event_id"], *given)
    proof = json.loads(case.at("earlier").read_text())
    told = json.loads(header)
    told["head"] = {name: kept[name] for name in told["head"]}
    told["proof"] = {name: proof[name] for name in told["proof"]}
    case.at("cut").write_text("\n".join([json.dumps(told), *lines[:2], ""]))
    verify = ("audit", "verify", "--ledger", case.at("cut"))
    by = ("--checkpoint", case.at("cp2"), "--key", case.at("key"))
    covering = answer(*verify, *by)["covering"]
    assert (covering["covered"], covering["not_covered"]) == (2, 0)
    assert covering["after_the_file"] == "unknown"
    said, node = beliefd(*verify, *by).stdout, case.node("key", "cp2", "cut")
    assert "nothing came after" not in said
    assert "whether the session has more events than the file cannot be seen from it" in said
    assert f"beliefd log prove {case.session}" in said
    assert (node.code, "whether more followed cannot be seen" in node.text) == (0, True)
    assert "later not" not in node.text
    # Both ways out that are named there find it.
    answer(*verify, "--expect-head", dropped["hash"], code=Exit.LEDGER_BROKEN)
    last = answer("log", "prove", case.session, "--checkpoint", case.at("cp2"), "--data", case.data)
    assert last["seq"] == 3


@pytest.mark.parametrize("text", ["", " \n\n"])
def test_a_file_without_a_key_asks_for_nobodys_signature_and_is_refused(
    case: Case, tmp_path: Path, text: str
) -> None:
    (tmp_path / "empty").write_text(text)
    told = case.verify("cp2", "--witness", tmp_path / "empty", code=Exit.BAD_INPUT)["error"]
    assert (told["code"], told["details"]["path"]) == ("INVALID_REQUEST", "--witness")
    told = case.verify("cp2", "--key", tmp_path / "empty", code=Exit.BAD_INPUT)["error"]
    assert told["details"]["path"] == "--key"
    refuse_to_serve(tmp_path, tmp_path / "empty", "holds no key")


def test_a_log_is_no_witness_of_itself_and_a_witness_is_no_log(case: Case, tmp_path: Path) -> None:
    told = case.verify("cp2", "--witness", case.at("key"), code=Exit.BAD_INPUT)["error"]
    assert (told["code"], told["details"]["path"]) == ("INVALID_REQUEST", "--witness")
    assert "log key new --witness" in told["message"]
    refuse_to_serve(tmp_path, case.at("key"), "is the key of a log")
    made = answer("log", "key", "new", tmp_path / "w", "--name", "witness.example/w", "--witness")["key"]
    told = case.verify("cp2", "--key", made, code=Exit.BAD_INPUT)["error"]
    assert (told["code"], told["details"]["path"]) == ("INVALID_REQUEST", "--key")


def refuse_to_serve(place: Path, witness: Path, words: str) -> None:
    with pytest.raises(BeliefdError, match=words) as stopped:
        log_settings(place, log_witness=(str(witness),))
    assert (stopped.value.code, stopped.value.details) == (Code.INVALID_REQUEST, {"path": "--log-witness"})
    said = beliefd("serve", "--data", place / "served", "--port", "0", "--log-witness", witness)
    assert (said.exit_code, words in said.stderr) == (Exit.BAD_INPUT, True)
    assert not (place / "served").exists()


@pytest.mark.parametrize("option", ["--key", "--witness", "--proof"])
def test_what_only_a_checkpoint_is_checked_with_is_not_ignored_without_one(case: Case, option: str) -> None:
    for what in (("--ledger", case.at("ledger")), (case.session, "--data", case.data)):
        said = beliefd("audit", "verify", *what, option, case.at("key"))
        assert (said.exit_code, "go with `--checkpoint`" in said.stderr) == (Exit.BAD_INPUT, True)


def test_both_verifiers_take_one_way_of_writing_a_hash_and_one_event(case: Case) -> None:
    proof = json.loads(case.at("ledger").read_text().splitlines()[0])["proof"]
    first, *rest = proof["path"]
    spaced = " ".join((first[:32], first[32:]))
    changes: list[dict[str, Any]] = [
        {"path": [one, *rest]} for one in (first.upper(), spaced, f"{first}\n", first[:-2])
    ]
    changes += [{"event_id": "another"}, {"seq": str(proof["seq"])}]
    for change in changes:
        case.at("changed").write_text(json.dumps({**proof, **change}))
        told = case.verify("cp2", "--proof", case.at("changed"), code=Exit.LEDGER_BROKEN)
        assert told["error"]["code"] == "PROOF_INVALID", change
        assert case.node("key", "cp2", "ledger", "changed").text.startswith("PROOF_INVALID"), change


def test_a_proof_for_another_size_a_forged_checkpoint_and_a_changed_ledger_are_named(case: Case) -> None:
    def both(checkpoint: str, code: str, *names: str) -> None:
        assert case.verify(checkpoint, code=Exit.LEDGER_BROKEN)["error"]["code"] == code
        told = case.node("key", checkpoint, "ledger")
        assert (told.code, told.text.partition(":")[0]) == (5, code)

    both("cp1", "PROOF_INVALID")
    note = case.at("cp2").read_text()
    origin, size, root, *_ = note.split("\n")
    case.at("forged").write_text(note.replace(f"\n{size}\n", f"\n{int(size) + 1}\n"))
    both("forged", "CHECKPOINT_FORGED")
    beliefd("log", "key", "new", case.at("stranger"), "--name", origin)
    case.at("unsigned").write_text(note.replace("\u2014 ", "\u2014 not."))
    both("unsigned", "CHECKPOINT_FORGED")
    header, *lines = case.at("ledger").read_text().splitlines()
    cut = json.loads(header)
    assert root not in header
    cut["proof"]["hash"] = json.loads(lines[0])["hash"]
    case.at("wrong").write_text(json.dumps(cut["proof"]))
    told = case.verify("cp2", "--proof", case.at("wrong"), code=Exit.LEDGER_BROKEN)
    assert told["error"]["code"] == "PROOF_INVALID"
    assert case.node("key", "cp2", "ledger", "wrong").text.startswith("PROOF_INVALID")
    case.at("plain").write_text("\n".join(["{}", *lines]))
    without = answer("audit", "export", case.session, "-o", case.at("plain"), "--data", case.data)
    assert without["events"] == len(lines)
    given = ("--ledger", case.at("plain"), "--checkpoint", case.at("cp2"), "--key", case.at("key"))
    assert answer("audit", "verify", *given, code=Exit.BAD_INPUT)["error"]["code"] == "NOT_COVERED"
    assert case.node("key", "cp2", "plain").text.startswith("NOT_COVERED")
    told = answer("audit", "verify", *given[:4], code=Exit.BAD_INPUT)
    assert told["error"]["details"]["path"] == "--key"


def test_consistency_is_checked_against_a_kept_checkpoint_here_and_from_files(case: Case) -> None:
    given = ("--key", case.at("key"), "--data", case.data)
    told = answer("log", "consistency", case.at("cp1"), *given, "-o", case.at("consistency"))
    assert told["from_size"] < told["to_size"]
    assert case.node("key", "cp1", "--later", "cp3", "consistency").code == 0
    assert case.node("key", "cp1", "--later", "cp2", "consistency").text.startswith("PROOF_INVALID")
    assert case.node("key", "cp3", "--later", "cp1", "consistency").text.startswith("LOG_ROLLED_BACK")
    back = answer("log", "consistency", case.at("cp3"), "--to", case.at("cp1"), *given, code=5)
    assert back["error"]["code"] == "LOG_ROLLED_BACK"


def test_two_histories_under_one_key_are_a_split_view(case: Case, tmp_path: Path) -> None:
    """Somebody who has the key signs another history: who kept a checkpoint of the first one notices."""
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    (other / "log.key").write_bytes((case.data / "log.key").read_bytes())
    (other / "log.key").chmod(0o600)
    with package.open(other / "beliefd.db") as opened:
        for _ in range(20):
            opened.declare_session(["a"], ONTOLOGY)
    answer("log", "checkpoint", "--now", "--data", other)
    told = answer(
        "log",
        "consistency",
        case.at("cp3"),
        "--key",
        case.at("key"),
        "--data",
        other,
        code=Exit.LEDGER_BROKEN,
    )
    assert told["error"]["code"] == "SPLIT_VIEW"
    # A witness that has seen the first one does not cosign the second.
    key = answer("log", "key", "new", tmp_path / "w.key", "--name", "witness.example/w", "--witness")["key"]
    witness = (
        "log",
        "cosign",
        "--as",
        tmp_path / "w.key",
        "--seen",
        tmp_path / "seen",
        "--key",
        case.at("key"),
    )
    cosigned = tmp_path / "cosigned"
    answer(*witness, "-o", cosigned, "--data", case.data)
    assert case.verify("cp3", "--witness", key, code=Exit.LEDGER_BROKEN)["error"]["code"] == "WITNESS_MISSING"
    case.export("cp3", "ledger3")
    given = (
        "--ledger",
        case.at("ledger3"),
        "--checkpoint",
        cosigned,
        "--key",
        case.at("key"),
        "--witness",
        key,
    )
    assert answer("audit", "verify", *given)["ok"]
    assert answer(*witness, "--data", other, code=Exit.LEDGER_BROKEN)["error"]["code"] == "SPLIT_VIEW"
    told = answer(*witness[:2], "--as", other / "log.key", *witness[4:], "--data", case.data, code=2)
    assert told["error"]["details"]["path"] == "--as"


def test_a_server_that_is_slow_to_answer_has_no_second_history_cosigned_meanwhile(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs of the witness hold two histories against one checkpoint that both continue."""
    faces = [tmp_path / name for name in ("one", "other")]
    for place in faces:
        shutil.copytree(case.data, place)
        with package.open(place / "beliefd.db") as opened:
            opened.declare_session(["a"], ONTOLOGY)
        answer("log", "checkpoint", "--now", "--data", place)
    own, seen = tmp_path / "w.key", tmp_path / "seen"
    answer("log", "key", "new", own, "--name", "witness.example/w", "--witness")
    seen.write_bytes(case.at("cp3").read_bytes())
    cosign = ("log", "cosign", "--as", own, "--seen", seen, "--key", case.at("key"), "-o", tmp_path / "out")
    ask = log_commands._refuse_other_history

    def slowly(*given: Any) -> Any:
        monkeypatch.setattr(log_commands, "_refuse_other_history", ask)
        assert answer(*cosign, "--data", faces[1])["size"] > 0
        return ask(*given)

    monkeypatch.setattr(log_commands, "_refuse_other_history", slowly)
    told = answer(*cosign, "--data", faces[0], code=Exit.REFUSED)["error"]
    assert (told["code"], told["details"]["path"]) == ("CONFLICT", "--seen")
    assert answer(*cosign, "--data", faces[0], code=Exit.LEDGER_BROKEN)["error"]["code"] == "SPLIT_VIEW"
    assert answer(*cosign, "--data", faces[1])["size"] > 0


def test_the_stored_log_is_checked_and_rebuilt_by_one_command(case: Case) -> None:
    told = answer("log", "check", "--data", case.data)
    assert (told["ok"], told["tiles"]) == (True, [])
    assert answer("log", "rebuild", "--data", case.data)["root"] == told["root"]
    shown = beliefd("log", "show", "--data", case.data).stdout
    assert "covered by the newest checkpoint" in shown
    before = answer("log", "key", "show", "--data", case.data)["keys"]
    new = answer("log", "key", "rotate", "--data", case.data)["key"]
    assert answer("log", "key", "show", "--all", "--data", case.data)["keys"] == [*before, new]
    assert case.verify("cp2")["ok"]


def test_a_witness_on_the_command_line_cosigns_over_http_and_says_what_it_does_not(
    case: Case, tmp_path: Path
) -> None:
    own, public = tmp_path / "witness.key", tmp_path / "witness.pub"
    made = beliefd("log", "key", "new", own, "--witness", "--name", "witness.example/w")
    public.write_text(made.stdout)
    given = ("--as", own, "--key", case.at("key"), "--seen", tmp_path / "seen")
    told = beliefd("log", "witness", "--as", own, "--seen", tmp_path / "seen", "--port", "0")
    assert (told.exit_code, "which logs to cosign" in told.stderr) == (Exit.BAD_INPUT, True)
    told = beliefd("log", "submit", "http://127.0.0.1:1", "--data", case.data)
    assert (told.exit_code, "whose signature counts" in told.stderr) == (Exit.BAD_INPUT, True)
    with witness_process(*given) as url:
        for _ in range(2):  # it is told again what it knows
            to = ("-o", case.at("cosigned"), "--witness", public, "--data", case.data)
            assert answer("log", "submit", url, *to)["size"] > 0
            case.export("cosigned", "ledger")
            assert case.verify("cosigned", "--witness", public)["ok"]
        # Without `-o` the server gets it, which must know the witness.
        told = beliefd("log", "submit", url, "--witness", public, "--data", case.data)
        assert "name it with `--log-witness`" in told.stderr
    told = beliefd("log", "submit", url, "--witness", public, "--data", case.data)
    assert (told.exit_code, "has not cosigned" in told.stderr) == (Exit.LEDGER_BROKEN, True)
    case.export("cp2", "ledger")


@contextmanager
def witness_process(*given: str | Path) -> Iterator[str]:
    command = [sys.executable, "-m", "beliefd.cli.main", "log", "witness", "--port", "0", *map(str, given)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.communicate(timeout=60)
