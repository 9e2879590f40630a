"""`beliefd log`: signed checkpoints over all events, and proofs for those who do not trust the server."""

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from click import argument, option

from beliefd.cli import output
from beliefd.cli.checkpoints import (
    KEYS,
    WITNESSES,
    kept_checkpoint,
    log_settings,
    size_in,
    trust_in,
    witness_key,
)
from beliefd.cli.files import read_bytes, write_bytes
from beliefd.cli.options import DIRECTORY, FILE_PATH, SESSION
from beliefd.cli.output import Exit, Reply, replies
from beliefd.cli.progress import progress
from beliefd.cli.target import (
    DEFAULT_DATA,
    Question,
    Target,
    asks,
    need_store,
    store_options,
    target_options,
    with_store,
)
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls
    from beliefd.ledger.checkpoints import Trust
    from beliefd.ledger.notes import Checkpoint
    from beliefd.protocol.log import ConsistencyProof
    from beliefd.steward.log_repair import Looked, Progress
    from beliefd.stores.base import Store

log = click.Group("log", help="Sign checkpoints over all events, and prove to outsiders what they cover.")
key = click.Group("key", help="The keys that checkpoints are signed with.")
log.add_command(key)
OUTPUT = option("-o", "--output", "place", type=FILE_PATH, help="Default: stdout.")


@asks(log)
def show() -> Question:
    """Say how long the log is, how much of it is covered, and which keys sign it."""
    return lambda calls: calls.log_state()


@log.command()
@option("--now", is_flag=True, help="Sign one over everything that was recorded until now.")
@OUTPUT
@target_options
def checkpoint(target: Target, now: bool, place: Path | None) -> None:
    """Print the newest signed checkpoint, or write it to a file that you keep.

    With `--now` and a store of its own (`--data`, `--store`), all events are compared with the log first, as
    `log check` does: no server looks after that store. One that is asked compares what is new.
    """
    if now and target.is_embedded:
        _looked_at(target.data or Path(DEFAULT_DATA), target.store)
    answer = target.ask(lambda calls: calls.sign_checkpoint() if now else calls.log_checkpoint())
    if place is None:
        output.show(Reply(answer, answer.note.rstrip("\n")), target.as_json)
        return
    write_bytes(place, answer.note.encode())
    output.show(Reply(answer, f"wrote the checkpoint of size {answer.size} to {place}"), target.as_json)


@log.command()
@argument("path", metavar="CHECKPOINT")
@option("--to", "later", metavar="FILE", help="A later checkpoint. Default: the newest of the server.")
@option("-o", "--output", "place", type=FILE_PATH, help="Write the proof there, for those who check it too.")
@KEYS
@target_options
def consistency(
    target: Target,
    path: str,
    later: str | None,
    place: Path | None,
    keys: tuple[str, ...],
    witnesses: tuple[str, ...],
) -> None:
    """Check that a server's log still begins with what a CHECKPOINT covers that you kept."""
    trust = trust_in(keys, witnesses)
    earlier = kept_checkpoint(path, trust)
    with target.calls() as calls:
        newer = _newest(calls, trust) if later is None else kept_checkpoint(later, trust)
        proof = _refuse_other_history(calls, earlier, newer)
    if place is not None:
        write_bytes(place, msgspec.json.encode(proof) + b"\n")
    words = f"consistent: the log of {newer.size} leaves begins with the {earlier.size} that you know"
    told = {"ok": True, "from_size": earlier.size, "to_size": newer.size, "root": newer.root.hex()}
    output.show(Reply(told, words), target.as_json)


def _newest(calls: "Calls", trust: "Trust") -> "Checkpoint":
    from beliefd.ledger.checkpoints import trusted_text

    return trusted_text(calls.log_checkpoint().note, trust)


def _refuse_other_history(calls: "Calls", earlier: "Checkpoint", newer: "Checkpoint") -> "ConsistencyProof":
    from beliefd.ledger.checkpoints import hashes_in, refuse_other_history, refuse_smaller
    from beliefd.protocol.log import ConsistencyProof

    refuse_smaller(earlier, newer.size)
    proof = ConsistencyProof(from_size=earlier.size, to_size=newer.size, path=[])
    if 0 < earlier.size < newer.size:
        proof = calls.log_consistency(earlier.size, newer.size)
    refuse_other_history(earlier, newer, hashes_in(proof.path))
    return proof


@log.command()
@SESSION
@argument("event_id", metavar="[EVENT]", required=False)
@option("--checkpoint", "path", metavar="FILE", help="For this checkpoint. Default: the newest.")
@OUTPUT
@target_options
def prove(
    target: Target, session_id: str, event_id: str | None, path: str | None, place: Path | None
) -> None:
    """Print a proof that an EVENT, or the last that is covered, is in the log; with it all before it."""
    size = None if path is None else size_in(path)
    answer = target.ask(lambda calls: calls.audit_proof(session_id, event_id, size=size))
    if place is None:
        output.print_json(answer)
        return
    write_bytes(place, msgspec.json.encode(answer) + b"\n")
    words = f"wrote the proof of event {answer.seq} in the log of size {answer.size} to {place}"
    output.show(Reply(answer, words), target.as_json)


@log.command()
@option("--as", "own", required=True, type=FILE_PATH, help="The private key of the witness.")
@option("--seen", required=True, type=FILE_PATH, help="Where the last checkpoint is kept that was cosigned.")
@option("-o", "--output", "place", type=FILE_PATH, help="Write the cosigned checkpoint there only.")
@KEYS
@target_options
def cosign(
    target: Target,
    own: Path,
    seen: Path,
    place: Path | None,
    keys: tuple[str, ...],
    witnesses: tuple[str, ...],
) -> None:
    """Cosign a server's newest checkpoint as a witness, if its log agrees with all that was seen before.

    The signature goes to the server, which must know the witness (`--log-witness`).
    """
    from beliefd.ledger.checkpoints import trusted_text
    from beliefd.ledger.notes import read_note

    signing, trust = witness_key(own), trust_in(keys, witnesses)
    with target.calls() as calls:
        if (text := calls.log_state().signed) is None:
            raise BeliefdError(Code.NOT_FOUND, "the log has no checkpoint yet")
        newest, known = trusted_text(text, trust), _held(seen)
        if known is not None:
            _refuse_other_history(calls, kept_checkpoint(str(seen), trust, known), newest)
        _keep(seen, known, text.encode())
        note = str(read_note(text).signed([signing.cosign(newest.text, int(time.time()))]))
        if place is None:
            calls.add_cosignatures(note)
        else:
            write_bytes(place, note.encode())
    words = f"cosigned the checkpoint of size {newest.size} as {signing.verifier.name}"
    output.show(Reply({"size": newest.size, "note": note}, words), target.as_json)


def _held(seen: Path) -> bytes | None:
    return read_bytes(str(seen)) if seen.exists() else None


def _keep(seen: Path, known: bytes | None, text: bytes) -> None:
    """INVARIANT: what was cosigned is kept before anybody has the signature, in place of what it was held
    against. A server can take its time to answer, and have two histories cosigned meanwhile by two of us."""
    from beliefd.steward.key_files import alone_in, write_private

    with alone_in(seen.parent):
        if _held(seen) != known:
            words = f"`{seen}` was written meanwhile, so nothing was cosigned; do it again"
            raise BeliefdError(Code.CONFLICT, words, {"path": "--seen"})
        write_private(seen, text, replace=True)


@log.command()
@argument("address", metavar="URL")
@option("-o", "--output", "place", type=FILE_PATH, help="Write the cosigned checkpoint there only.")
@WITNESSES
@target_options
def submit(target: Target, address: str, place: Path | None, witnesses: tuple[str, ...]) -> None:
    """Have the witness at a URL cosign a server's newest checkpoint, as C2SP says.

    The signature goes to the server, which must know the witness (`--log-witness`). One that is started with
    `--log-witness-url` does the same by itself.
    """
    from beliefd.cli.witnessing import cosigned_by

    with target.calls() as calls:
        size, note = cosigned_by(calls, address, witnesses)
        if place is None:
            calls.add_cosignatures(note)
        else:
            write_bytes(place, note.encode())
    output.show(
        Reply({"size": size, "note": note}, f"the checkpoint of size {size} is cosigned"), target.as_json
    )


@log.command()
@option("--as", "own", required=True, type=FILE_PATH, help="The private key of the witness.")
@option("--seen", required=True, type=DIRECTORY, help="A folder for the last checkpoint of each log.")
@option("--key", "keys", multiple=True, metavar="KEY", help="A public key of a log, or a file. Repeatable.")
@option("--port", type=click.IntRange(0, 65535), default=8650, show_default=True)
@option("--host", default="127.0.0.1", show_default=True)
def witness(own: Path, seen: Path, keys: tuple[str, ...], port: int, host: str) -> None:
    """Be a witness for the logs of others, over HTTP, as C2SP says.

    Cosigns what agrees with all that it has cosigned before. Nobody needs a token: what counts is the
    signature of a log.
    """
    from beliefd.cli.witnessing import serve_witness

    with output.errors_exit():
        serve_witness(own, seen, keys, host, port)


# -- keys ----------------------------------------------------------------------------------------------


@asks(key, option("--all", "every", is_flag=True, help="Also those that were used before."))
def show_(every: bool) -> Question:
    """Print the public key of the log, for those who are to check it; give it to them another way."""

    def ask(calls: "Calls") -> Reply:
        known = calls.log_state().keys
        if not known:
            raise BeliefdError(Code.NOT_FOUND, "no checkpoint was signed yet, so there is no key on record")
        shown = known if every else known[-1:]
        return Reply({"keys": shown}, "\n".join(shown))

    return ask


@replies(
    key,
    argument("path", metavar="FILE", type=FILE_PATH),
    option("--name", required=True, help="Who it is of: best a name in the DNS, and a path."),
    option("--witness", is_flag=True, help="To cosign the checkpoints of others, not to sign a log."),
)
def new(path: Path, name: str, witness: bool) -> Reply:
    """Make a private key in a FILE that is not there yet, and print its public key."""
    import secrets

    from beliefd.ledger.notes import COSIGNATURE, ED25519, BadNote, SigningKey
    from beliefd.steward.key_files import write_private

    if path.exists():
        raise invalid(f"`{path}` is there already", "FILE")
    try:
        made = SigningKey(name, secrets.token_bytes(32), COSIGNATURE if witness else ED25519)
    except BadNote as error:
        raise invalid(str(error), "--name") from None
    write_private(path, f"{made.private_line}\n".encode())
    return Reply({"key": str(made.verifier)}, str(made.verifier))


@replies(
    key,
    option("--log-key", "path", type=FILE_PATH, help="The key file. Default: `log.key` in the data folder."),
    option("--origin", metavar="NAME", help="Begin a new log of this name; the old one ends."),
    option("--drop-old", is_flag=True, help="Do not sign with the keys before any longer."),
    store_options,
)
def rotate(path: Path | None, origin: str | None, drop_old: bool, data: Path, store: str | None) -> Reply:
    """Sign with a new key from now on; it is recorded in the server's own ledger."""
    from beliefd.embedded import Embedded
    from beliefd.steward.directory import LOCAL_OPERATOR

    settings = log_settings(data, path)
    with Embedded(need_store(data, store), LOCAL_OPERATOR, log=settings) as embedded:
        keys = embedded.runtime.checkpoints.keys
        made = embedded.run(lambda: keys.rotate(origin, keep_old=not drop_old))
    return Reply({"key": str(made)}, str(made))


# -- the stored log --------------------------------------------------------------------------------------


@replies(log, store_options)
def check(data: Path, store: str | None) -> Reply:
    """Hash all events again in the order of the log, and compare. Exits with 5 if something is otherwise."""
    found = _looked_at(data, store)
    verdict = "the log is as the ledgers say" if found.ok else "\n".join(found.complaints)
    return _reply(found, f"{found.size} leaves: {verdict}", found.ok)


@replies(log, store_options)
def rebuild(data: Path, store: str | None) -> Reply:
    """Build the tiles of the log anew from all events. Servers may go on meanwhile."""
    from beliefd.steward.log_repair import rebuild as rebuilt

    found = _walked(need_store(data, store), rebuilt)
    words = f"{found.size} leaves: {len(found.tiles)} tiles replaced"
    return _reply(found, words, not found.missing)


def _looked_at(data: Path, store: str | None) -> "Looked":
    """All of it; whoever signs with the key that is there hears of what is wrong."""
    from beliefd.steward.log_repair import look

    found = _walked(need_store(data, store), look)
    if (last := log_settings(data).last) is not None:
        last.note_damage(found.complaints)
    return found


def _walked(place: str, work: "Callable[[Store, Progress], Awaitable[Looked]]") -> "Looked":
    async def run(opened: "Store") -> "Looked":
        with progress("hashing", await opened.log_size()) as report:
            return await work(opened, report)

    return with_store(place, run)


def _reply(found: "Looked", words: str, ok: bool) -> Reply:
    told = {
        "ok": ok,
        "size": found.size,
        "root": found.root or None,
        "missing": found.missing,
        "tiles": [f"{height}/{number}" for height, number in sorted(found.tiles)],
        "checkpoints": found.checkpoints,
    }
    return Reply(told, words, Exit.ALLOWED if ok else Exit.LEDGER_BROKEN)
