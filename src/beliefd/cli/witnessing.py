"""Witnessing on the command line: having a checkpoint cosigned, and cosigning those of others."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from beliefd.cli.checkpoints import log_keys_in, witness_key, witnesses_in
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls

MAX_CALLERS = 200


def cosigned_by(calls: "Calls", url: str, witnesses: tuple[str, ...]) -> tuple[int, str]:
    """The size of a server's newest checkpoint, and its text with the signature of the witness."""
    from beliefd.ledger.checkpoints import hashes_in
    from beliefd.ledger.notes import BadNote, read_checkpoint, read_note
    from beliefd.steward.effects.witnesses import Asked, cosignatures, witness_url

    if not (keys := witnesses_in(witnesses, "--witness")):
        raise invalid("say with `--witness` whose signature counts", "--witness")
    state = calls.log_state()
    if state.signed is None:
        raise BeliefdError(Code.NOT_FOUND, "the log has no checkpoint yet")
    try:
        note = read_note(state.signed)
        size = read_checkpoint(note).size
    except BadNote as error:
        raise BeliefdError(Code.CHECKPOINT_FORGED, str(error)) from None

    async def prove(old: int) -> Sequence[bytes]:
        told = await asyncio.to_thread(calls.log_consistency, old, size)
        return hashes_in(told.path)

    lines = asyncio.run(cosignatures(witness_url(url), Asked(note, state.size, keys, prove)))
    return size, str(note.signed(lines))


def serve_witness(own: Path, seen: Path, keys: tuple[str, ...], host: str, port: int) -> None:
    """Until it is told to stop."""
    import uvicorn

    from beliefd.cli import server
    from beliefd.cli.target import prepare_data
    from beliefd.http.witness import Witness, witness_app

    if not (logs := log_keys_in(keys, "--key")):
        raise invalid("say with `--key` which logs to cosign", "--key")
    prepare_data(seen)
    key = witness_key(own)
    listener = server.bind(host, port)
    app = witness_app(Witness(key, logs, seen))
    click.echo(f"the witness {key.verifier.name} is listening on {server.url_of(listener, host)}")
    # The server's own way to read HTTP closes connections that are silent or slow.
    settings = {**server.uvicorn_settings(), "log_level": "warning", "limit_concurrency": MAX_CALLERS}
    uvicorn.Server(uvicorn.Config(app, **settings)).run(sockets=[listener])
