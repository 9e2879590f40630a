"""What a log and a witness say to each other, as C2SP describes it (tlog-witness, `add-checkpoint`).

The log sends the size that the witness has cosigned last, a proof from there, and its checkpoint. The witness
answers with its signature; or, if it has cosigned another size last, with that.
"""

import re
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from beliefd.ledger.merkle import HASH_BYTES
from beliefd.ledger.notes import (
    MAX_NOTE_BYTES,
    MAX_SIGNATURES,
    BadNote,
    Note,
    Signature,
    read_base64,
    read_note,
    read_signature,
    write_base64,
)

ADD_CHECKPOINT: Final = "/add-checkpoint"
SIZE_TYPE: Final = "text/x.tlog.size"
MAX_PROOF: Final = 63
_OLD: Final = re.compile(r"old (0|[1-9][0-9]{0,15})")
_SIZE: Final = re.compile(r"(0|[1-9][0-9]{0,15})\n")


class Submission(Struct, frozen=True):
    """What a log sends. `path` shows that the checkpoint continues the log of size `old`."""

    old: int
    path: tuple[bytes, ...]
    note: Note

    def __bytes__(self) -> bytes:
        proof = "".join(f"{write_base64(one)}\n" for one in self.path)
        return f"old {self.old}\n{proof}\n{self.note}".encode()


def read_submission(data: bytes) -> Submission:
    """Nothing about it is believed yet."""
    if len(data) > MAX_NOTE_BYTES:
        raise BadNote(f"it has {MAX_NOTE_BYTES} bytes at most")
    head, gap, rest = data.partition(b"\n\n")
    try:
        first, *lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise BadNote("before the empty line there is nothing but ASCII") from None
    told = _OLD.fullmatch(first)
    if not gap or told is None:
        raise BadNote("it is `old` and a size, lines of a proof, an empty line, and a checkpoint")
    if len(lines) > MAX_PROOF:
        raise BadNote(f"a proof has {MAX_PROOF} hashes at most")
    return Submission(int(told[1]), tuple(_hashes(lines)), read_note(rest))


def _hashes(lines: Sequence[str]) -> list[bytes]:
    found = [read_base64(line) for line in lines]
    for line, one in zip(lines, found, strict=True):
        if one is None or len(one) != HASH_BYTES:
            raise BadNote(f"`{line[:64]}` is no hash of a proof: 32 bytes in base64")
    return [one for one in found if one is not None]


def read_size(data: bytes) -> int:
    """The size that a witness has cosigned last, from its answer."""
    told = _SIZE.fullmatch(data.decode("ascii", "replace"))
    if told is None:
        raise BadNote("it does not say which size it has cosigned")
    return int(told[1])


def read_cosignatures(data: bytes) -> list[Signature]:
    try:
        lines = data.decode().splitlines()
    except UnicodeDecodeError:
        raise BadNote("signatures are UTF-8") from None
    if not 0 < len(lines) <= MAX_SIGNATURES:
        raise BadNote("it answers with something other than signatures")
    return [read_signature(line) for line in lines]
