"""Both verifiers can ask for a witness's signature, and say by when what is covered was in the log; a session
of a server is verified against a checkpoint, and against what has reached anchors."""

from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.system.state import SYSTEM
from beliefd.ledger.notes import COSIGNATURE, Note, Signature, SigningKey, read_note
from tests.cli.runner import answer, beliefd
from tests.conformance.node import Verdict, run_node
from tests.log.outsider import Case

WITNESS = SigningKey("witness.example/w", b"w" * 32, COSIGNATURE)
OTHER = SigningKey("other.example/w", b"o" * 32, COSIGNATURE)
SEEN = 1_800_000_000
WORDS = "cosigned by witness.example/w at 2027-01-15T08:00:00Z"


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    case = Case(tmp_path_factory.mktemp("witnessed"))
    for name, key in (("witness", WITNESS), ("other", OTHER)):
        case.at(name).write_text(f"{key.verifier}\n")
    return case


def cosigned(case: Case, *lines: Signature, name: str = "cosigned") -> Path:
    """The second checkpoint with these signatures under it."""
    case.at(name).write_text(str(read_note(case.at("cp2").read_text()).signed(lines)))
    return case.at(name)


def text_of(case: Case) -> str:
    note: Note = read_note(case.at("cp2").read_text())
    return note.text


def node(case: Case, witness: str, checkpoint: str = "cosigned") -> Verdict:
    places = (case.at(one) for one in (witness, "key", checkpoint, "ledger"))
    return run_node("verify_log.mjs", "--witness", *map(str, places))


def python(case: Case, witness: str, code: int = 0) -> Any:
    return case.verify("cosigned", "--witness", case.at(witness), code=code)


def test_both_say_when_a_witness_has_seen_it(case: Case) -> None:
    cosigned(case, WITNESS.cosign(text_of(case), SEEN))
    assert python(case, "witness")["covering"]["cosigned"] == [
        {"witness": "witness.example/w", "at": SEEN, "time": "2027-01-15T08:00:00Z"}
    ]
    said = beliefd(
        *("audit", "verify", "--ledger", case.at("ledger"), "--checkpoint", case.at("cosigned")),
        *("--key", case.at("key"), "--witness", case.at("witness")),
    ).stdout
    assert WORDS in said
    told = node(case, "witness")
    assert (told.code, told.text.splitlines()[1]) == (0, f"{WORDS}: it was in the log by then")


def test_both_refuse_what_a_required_witness_has_not_cosigned(case: Case) -> None:
    cosigned(case, WITNESS.cosign(text_of(case), SEEN))
    assert python(case, "other", code=5)["error"]["code"] == "WITNESS_MISSING"
    told = node(case, "other")
    assert (told.code, told.text.partition(":")[0]) == (5, "WITNESS_MISSING")
    case.at("both").write_text(f"{WITNESS.verifier}\n{OTHER.verifier}\n")
    assert node(case, "both").text.startswith("WITNESS_MISSING")


def test_both_name_a_cosignature_that_is_forged_of_another_time_or_cut_off(case: Case) -> None:
    own = WITNESS.cosign(text_of(case), SEEN)
    other = WITNESS.cosign("another text\n", SEEN)
    blobs = (other.blob, (SEEN + 1).to_bytes(8, "big") + own.blob[8:], own.blob[:-1], own.blob[8:])
    for blob in blobs:
        cosigned(case, Signature(own.name, own.key_id, blob))
        assert python(case, "witness", code=5)["error"]["code"] == "CHECKPOINT_FORGED"
        told = node(case, "witness")
        assert (told.code, told.text.partition(":")[0]) == (5, "CHECKPOINT_FORGED")


def test_a_time_beyond_all_dates_breaks_neither(case: Case) -> None:
    cosigned(case, WITNESS.cosign(text_of(case), (1 << 64) - 1))
    words = f"{(1 << 64) - 1} seconds after 1970"
    assert python(case, "witness")["covering"]["cosigned"][0]["time"] == words
    assert words in node(case, "witness").text


def test_node_takes_no_logs_key_for_a_witness_and_no_empty_file(case: Case) -> None:
    cosigned(case, WITNESS.cosign(text_of(case), SEEN))
    assert node(case, "key").text.startswith("INVALID_REQUEST: not the public key of a witness")
    case.at("empty").write_text("\n")
    assert "holds no key" in node(case, "empty").text
    assert run_node("verify_log.mjs", "--witness", str(case.at("witness"))).code == 2


def test_a_later_checkpoint_needs_the_witness_too(case: Case) -> None:
    text = read_note(case.at("cp3").read_text()).text
    later = read_note(case.at("cp3").read_text()).signed([WITNESS.cosign(text, SEEN + 60)])
    case.at("later").write_text(str(later))
    cosigned(case, WITNESS.cosign(text_of(case), SEEN))
    answer(
        *("log", "consistency", case.at("cp2"), "--to", case.at("cp3"), "-o", case.at("between")),
        *("--key", case.at("key"), "--data", case.data),
    )
    names = ("witness", "key", "cosigned", "--later", "later", "between")
    told = run_node("verify_log.mjs", "--witness", *(n if n == "--later" else str(case.at(n)) for n in names))
    assert (told.code, "at 2027-01-15T08:01:00Z: it was in the log by then" in told.text) == (0, True)
    names = ("witness", "key", "cosigned", "--later", "cp3", "between")
    told = run_node("verify_log.mjs", "--witness", *(n if n == "--later" else str(case.at(n)) for n in names))
    assert (told.code, told.text.partition(":")[0]) == (5, "WITNESS_MISSING")


def test_a_session_of_a_server_is_verified_against_a_checkpoint_and_what_anchors_have(
    case: Case, tmp_path: Path
) -> None:
    own = ("--key", case.at("key"), "--data", case.data)
    told = answer("audit", "verify", case.session, "--checkpoint", case.at("cp2"), *own)
    assert (told["covering"]["covered"], told["covering"]["not_covered"]) == (3, 2)
    assert told["covering"]["anchored"] == []
    size = told["covering"]["size"]
    anchored = f'{{"{tmp_path}":{{"size":{size},"note":"x"}},"git:elsewhere":{{"size":1,"note":"x"}}}}'
    case.at("data/log.anchored").write_text(anchored)
    case.at("data/log.anchored").chmod(0o600)
    said = beliefd("audit", "verify", case.session, "--checkpoint", case.at("cp3"), *own).output
    assert "events 1 to 4 are covered by the checkpoint of size" in said
    assert "1 more in the session is not covered" in said
    assert (
        f"events 1 to 3 are covered by the checkpoint of size {size} that is anchored at {tmp_path}" in said
    )
    assert "events 1 to 1 are covered by the checkpoint of size 1 that is anchored at git:elsewhere" in said
    said = beliefd("audit", "verify", SYSTEM, "--checkpoint", case.at("cp3"), *own).output
    assert "no event is covered by what is anchored at git:elsewhere" in said
    case.at("data/log.anchored").unlink()
    forged = case.at("cp2").read_text().replace(f"\n{size}\n", f"\n{size - 1}\n")
    case.at("forged").write_text(forged)
    told = answer("audit", "verify", case.session, "--checkpoint", case.at("forged"), *own, code=5)
    assert told["error"]["code"] == "CHECKPOINT_FORGED"
