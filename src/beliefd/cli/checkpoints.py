"""The log on the command line: its settings, the keys that are trusted, checkpoints and proofs in files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import option

from beliefd.cli.files import read_bytes
from beliefd.cli.options import FILE_PATH, setting, together
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.ledger.checkpoints import Trust
    from beliefd.ledger.notes import Checkpoint, SigningKey, VerifierKey
    from beliefd.ledger.transfer import Exported, Proof
    from beliefd.protocol.log import InclusionProof
    from beliefd.steward.effects.checkpoints import LogSettings

LOG_KEY = "log.key"
SIGNED_WITH = setting(
    "--log-key",
    "BELIEFD_LOG_KEY",
    "The key that checkpoints are signed with. Default: `log.key` in the data folder, made on first use.",
    type=FILE_PATH,
)
LOG = together(
    SIGNED_WITH,
    setting(
        "--log-origin",
        "BELIEFD_LOG_ORIGIN",
        "The name of the log, for a key that is made here: best a name of your own in the DNS, and a path.",
        metavar="NAME",
    ),
    setting(
        "--checkpoint-every",
        "BELIEFD_CHECKPOINT_EVERY",
        "Seconds between signed checkpoints of the log, if it has grown; 0 signs on demand only.",
        type=click.FloatRange(min=0.0),
        default=60.0,
        show_default=True,
    ),
    setting(
        "--log-witness",
        "BELIEFD_LOG_WITNESSES",
        "Show checkpoints only once the holder of this public key has cosigned them. Can be repeated.",
        metavar="KEY",
        multiple=True,
    ),
    setting(
        "--log-witness-url",
        "BELIEFD_LOG_WITNESS_URLS",
        "Submit every checkpoint to the witness there (C2SP tlog-witness). Can be repeated.",
        metavar="URL",
        multiple=True,
    ),
    setting(
        "--log-anchor",
        "BELIEFD_LOG_ANCHORS",
        "Write every checkpoint there: a folder, `git:` and a repository, or a URL. Can be repeated.",
        metavar="PLACE",
        multiple=True,
    ),
)
"""What a server signs its log with; `log_settings` takes them under these names."""
WITNESSES = option(
    "--witness",
    "witnesses",
    multiple=True,
    metavar="KEY",
    help="A witness that must have cosigned, or a file that holds some. Can be repeated.",
)
KEYS = together(
    option(
        "--key",
        "keys",
        multiple=True,
        metavar="KEY",
        help="A public key of the log that you trust, or a file that holds some. Can be repeated.",
    ),
    WITNESSES,
)


def log_settings(
    data: Path,
    log_key: Path | None = None,
    log_origin: str | None = None,
    checkpoint_every: float = 60.0,
    log_witness: tuple[str, ...] = (),
    log_witness_url: tuple[str, ...] = (),
    log_anchor: tuple[str, ...] = (),
) -> "LogSettings":
    from beliefd.steward.effects.anchors import anchor_of
    from beliefd.steward.effects.checkpoints import LogSettings

    if log_witness_url and not log_witness:
        text = "say with `--log-witness` whose signature counts: without a key, anybody could have cosigned"
        raise invalid(text, "--log-witness-url")
    return LogSettings(
        key=log_key or data / LOG_KEY,
        origin=log_origin,
        every=checkpoint_every,
        witnesses=witnesses_in(log_witness, "--log-witness"),
        witness_urls=_witness_urls(log_witness_url) if log_witness_url else (),
        anchors=tuple(anchor_of(place) for place in log_anchor),
    )


def _witness_urls(given: tuple[str, ...]) -> tuple[str, ...]:
    from beliefd.steward.effects.witnesses import witness_url  # with a library for HTTP

    return tuple(witness_url(url) for url in given)


def log_keys_in(given: tuple[str, ...], path: str) -> "tuple[VerifierKey, ...]":
    """Keys that logs sign with."""
    from beliefd.ledger.notes import ED25519

    keys = _keys_in(given, path)
    for key in keys:
        if key.kind != ED25519:
            text = f"`{key}` is the key of a witness; give one of a log, which `beliefd log key show` prints"
            raise invalid(text, path)
    return keys


def witnesses_in(given: tuple[str, ...], path: str) -> "tuple[VerifierKey, ...]":
    """Keys that witnesses cosign with. INVARIANT: a log is no witness of itself."""
    from beliefd.ledger.notes import COSIGNATURE

    keys = _keys_in(given, path)
    for key in keys:
        if key.kind != COSIGNATURE:
            text = f"`{key}` is the key of a log; a witness has one that `beliefd log key new --witness` made"
            raise invalid(text, path)
    return keys


def witness_key(path: Path) -> "SigningKey":
    """The private key of a witness, from the file of `--as`."""
    from beliefd.ledger.notes import COSIGNATURE
    from beliefd.steward.effects.log_keys import read_keys

    if not (keys := read_keys(path)):
        raise invalid(f"`{path}` is not there; make it with `beliefd log key new`", "--as")
    if keys[0].verifier.kind != COSIGNATURE:
        text = f"`{path}` holds the key of a log; make one with `beliefd log key new --witness`"
        raise invalid(text, "--as")
    return keys[0]


def _keys_in(given: tuple[str, ...], path: str) -> "tuple[VerifierKey, ...]":
    """Keys as they were written, or all that stand in files, one per line.

    INVARIANT: whatever is given holds a key. An empty file would ask for nobody's signature.
    """
    from beliefd.ledger.notes import BadNote, read_key

    found: list[VerifierKey] = []
    for one in given:
        text = one if "+" in one else read_bytes(one).decode(errors="replace")
        lines = [line for line in text.splitlines() if line.strip()]
        if not lines:
            raise invalid(f"`{one}` holds no key: it has one per line, as `name+id+key`", path)
        try:
            found += [read_key(line) for line in lines]
        except BadNote as error:
            raise invalid(str(error), path) from None
    return tuple(found)


def trust_in(keys: tuple[str, ...], witnesses: tuple[str, ...]) -> "Trust":
    from beliefd.ledger.checkpoints import Trust

    if not (known := log_keys_in(keys, "--key")):
        raise invalid(
            "say with `--key` which key of the log you trust: without one, anybody could have signed it",
            "--key",
        )
    return Trust(known, witnesses_in(witnesses, "--witness"))


def kept_checkpoint(path: str, trust: "Trust", data: bytes | None = None) -> "Checkpoint":
    """The checkpoint in a file, or in what was read of it."""
    from beliefd.ledger.checkpoints import trusted_text

    try:
        return trusted_text(read_bytes(path) if data is None else data, trust)
    except BeliefdError as error:
        raise BeliefdError(error.code, f"`{path}`: {error.message}", error.details) from None


def covered(exported: "Exported", checkpoint: "Checkpoint", proof: "Proof | None") -> dict[str, Any]:
    """Which events of a ledger, whose chain holds, a trusted checkpoint covers.

    INVARIANT: nothing is said of events after the file. Its header is signed by nobody, and a proof is about
    an event and those before it: who cuts the last lines off has a proof for what is left.
    """
    from beliefd.ledger.checkpoints import refuse_wrong_proof

    total = len(exported.entries)
    shown = {"origin": checkpoint.origin, "size": checkpoint.size, "root": checkpoint.root.hex()}
    if proof is None:
        text = "the ledger has no proof: export it with `--checkpoint`, or give one with `--proof`"
        raise BeliefdError(Code.NOT_COVERED, text)
    refuse_wrong_proof(proof, exported, checkpoint)
    told = {"covered": proof.seq, "not_covered": total - proof.seq, "event_id": proof.event_id}
    return {**shown, **told, "session_id": proof.session_id, "after_the_file": "unknown"}


def cosigned(data: bytes, trust: "Trust") -> list[dict[str, Any]]:
    """When each witness whose word counts has seen a trusted checkpoint: what it covers was there by then."""
    from beliefd.ledger.notes import cosigned_at, read_note

    note = read_note(data)
    seen = [(key.name, cosigned_at(note, key)) for key in trust.witnesses]
    return [{"witness": name, "at": at, "time": _time(at)} for name, at in seen if at is not None]


def _time(seconds: int) -> str:
    from datetime import UTC, datetime

    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):  # witnesses can say anything
        return f"{seconds} seconds after 1970"


def size_in(path: str, data: bytes | None = None) -> int:
    """The size that a checkpoint names, whoever signed it: to ask for what fits it."""
    from beliefd.ledger.notes import BadNote, read_checkpoint, read_note

    try:
        return read_checkpoint(read_note(read_bytes(path) if data is None else data)).size
    except BadNote as error:
        raise BeliefdError(Code.CHECKPOINT_FORGED, f"`{path}`: {error}") from None


def proven(data: bytes, shown: "InclusionProof") -> bytes:
    """An exported ledger with the proof in its header; without the checkpoint, which comes another way."""
    import msgspec

    from beliefd.ledger.transfer import Proof, with_proof

    told = msgspec.to_builtins(shown)
    return with_proof(data, {name: told[name] for name in Proof.__struct_fields__})


def proof_in(path: str) -> "Proof":
    import msgspec

    from beliefd.kernel.strict_json import Unreadable, loads
    from beliefd.ledger.transfer import Proof

    try:
        return msgspec.convert(loads(read_bytes(path)), Proof)
    except (Unreadable, msgspec.ValidationError) as error:
        raise BeliefdError(Code.PROOF_INVALID, f"`{path}` is no proof: {error}") from None
