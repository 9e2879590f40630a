"""Signed notes, checkpoints and cosignatures, as C2SP describes them (signed-note, tlog-checkpoint and
tlog-cosignature, version 1).

A note is a text with signatures under it. A checkpoint is a note whose text says of a log: its origin, how
many leaves it has, and the root over them. A cosignature is a signature by somebody else, who says when they
saw the checkpoint, and that it agrees with every one they saw before.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from beliefd.ledger.merkle import HASH_BYTES, MAX_LEAVES

ED25519: Final = 0x01
COSIGNATURE: Final = 0x04
KEY_ID_BYTES: Final = 4
PUBLIC_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
TIME_BYTES: Final = 8
MAX_NOTE_BYTES: Final = 1 << 20
MAX_SIGNATURES: Final = 100
_PRIVATE: Final = "PRIVATE+KEY+"
_DASH: Final = "\u2014 "
_NAME: Final = re.compile(r"[^\s+]{1,255}")
_DECIMAL: Final = re.compile(r"0|[1-9][0-9]{0,15}")


class BadNote(ValueError):
    """It is no note, no checkpoint or no key; the text says why."""


class Signature(Struct, frozen=True):
    """A line under a note. `blob` is what stands after the id of the key."""

    name: str
    key_id: bytes
    blob: bytes

    @property
    def line(self) -> str:
        return f"{_DASH}{self.name} {write_base64(self.key_id + self.blob)}\n"


class Note(Struct, frozen=True):
    """`text` ends with a newline; signatures are not checked yet."""

    text: str
    signatures: tuple[Signature, ...] = ()

    def __str__(self) -> str:
        return f"{self.text}\n{''.join(one.line for one in self.signatures)}"

    def signed(self, more: Iterable[Signature]) -> "Note":
        """With these signatures, too; a key has one line under a note, the newest."""
        added = {(one.name, one.key_id): one for one in more}
        kept = (one for one in self.signatures if (one.name, one.key_id) not in added)
        return Note(self.text, (*kept, *added.values()))


class VerifierKey(Struct, frozen=True):
    """A public key with the name of its holder; `kind` says whether a log signs with it or a witness."""

    name: str
    public: bytes
    kind: int = ED25519

    @property
    def key_id(self) -> bytes:
        return hashlib.sha256(self.name.encode() + b"\n" + bytes([self.kind]) + self.public).digest()[
            :KEY_ID_BYTES
        ]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{write_base64(bytes([self.kind]) + self.public)}"


class Checkpoint(Struct, frozen=True):
    """What a log says of itself. `extensions` are further lines, which nobody here writes."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        lines = (self.origin, str(self.size), write_base64(self.root), *self.extensions)
        return "".join(f"{line}\n" for line in lines)


class SigningKey:
    """A private key with the name that it signs under."""

    def __init__(self, name: str, secret: bytes, kind: int = ED25519) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._secret = secret
        self._key = Ed25519PrivateKey.from_private_bytes(secret)
        self.verifier = VerifierKey(checked_name(name), self._key.public_key().public_bytes_raw(), kind)

    @property
    def private_line(self) -> str:
        """As key files hold it. INVARIANT: nothing else writes it anywhere."""
        key = self.verifier
        return f"{_PRIVATE}{key.name}+{key.key_id.hex()}+{write_base64(bytes([key.kind]) + self._secret)}"

    def sign(self, text: str) -> Signature:
        """As the log, which says that this is its checkpoint."""
        return Signature(self.verifier.name, self.verifier.key_id, self._key.sign(text.encode()))

    def cosign(self, text: str, seconds: int) -> Signature:
        """As a witness, who says when it was seen."""
        blob = seconds.to_bytes(TIME_BYTES, "big") + self._key.sign(_cosigned(text, seconds))
        return Signature(self.verifier.name, self.verifier.key_id, blob)


def checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadNote(f"`{name[:64]}` is no name for a key: up to 255 characters without spaces and `+`")
    return name


def read_key(text: str) -> VerifierKey:
    """A public key as it is handed around: `name+id+key`."""
    name, _, rest = text.strip().partition("+")
    told, _, encoded = rest.partition("+")
    blob = read_base64(encoded)
    if not blob or len(blob) != 1 + PUBLIC_BYTES or blob[0] not in (ED25519, COSIGNATURE):
        raise BadNote(f"`{text.strip()[:64]}` is no key: it is `name+id+key`, an Ed25519 key in base64")
    key = VerifierKey(checked_name(name), blob[1:], blob[0])
    if told != key.key_id.hex():
        raise BadNote(f"`{told[:16]}` is not the id of this key; it is `{key.key_id.hex()}`")
    return key


def read_private_key(line: str) -> SigningKey:
    """A key as key files hold it; what is wrong with one is said without repeating it."""
    name, _, rest = line.strip().removeprefix(_PRIVATE).partition("+")
    told, _, encoded = rest.partition("+")
    blob = read_base64(encoded)
    kinds = (ED25519, COSIGNATURE)
    if not line.startswith(_PRIVATE) or not blob or len(blob) != 1 + PUBLIC_BYTES or blob[0] not in kinds:
        raise BadNote("it holds no private key of a log or a witness")
    key = SigningKey(name, blob[1:], blob[0])
    if told != key.verifier.key_id.hex():
        raise BadNote("it holds a private key whose id is that of another")
    return key


def read_note(data: bytes | str) -> Note:
    """The note in a file or an answer. Nothing about it is believed yet."""
    written = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    if len(written) > MAX_NOTE_BYTES:
        raise BadNote(f"a signed note has {MAX_NOTE_BYTES} bytes at most")
    try:
        whole = written.decode()
    except UnicodeDecodeError:
        raise BadNote("a signed note is UTF-8") from None
    text, gap, signed = whole.rpartition("\n\n")
    if not gap or not signed.endswith("\n"):
        raise BadNote("a signed note is a text, an empty line, and lines with signatures")
    if any(ord(one) < 0x20 and one != "\n" for one in whole):
        raise BadNote("a signed note has no control characters")
    lines = signed[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise BadNote(f"a signed note has {MAX_SIGNATURES} signatures at most")
    return Note(f"{text}\n", tuple(read_signature(line) for line in lines))


def read_signature(line: str) -> Signature:
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    blob = read_base64(encoded)
    if not line.startswith(_DASH) or not _NAME.fullmatch(name) or not blob or len(blob) <= KEY_ID_BYTES:
        raise BadNote(f"`{line[:64]}` is no signature: it is a dash, a name, and base64")
    return Signature(name, blob[:KEY_ID_BYTES], blob[KEY_ID_BYTES:])


def read_checkpoint(note: Note) -> Checkpoint:
    """What the text of a note says of a log, whoever signed it."""
    origin, *rest = note.text[:-1].split("\n")
    if len(rest) < 2 or not origin or not all(rest):
        raise BadNote("a checkpoint has a line each for its origin, its size and its root")
    size, encoded, *extensions = rest
    root = read_base64(encoded)
    if not _DECIMAL.fullmatch(size) or int(size) > MAX_LEAVES:
        raise BadNote(f"`{size[:32]}` is not the size of a log")
    if root is None or len(root) != HASH_BYTES:
        raise BadNote(f"`{encoded[:64]}` is not the root of a log: 32 bytes in base64")
    return Checkpoint(origin, int(size), root, tuple(extensions))


def signers(note: Note, keys: Sequence[VerifierKey]) -> list[VerifierKey]:
    """Which of these keys have signed it. A signature that claims to be of one of them and is not, is forged:
    then BadNote says so, as C2SP asks."""
    found: list[VerifierKey] = []
    for line in note.signatures:
        for key in keys:
            if (line.name, line.key_id) == (key.name, key.key_id):
                _check(note.text, line, key)
                found.append(key)
    return found


def cosigned_at(note: Note, key: VerifierKey) -> int | None:
    """When a witness saw it, in seconds; None if that witness did not sign."""
    for line in note.signatures:
        if (line.name, line.key_id) == (key.name, key.key_id):
            _check(note.text, line, key)
            return int.from_bytes(line.blob[:TIME_BYTES], "big")
    return None


def _check(text: str, line: Signature, key: VerifierKey) -> None:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    before = TIME_BYTES if key.kind == COSIGNATURE else 0
    if len(line.blob) != before + SIGNATURE_BYTES:
        raise BadNote(f"the signature of `{key.name}` has not the length of one")
    seconds = int.from_bytes(line.blob[:before], "big")
    message = _cosigned(text, seconds) if before else text.encode()
    try:
        Ed25519PublicKey.from_public_bytes(key.public).verify(line.blob[before:], message)
    except (InvalidSignature, ValueError):
        raise BadNote(f"the signature of `{key.name}` is forged, or of another text") from None


def _cosigned(text: str, seconds: int) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{text}".encode()


def write_base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def read_base64(text: str) -> bytes | None:
    """INVARIANT: one text per value. What decodes and is not how it would be encoded is refused."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return data if write_base64(data) == text else None
