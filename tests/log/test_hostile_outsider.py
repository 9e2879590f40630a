"""Whatever somebody writes into notes, proofs and ledgers, both verifiers judge it alike, and neither takes
for the log's what the log has not signed.
"""

import base64
import json
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.checkpoints import Trust, refuse_other_history, trusted_text
from beliefd.ledger.merkle import BadProof, included_root, leaf_hash
from beliefd.ledger.notes import COSIGNATURE, Checkpoint, Note, SigningKey
from tests.cli.runner import answer, beliefd
from tests.conformance.node import CONFORMANCE, node
from tests.ledger.merkle_model import mth, path, sha, subproof
from tests.log.outsider import Case

LOG = SigningKey("example.org/log", b"l" * 32)
ROTATED = SigningKey("example.org/log", b"r" * 32)
NEIGHBOUR = SigningKey("example.org/other", b"n" * 32)
STRANGER = SigningKey("example.org/log", b"s" * 32)
WITNESS = SigningKey("example.org/log", b"l" * 32, COSIGNATURE)
TRUSTED = (LOG, ROTATED, NEIGHBOUR)
SIGNED = Checkpoint("example.org/log", 7, leaf_hash(b"root"))
NOTE = str(Note(SIGNED.text).signed([LOG.sign(SIGNED.text)]))
ODD = (
    *("\ufeff", "\r", "\u2028", "\u0085", "\u00a0", "\u200b", "\x00", "\x7f", "\u202e", "e\u0301", "\u00e9"),
    *(" ", "+", "\n", "\n\n", "\u2014 ", "-", "0", "9", "\u0667", "A", "=", "/", "\U0001f525"),
)
"""What is put into texts: the invisible, what ends lines somewhere, other digits, and the usual."""
_SCRIPT = """
import { readFileSync } from "node:fs";
import { checkConsistency, checkLedger, readCheckpoint, readKey, rootOf } from "MODULE";
const bytes = (text) => Buffer.from(text, "base64");
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const point = ([origin, size, root]) => ({ origin, size, root: bytes(root) });
const work = {
  note: (keys, note) => {
    const { origin, size, root } = readCheckpoint(bytes(note), keys.map(readKey));
    return [origin, size, root.toString("base64")];
  },
  included: (leaf, index, size, path) => rootOf(bytes(leaf), index, size, path.map(bytes)).toString("base64"),
  later: (one, other, path) => checkConsistency(point(one), point(other), path.map(bytes)) ?? "ok",
  ledger: (keys, note, ledger, proof) => {
    const checkpoint = readCheckpoint(bytes(note), keys.map(readKey));
    const text = proof === null ? undefined : utf8.decode(bytes(proof));
    return checkLedger(checkpoint, bytes(ledger), text).covered;
  },
};
const told = ([what, ...given]) => {
  try {
    return work[what](...given);
  } catch (error) {
    return error.message.split(":")[0];
  }
};
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(told)));
"""


def asked(questions: list[list[Any]]) -> list[Any]:
    """What the verifier in node says to each; the code alone, where it refuses."""
    script = _SCRIPT.replace("MODULE", (CONFORMANCE / "verify_log.mjs").as_uri())
    done = subprocess.run(
        [node(), "--input-type=module", "-e", script],
        input=json.dumps(questions).encode(),
        capture_output=True,
        timeout=120,
        check=True,
    )
    told: list[Any] = json.loads(done.stdout)
    return told


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def told(work: Callable[[], Any]) -> Any:
    try:
        return work()
    except BeliefdError as error:
        return error.code.value
    except BadProof:
        return Code.PROOF_INVALID.value


# -- notes ---------------------------------------------------------------------------------------------


def read(note: bytes) -> Any:
    checkpoint = trusted_text(note, Trust(tuple(key.verifier for key in TRUSTED)))
    return [checkpoint.origin, checkpoint.size, b64(checkpoint.root)]


def judged(notes: list[bytes]) -> list[Any]:
    """What both say of each."""
    keys = [str(key.verifier) for key in TRUSTED]
    here = [told(lambda note=note: read(note)) for note in notes]  # type: ignore[misc]
    there = asked([["note", keys, b64(note)] for note in notes])
    for note, one, other in zip(notes, here, there, strict=True):
        assert one == other, note[:300]
    return here


def damaged(chance: random.Random, text: str) -> str:
    """A text with something odd put in, taken out, or in another place."""
    for _ in range(chance.choice((1, 1, 2, 5))):
        at, to = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
        lines = text.split("\n")
        one = chance.randrange(len(lines))
        text = chance.choice(
            (
                text[:at] + chance.choice(ODD) + text[at:],
                text[:at] + chance.choice(ODD) + text[at + 1 :],
                text[:at] + text[at + 1 :],
                text[:at] + text[at:to] + text[at:to] + text[to:],
                "\n".join((*lines[:one], lines[one], *lines[one:])),
                "\n".join((*lines[:one], *lines[one + 1 :], lines[one])),
                "\n".join((*lines[:one], *lines[one + 1 :])),
            )
        )
    return text


@pytest.mark.parametrize("seed", range(3))
def test_no_change_to_a_checkpoint_is_taken_for_the_logs(seed: int) -> None:
    chance = random.Random(seed)
    genuine = [SIGNED.origin, SIGNED.size, b64(SIGNED.root)]
    changed = [damaged(chance, NOTE).encode() for _ in range(700)]
    said = judged([NOTE.encode(), *changed])
    assert said[0] == genuine
    assert [one for one in said if one not in (genuine, Code.CHECKPOINT_FORGED.value)] == []
    assert said.count(Code.CHECKPOINT_FORGED.value) > len(changed) / 2


def signed(text: str, *more: str) -> bytes:
    return (str(Note(text).signed([LOG.sign(text)])) + "".join(more)).encode()


def line(key: SigningKey, text: str = SIGNED.text) -> str:
    return (key.cosign(text, 1) if key is WITNESS else key.sign(text)).line


def claimed(own: SigningKey, other: SigningKey) -> str:
    """A signature under the name and the id of another key."""
    made = own.sign(SIGNED.text)
    return type(made)(made.name, other.verifier.key_id, made.blob).line


GENUINE = {
    "as it is": NOTE,
    "another key of the log has signed, too": NOTE + line(ROTATED),
    "twice the same line": NOTE + line(LOG),
    "a stranger under the same name": NOTE + line(STRANGER),
    "a witness with the log's secret": NOTE + line(WITNESS),
    "as many lines as there may be": NOTE + line(STRANGER) * 99,
    "a longer text, signed": signed(SIGNED.text + "more\n").decode(),
    "a name in another script": NOTE + "\u2014 \u65e5\u672c\ufeff AAAAAAA=\n",
}
FORGED = {
    "nobody": f"{SIGNED.text}\n",
    "a stranger under the same name": f"{SIGNED.text}\n{line(STRANGER)}",
    "a stranger under the same name and id": f"{SIGNED.text}\n{claimed(STRANGER, LOG)}",
    "one that is genuine, and one that claims to be": NOTE + claimed(STRANGER, LOG),
    "a line of another trusted key that is forged": NOTE + line(NEIGHBOUR, "another\n"),
    "a trusted key of another log": f"{SIGNED.text}\n{line(NEIGHBOUR)}",
    "a witness with the log's secret": f"{SIGNED.text}\n{line(WITNESS)}",
    "a byte order mark": "\ufeff" + NOTE,
    "a byte order mark in the text": NOTE.replace("example", "\ufeffexample", 1),
    "returns": NOTE.replace("\n", "\r\n"),
    "one line too many": NOTE + line(STRANGER) * 100,
    "too long": NOTE + line(SigningKey("x" * 250, b"x" * 32)) * 90 + "\u2014 a " + "A" * (1 << 20) + "\n",
    "something behind a signature": NOTE[:-1] + " more\n",
    "a signature of nothing": NOTE + "\u2014 a \n",
    "a name with a space of another script": NOTE + "\u2014 a\u3000b AAAAAAA=\n",
    "a name with a plus": NOTE + "\u2014 a+b AAAAAAA=\n",
    "base64 of another alphabet": NOTE + "\u2014 a AAA-AAA=\n",
    "base64 with bits to spare": NOTE + "\u2014 a AAAAAAB=\n",
    "no end": NOTE[:-1],
}
BAD_TEXTS = {
    "past all sizes": f"example.org/log\n9007199254740993\n{b64(SIGNED.root)}\n",
    "a size with a nought": f"example.org/log\n07\n{b64(SIGNED.root)}\n",
    "a size in other digits": f"example.org/log\n\u0667\n{b64(SIGNED.root)}\n",
    "a size with an exponent": f"example.org/log\n7e0\n{b64(SIGNED.root)}\n",
    "a short root": f"example.org/log\n7\n{b64(SIGNED.root[:-1])}\n",
    "an empty line": f"{SIGNED.text}\nmore\n",
    "a tab": f"{SIGNED.text}a\tb\n",
    "no origin": f"\n7\n{b64(SIGNED.root)}\n",
}


def test_signatures_of_others_help_nobody_and_hurt_nobody() -> None:
    said = judged([text.encode() for text in GENUINE.values()])
    for name, one in zip(GENUINE, said, strict=True):
        assert one == [SIGNED.origin, SIGNED.size, b64(SIGNED.root)], name
    forged = {**{name: text.encode() for name, text in FORGED.items()}}
    forged |= {name: signed(text) for name, text in BAD_TEXTS.items()}
    forged["no UTF-8"] = NOTE.encode() + b"\xe2\x80\x94 a\xff AAAAAAA=\n"
    for name, one in zip(forged, judged(list(forged.values())), strict=True):
        assert one == Code.CHECKPOINT_FORGED.value, name


# -- proofs --------------------------------------------------------------------------------------------


def trees(chance: random.Random) -> Iterator[tuple[list[bytes], int, int]]:
    """Leaves, an earlier size, and the place of a leaf; small trees, and those around powers of two."""
    for _ in range(60):
        power = 1 << chance.randrange(1, 9)
        size = chance.choice((chance.randrange(1, 300), power - 1, power, power + 1))
        leaves = [number.to_bytes(2, "big") for number in range(size)]
        if chance.random() < 0.3:  # the same leaf in several places
            leaves = [leaves[0] if chance.random() < 0.5 else one for one in leaves]
        yield leaves, chance.randrange(size + 1), chance.randrange(size)


def near(chance: random.Random, number: int) -> int:
    return max(0, number + chance.choice((-2, -1, 0, 0, 0, 1, 2, 64)))


def bent(chance: random.Random, proof: list[bytes]) -> list[bytes]:
    """Often as it is; else with a hash more, fewer, twice, changed, or in another place."""
    at = chance.randrange(len(proof) + 1)
    return chance.choice(
        (
            *(proof, proof, proof[:-1], proof[1:], [*proof, sha(b"more")], proof[::-1]),
            [*proof[:at], *proof[max(0, at - 1) :]],
            [*proof[:at], sha(b"other"), *proof[at + 1 :]],
        )
    )


def test_a_proof_leads_where_a_plain_model_says_and_nowhere_else() -> None:
    chance = random.Random(6962)
    questions: list[list[Any]] = []
    here: list[Any] = []
    for leaves, _, index in trees(chance):
        size, root, honest = len(leaves), mth(leaves), path(index, leaves)
        leaf = leaf_hash(leaves[index])
        given = [(index, size, honest)]
        given += [(near(chance, index), near(chance, size), bent(chance, honest)) for _ in range(12)]
        for at, among, shown in given:
            questions.append(["included", b64(leaf), at, among, [b64(one) for one in shown]])
            here.append(led(leaf, at, among, shown))
            if here[-1] == b64(root) and among == size:
                assert (leaves[at], shown) == (leaves[index], path(at, leaves))
        assert here[-len(given)] == b64(root)
    assert asked(questions) == here


def led(leaf: bytes, index: int, size: int, proof: list[bytes]) -> Any:
    return told(lambda: b64(included_root(leaf, index, size, proof)))


def test_a_later_checkpoint_is_held_against_a_plain_model() -> None:
    chance = random.Random(9162)
    questions: list[list[Any]] = []
    here: list[Any] = []
    for leaves, first, _ in trees(chance):
        honest = subproof(first, leaves, True) if first else []
        early, late = (Checkpoint("log", count, mth(leaves[:count])) for count in (first, len(leaves)))
        given = [(early, late, honest)]
        for _ in range(12):
            root = chance.choice((early.root, late.root, sha(b"x")))
            one = chance.choice((early, Checkpoint("log", near(chance, first), root)))
            origin = chance.choice(("log", "log", "log", "l\u00f6g"))
            other = chance.choice((late, Checkpoint(origin, near(chance, len(leaves)), late.root)))
            given.append((one, other, bent(chance, honest)))
        for one, other, proof in given:
            points = [[point.origin, point.size, b64(point.root)] for point in (one, other)]
            questions.append(["later", *points, [b64(hash_) for hash_ in proof]])
            here.append(held(one, other, proof))
        assert here[-len(given)] == "ok"
    assert asked(questions) == here
    named = (Code.SPLIT_VIEW, Code.PROOF_INVALID, Code.LOG_ROLLED_BACK)
    assert set(here) == {"ok", *(code.value for code in named)}


def held(one: Checkpoint, other: Checkpoint, proof: list[bytes]) -> Any:
    def refused() -> str:
        refuse_other_history(one, other, proof)
        return "ok"

    return told(refused)


# -- ledgers -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Of a log whose proofs have several hashes, and a ledger of which the end is not covered."""
    case = Case(tmp_path_factory.mktemp("hostile"))
    for number in range(4, 9):
        case.grow(number)
    answer("log", "checkpoint", "--now", "-o", case.at("cp2"), "--data", case.data)
    case.grow(9)
    case.export("cp2", "ledger")
    return case


def both(case: Case, ledger: bytes, proof: bytes | None, checkpoint: str = "cp2") -> Any:
    """How many events are covered, or the code of the refusal; both say the same."""
    case.at("hostile").write_bytes(ledger)
    more: tuple[str | Path, ...] = ()
    if proof is not None:
        case.at("hostile proof").write_bytes(proof)
        more = ("--proof", case.at("hostile proof"))
    given = ("--ledger", case.at("hostile"), "--checkpoint", case.at(checkpoint), "--key", case.at("key"))
    answered = json.loads(beliefd("audit", "verify", *given, *more, "--json").stdout)
    here = _short(answered)
    keys = case.at("key").read_text().split()
    note = b64(case.at(checkpoint).read_bytes())
    (there,) = asked([["ledger", keys, note, b64(ledger), None if proof is None else b64(proof)]])
    return here, there


def _short(answered: Any) -> Any:
    if "error" in answered:
        return answered["error"]["code"]
    return answered["covering"]["covered"] if answered["ok"] else Code.LEDGER_BROKEN.value


def proofs_of(proof: dict[str, Any]) -> dict[str, bytes]:
    def changed(**members: Any) -> bytes:
        return json.dumps({**proof, **members}).encode()

    first, *rest = proof["path"]
    text = json.dumps(proof)
    place = f'"index": {proof["index"]}'
    return {
        "a list of one text for a text": changed(path=[[first], *rest]),
        "a number for a text": changed(path=[int(first[:15], 16), *rest]),
        "a text for a list": changed(path=first),
        "an object for a list": changed(path={"0": first, "length": 1}),
        "no list": changed(path=None),
        "no hashes": changed(path=[]),
        "one hash too many": changed(path=[*proof["path"], first]),
        "one hash twice": changed(path=[first, first, *rest[1:]]),
        "another order": changed(path=proof["path"][::-1]),
        "the leaf's own hash": changed(path=[proof["hash"], *rest]),
        "another place": changed(index=proof["index"] + 1),
        "a negative place": changed(index=-1),
        "a place as text": changed(index=str(proof["index"])),
        "a place past all sizes": text.replace(place, '"index": 9007199254740993').encode(),
        "a broken place": changed(index=proof["index"] + 0.5),
        "another size": changed(size=proof["size"] + 1),
        "a smaller size": changed(size=proof["size"] - 1),
        "no size": changed(size=None),
        "another event": changed(seq=proof["seq"] - 1),
        "event nought": changed(seq=0),
        "an event before all": changed(seq=-1),
        "a truth for an event": changed(seq=True),
        "a member twice": text.replace('"seq"', '"seq": 1, "seq"', 1).encode(),
        "a member twice, spelt otherwise": text.replace('"seq"', '"s\\u0065q": 1, "seq"', 1).encode(),
        "a byte order mark": b"\xef\xbb\xbf" + text.encode(),
        "no UTF-8": text.encode().replace(b'"seq"', b'"\xff": 1, "seq"', 1),
        "something behind it": text.encode() + b" {}",
        "another session": changed(session_id="another"),
    }


def test_both_verifiers_refuse_every_proof_that_was_tampered_with(case: Case) -> None:
    ledger = case.at("ledger").read_bytes()
    proof = json.loads(ledger.splitlines()[0])["proof"]
    assert len(proof["path"]) > 1
    covered = proof["seq"]
    genuine = (
        json.dumps(proof),
        json.dumps({**proof, "more": 1}, indent=1),
        json.dumps(proof).replace(f'"seq": {covered}', f'"seq": {covered}.0'),
    )
    for text in genuine:
        assert both(case, ledger, text.encode()) == (covered, covered), text
    for name, bad in proofs_of(proof).items():
        here, there = both(case, ledger, bad)
        assert here == Code.PROOF_INVALID.value, name
        assert not isinstance(there, int), name


def test_both_verifiers_refuse_every_ledger_that_was_tampered_with(case: Case) -> None:
    ledger = case.at("ledger").read_bytes()
    header, *lines = ledger.splitlines(keepends=True)
    covered = json.loads(header)["proof"]["seq"]
    genuine = {
        "as it is": ledger,
        "blank lines": b"\n \n\t\r\n".join((header, *lines)),
        "returns before newlines": ledger.replace(b"\n", b"\r\n"),
        "returns for spaces": ledger.replace(b'","', b'",\r"'),
        "no newline in the end": ledger[:-1],
    }
    for name, one in genuine.items():
        assert both(case, one, None) == (covered, covered), name
    told = json.loads(header)
    other = json.dumps({**told, "session_id": "another"}).encode() + b"\n"
    beyond = json.dumps({**told, "head": {**told["head"], "seq": told["head"]["seq"] + 1}}).encode() + b"\n"
    bad = {
        "returns for newlines": ledger.replace(b"\n", b"\r"),
        "a line of a space of another script": b"".join((header, "\u00a0\n".encode(), *lines)),
        "a line of a byte order mark": b"".join((header, "\ufeff\n".encode(), *lines)),
        "a byte order mark": b"\xef\xbb\xbf" + ledger,
        "an event twice": b"".join((header, *lines[:1], *lines)),
        "two events changed places": b"".join((header, lines[1], lines[0], *lines[2:])),
        "an event left out": b"".join((header, lines[0], *lines[2:])),
        "its end is gone": b"".join((header, *lines[:-1])),
        "two headers": b"".join((header, *ledger.splitlines(keepends=True))),
        "events of another session": b"".join((other, *lines)),
        "a head past the end": b"".join((beyond, *lines)),
        "half of a line": ledger[:-40],
        "no UTF-8": ledger.replace(b'"source_id":"s"', b'"source_id":"\xff"'),
        "a member twice": ledger.replace(b'"seq":2,', b'"seq":2,"seq":2,'),
        "nothing": b"",
    }
    for name, one in bad.items():
        here, there = both(case, one, None)
        assert here in (Code.LEDGER_BROKEN.value, Code.INVALID_REQUEST.value), name
        assert there == Code.LEDGER_BROKEN.value, name


def test_what_is_said_of_a_ledger_is_said_of_the_bytes_that_verify(case: Case) -> None:
    """It comes through a pipe, which gives its bytes once."""
    ledger = case.at("ledger").read_bytes()
    given = ("--checkpoint", case.at("cp2"), "--key", case.at("key"), "--json")
    said = json.loads(beliefd("audit", "verify", "--ledger", "-", *given, stdin=ledger).stdout)
    assert said["covering"]["covered"] == json.loads(ledger.splitlines()[0])["proof"]["seq"]
    head = json.loads(ledger.splitlines()[2])["hash"]
    said = beliefd("audit", "verify", "--ledger", "-", "--expect-head", head, stdin=ledger)
    assert "event 2 was the expected head" in said.stdout
