"""Asking a witness over HTTP to cosign a checkpoint (C2SP tlog-witness).

Whatever a witness does, its signature comes of it, or an error that says that there is none
(WITNESS_MISSING), that it is forged (CHECKPOINT_FORGED), that the witness has seen another history of this
log (SPLIT_VIEW), or more of it than there is (LOG_ROLLED_BACK).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import httpx
from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.ledger.notes import BadNote, Checkpoint, Note, Signature, VerifierKey, read_checkpoint, signers
from beliefd.ledger.witnessing import ADD_CHECKPOINT, Submission, read_cosignatures, read_size
from beliefd.steward.effects.addresses import URLS, shown

SECONDS: Final = 10.0
TRIES: Final = 4
"""Others may submit later checkpoints meanwhile; each time the witness names another size."""
MAX_ANSWER_BYTES: Final = 1 << 16
_WORDS: Final = {
    400: "it does not understand the request",
    403: "it does not know the key that this checkpoint is signed with",
    404: "it does not know a log of this name",
}
Prove = Callable[[int], Awaitable[Sequence[bytes]]]
"""Shows that the checkpoint continues the log of a size."""


class Asked(Struct, frozen=True):
    """What is submitted: a checkpoint of a log that has so many leaves by now, and whose signatures count."""

    note: Note
    leaves: int
    keys: tuple[VerifierKey, ...]
    prove: Prove

    @property
    def checkpoint(self) -> Checkpoint:
        return read_checkpoint(self.note)


def witness_url(url: str) -> str:
    """The address as it was given, without a slash at its end."""
    if not url.startswith(URLS):
        text = f"`{shown(url)}` is no address of a witness: it begins with `https://` or `http://`"
        raise invalid(text, "--log-witness-url")
    return url.rstrip("/")


async def cosignatures(url: str, asked: Asked, old: int = 0) -> list[Signature]:
    """The signatures of a witness under a checkpoint; `old` is what it has cosigned last, if known."""
    size, last = asked.checkpoint.size, old if old <= asked.checkpoint.size else 0
    try:
        async with asyncio.timeout(SECONDS), httpx.AsyncClient(timeout=SECONDS) as http:
            for _ in range(TRIES):
                path = tuple(await asked.prove(last)) if 0 < last < size else ()
                status, body = await _sent(http, url, Submission(last, path, asked.note))
                if status != httpx.codes.CONFLICT:
                    return _answered(url, asked, last, status, body)
                last = _other_size(url, asked, last, body)
    except (TimeoutError, httpx.TimeoutException):
        raise _missing(url, f"no answer in {SECONDS:g} seconds") from None
    except httpx.InvalidURL:
        raise _missing(url, "it is no URL") from None
    except httpx.HTTPError as error:
        raise _missing(url, str(error) or type(error).__name__) from None
    raise _missing(url, f"it has named {TRIES} sizes that it has cosigned last")


async def _sent(http: httpx.AsyncClient, url: str, submission: Submission) -> tuple[int, bytes]:
    """INVARIANT: a witness cannot make this process hold more than an answer may have."""
    body = bytearray()
    kind = {"Content-Type": "text/plain; charset=utf-8"}
    async with http.stream("POST", url + ADD_CHECKPOINT, content=bytes(submission), headers=kind) as answer:
        async for piece in answer.aiter_bytes():
            body += piece
            if len(body) > MAX_ANSWER_BYTES:
                raise _missing(url, f"its answer has more than {MAX_ANSWER_BYTES} bytes")
    return answer.status_code, bytes(body)


def _other_size(url: str, asked: Asked, last: int, body: bytes) -> int:
    """The size to prove from instead."""
    size = asked.checkpoint.size
    if last == size:
        text = f"{_at(url)} has cosigned another log of the same name and of {size} leaves"
        raise BeliefdError(Code.SPLIT_VIEW, f"{text}: this one was changed, or there are two")
    try:
        told = read_size(body)
    except BadNote as error:
        raise _missing(url, str(error)) from None
    if told > asked.leaves:
        text = f"{_at(url)} has cosigned {told} leaves of this log, and there are {asked.leaves}"
        sizes = {"size": asked.leaves, "signed": told}
        raise BeliefdError(Code.LOG_ROLLED_BACK, f"{text}: the store was put back to an earlier state", sizes)
    if told > size:
        raise _missing(url, f"it has cosigned a later checkpoint already, of size {told}")
    if told == last:
        raise _missing(url, f"it asks for a proof from size {told}, and does not take it")
    return told


def _answered(url: str, asked: Asked, last: int, status: int, body: bytes) -> list[Signature]:
    if status == httpx.codes.UNPROCESSABLE_ENTITY:
        text = (
            f"{_at(url)} does not find that this log continues the one of {last} leaves that it has cosigned"
        )
        raise BeliefdError(Code.SPLIT_VIEW, f"{text}: this one was changed, or there are two")
    if status != httpx.codes.OK:
        raise _missing(url, _WORDS.get(status, f"it answered with {status}"))
    try:
        lines = read_cosignatures(body)
    except BadNote as error:
        raise _missing(url, str(error)) from None
    try:
        known = {(key.name, key.key_id) for key in signers(Note(asked.note.text, tuple(lines)), asked.keys)}
    except BadNote as error:
        raise BeliefdError(Code.CHECKPOINT_FORGED, f"{_at(url)}: {error}") from None
    if not known:
        names = ", ".join(f"`{one.name}+{one.key_id.hex()}`" for one in lines[:3])
        raise _missing(url, f"it signs as {names}, which is none of the witnesses that are required here")
    return [one for one in lines if (one.name, one.key_id) in known]


def _missing(url: str, why: str) -> BeliefdError:
    return BeliefdError(Code.WITNESS_MISSING, f"{_at(url)} has not cosigned: {why}")


def _at(url: str) -> str:
    return f"the witness at `{shown(url)}`"
