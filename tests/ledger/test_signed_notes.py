"""Signed notes, checkpoints and cosignatures are those that other implementations write and read."""

import base64

import pytest

from beliefd.ledger.merkle import leaf_hash
from beliefd.ledger.notes import (
    COSIGNATURE,
    BadNote,
    Checkpoint,
    Note,
    SigningKey,
    cosigned_at,
    read_checkpoint,
    read_key,
    read_note,
    signers,
)

# The example that implementations of signed notes have in common, with its key pair.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PETERS_SECRET = base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
EXAMPLE = (
    f"{TEXT}\n\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotp"
    "RZb6KE6RyyBwJnAM=\n"
)

# A checkpoint that a public log once signed, and a public witness cosigned.
ARCHE = "arche2025h1.staging.ct.transparency.dev+ba2f06c0+AU0vHmlGCS/PdN8b2OaGmKprLI8HKM+dJ472xgFYh15f"
REMORA = "remora.n621.de+da77ade7+BOvN63jn/bLvkieywe8R6UYAtVtNbZpXh34x7onlmtw2"
PUBLIC = (
    "arche2025h1.staging.ct.transparency.dev\n1432088532\nU7WM79jrzyhGZ5/GUBTpM7NzwdyfFx61t3RovgcC4Ro=\n\n"
    "\u2014 arche2025h1.staging.ct.transparency.dev ui8GwCF1+kWqZrxGdhj4aX3gcw7XUlXQQabg/27lefwhUkzbC3NygNI75"
    "MdhL1bfTW9g8Ei59RA23oHP7Ry1k3ZFWwQ=\n"
    "\u2014 remora.n621.de 2net5wAAAABqEiEgPlfF3V06o0Y+fHM+J5J9s27wgxxcOVSpZ/2g/KSiXCg9DEZI+aVCIobWX9sXTynk5X"
    "eU/zZ0WBxtqB0DrAWfBw==\n"
)

LOG = SigningKey("example.org/log", b"l" * 32)
WITNESS = SigningKey("witness.example/w", b"w" * 32, COSIGNATURE)
CHECKPOINT = Checkpoint("example.org/log", 7, leaf_hash(b"root"))


def test_the_published_example_is_read_and_written_to_the_byte() -> None:
    key = read_key(PETER)
    assert str(key) == PETER
    note = read_note(EXAMPLE)
    assert (note.text, str(note)) == (TEXT, EXAMPLE)
    assert signers(note, [key]) == [key]
    peter = SigningKey("PeterNeumann", PETERS_SECRET)
    assert peter.verifier == key
    assert str(Note(TEXT).signed([peter.sign(TEXT)])) == EXAMPLE


def test_a_public_logs_checkpoint_and_its_cosignature_are_checked() -> None:
    note = read_note(PUBLIC.encode())
    log, witness = read_key(ARCHE), read_key(REMORA)
    assert signers(note, [log, witness]) == [log, witness]
    assert cosigned_at(note, witness) == 0x6A122120
    said = read_checkpoint(note)
    assert (said.origin, said.size) == (log.name, 1432088532)
    assert (said.text, str(note)) == (note.text, PUBLIC)
    for key in (log, witness):
        with pytest.raises(BadNote, match="forged"):
            signers(read_note(PUBLIC.replace("1432088532", "1432088533")), [key])


def test_a_cosignature_says_when_and_a_signature_by_a_stranger_counts_for_nothing() -> None:
    note = Note(CHECKPOINT.text).signed([LOG.sign(CHECKPOINT.text), WITNESS.cosign(CHECKPOINT.text, 1_000)])
    assert read_note(str(note)) == note
    assert signers(note, [LOG.verifier, WITNESS.verifier]) == [LOG.verifier, WITNESS.verifier]
    assert cosigned_at(note, WITNESS.verifier) == 1_000
    stranger = SigningKey("example.org/log", b"s" * 32)
    assert signers(note, [stranger.verifier]) == []
    assert cosigned_at(note, stranger.verifier) is None
    # One line per key: the newest.
    again = note.signed([WITNESS.cosign(CHECKPOINT.text, 2_000)])
    assert cosigned_at(again, WITNESS.verifier) == 2_000
    assert len(again.signatures) == len(note.signatures)


def test_a_witness_does_not_pass_for_the_log() -> None:
    """INVARIANT: the kind of a key is part of its id, and of what is signed."""
    both = SigningKey("example.org/log", b"l" * 32, COSIGNATURE)
    note = Note(CHECKPOINT.text).signed([both.cosign(CHECKPOINT.text, 1)])
    assert signers(note, [LOG.verifier]) == []


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (b"\xff\n\n\xe2\x80\x94 a AAAAAAA=\n", "UTF-8"),
        ("text\n", "empty line"),
        ("text\n\n\u2014 a AAAAAAA=", "empty line"),
        ("te\txt\n\n\u2014 a AAAAAAA=\n", "control"),
        ("text\n\n- a AAAAAAA=\n", "no signature"),
        ("text\n\n\u2014 a+b AAAAAAA=\n", "no signature"),
        ("text\n\n\u2014 a AAAA\n", "no signature"),
        ("text\n\n\u2014 a AAAAAAB=\n", "no signature"),
        ("text\n\n" + "\u2014 a AAAAAAA=\n" * 101, "100 signatures"),
        ("x" * (1 << 20) + "\n\n\u2014 a AAAAAAA=\n", "bytes at most"),
    ],
)
def test_what_is_no_note_is_named(bad: bytes | str, why: str) -> None:
    with pytest.raises(BadNote, match=why):
        read_note(bad)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("origin\n1\n", "a line each"),
        ("origin\n01\nAAAA\n", "size"),
        ("origin\n-1\nAAAA\n", "size"),
        ("origin\n99999999999999999\nAAAA\n", "size"),
        ("origin\n1\nAAAA\n", "root"),
        ("\n1\nAAAA\n", "a line each"),
    ],
)
def test_what_is_no_checkpoint_is_named(text: str, why: str) -> None:
    with pytest.raises(BadNote, match=why):
        read_checkpoint(Note(text))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("PeterNeumann", "no key"),
        (PETER[:-4], "no key"),
        (PETER.replace("c74f20a3", "c74f20a4"), "not the id"),
        (PETER.replace("+AR", "+AX"), "not the id"),
        (PETER.replace("+AR", "+DR"), "no key"),
    ],
)
def test_what_is_no_key_is_named(text: str, why: str) -> None:
    with pytest.raises(BadNote, match=why):
        read_key(text)
