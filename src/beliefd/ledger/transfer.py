"""Ledgers as JSON Lines: a header line with what a verifier needs, then one line per entry.

The header names the session, the head and the policies; there is no time in it, so that exporting twice
gives the same bytes.
"""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.canonical import NotCanonical, canonical, digest
from beliefd.kernel.erasures.withholding import opened_part
from beliefd.kernel.experiments.plan import Hex64
from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.kernel.values import PROTOCOL, Head, Id
from beliefd.ledger.envelope import UNREADABLE, Sealed, read_places

FORMAT: Final = "beliefd-ledger/1"
_BEGIN: Final = b'{"hash":"'
_END: Final = len(_BEGIN) + 2 * sha256().digest_size + 2
"""Where the hash of an entry ends in the line that is written of it."""
_WHITE: Final = b" \t\r\n"
"""What JSON has between values: a line of this alone is skipped."""


class BadExport(ValueError):
    """The file is not an exported ledger; `line` counts from one."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
        self.message = message


class Proof(Struct, frozen=True):
    """That an event is in the log of a size: leaf number `index`, and the hashes that lead to the root."""

    session_id: str
    event_id: str
    seq: int
    hash: str
    index: int
    size: int
    path: list[str]


class Header(Struct, frozen=True, forbid_unknown_fields=True):
    """`proof` is about the last event that a checkpoint covers, if the ledger was exported for one.

    `parts` are what entries withhold, by digest, if the ledger was exported with them.
    """

    format: str
    protocol: str
    session_id: Id
    head: Head
    policies: dict[str, Policy]
    proof: Proof | None = None
    parts: dict[Hex64, str] = {}

    @property
    def contents(self) -> dict[str, bytes]:
        """What came along of what is withheld, as stores keep it."""
        return {digest: part.encode() for digest, part in self.parts.items()}


class Exported(Struct, frozen=True):
    """A ledger as read from a file; its entries are not verified yet.

    Policy documents are kept as they came: their hash is over what was written then, not over what this
    version would write.
    """

    header: Header
    entries: list[Sealed]
    policy_documents: dict[str, bytes]


def header_line(
    session_id: str, head: Head, policy_documents: dict[str, bytes], parts: Mapping[str, bytes] | None = None
) -> bytes:
    """`parts` are what entries withhold, by digest, if they are to come along."""
    header: dict[str, Any] = {
        "format": FORMAT,
        "head": msgspec.to_builtins(head),
        "policies": {name: msgspec.json.decode(document) for name, document in policy_documents.items()},
        "protocol": PROTOCOL,
        "session_id": session_id,
    }
    if parts:
        header["parts"] = {name: part.decode() for name, part in parts.items()}
    return canonical(header) + b"\n"


def with_proof(data: bytes, proof: dict[str, Any]) -> bytes:
    """An exported ledger with a proof in its header."""
    first, newline, rest = data.partition(b"\n")
    return canonical({**_object(first, 1), "proof": proof}) + newline + rest


def entry_lines(entries: Iterable[Sealed]) -> Iterator[bytes]:
    for entry in entries:
        yield entry.wire + b"\n"


def read_header(line: bytes, number: int = 1) -> Header:
    """The first line of an export, with the policies that its ledger was decided under."""
    return _header(_object(line, number), number)


def read_entry(line: bytes, number: int) -> Sealed:
    """A line after it. One that was written here is taken as it stands, if its hash says so."""
    if line.startswith(_BEGIN) and line[_END - 2 : _END] == b'",':
        record, told = b"{" + line[_END:].rstrip(), line[len(_BEGIN) : _END - 2].decode("ascii", "replace")
        if sha256(record).hexdigest() == told:
            try:
                (place,) = read_places((record,))
            except UNREADABLE as error:
                raise BadExport(number, f"not an entry: {error}") from None
            return Sealed(place.seq, place.event_id, record, told)
    return _sealed(_object(line, number), number)


def read_export(lines: Iterable[bytes]) -> Exported:
    """Read a whole export; every line must be strict JSON of the right shape."""
    header: Header | None = None
    entries: list[Sealed] = []
    documents: dict[str, bytes] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip(_WHITE):
            continue
        value = _object(line, number)
        if header is None:
            header = _header(value, number)
            documents = {name: canonical(document) for name, document in value["policies"].items()}
        else:
            entries.append(_sealed(value, number))
    if header is None:
        raise BadExport(1, "the file is empty")
    return Exported(header, entries, documents)


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = loads(line)
    except Unreadable as error:
        raise BadExport(number, error.message) from None
    if not isinstance(value, dict):
        raise BadExport(number, "expected a JSON object")
    return value


def _header(value: dict[str, Any], number: int) -> Header:
    try:
        header = msgspec.convert({**value, "policies": {}}, Header)
        documents = msgspec.convert(value.get("policies"), dict[str, dict[str, Any]])
        header = replace(header, policies={name: recorded(one) for name, one in documents.items()})
    except msgspec.ValidationError as error:
        raise BadExport(number, f"not the header of an exported ledger: {error}") from None
    if header.format != FORMAT:
        raise BadExport(number, f"format `{header.format}` is not `{FORMAT}`")
    if header.protocol != PROTOCOL:
        raise BadExport(number, f"protocol `{header.protocol}` is not `{PROTOCOL}`")
    for claimed, document in value["policies"].items():
        if digest(document) != claimed:
            raise BadExport(number, f"policy `{claimed}` does not hash to its name")
    for name, part in header.contents.items():
        if opened_part(part, name) is None:
            raise BadExport(number, f"part `{name}` does not hash to its name")
    return header


def _sealed(value: dict[str, Any], number: int) -> Sealed:
    try:
        # Any entry may be the head, so these must fit one; the verifier checks the rest.
        place = msgspec.convert({name: value[name] for name in ("seq", "event_id", "hash")}, Head)
        del value["hash"]
        return Sealed(place.seq, place.event_id, canonical(value), place.hash)
    except KeyError as missing:
        raise BadExport(number, f"an entry needs `{missing.args[0]}`") from None
    except msgspec.ValidationError as error:
        raise BadExport(number, f"not an entry: {error}") from None
    except NotCanonical as error:
        raise BadExport(number, str(error)) from None
