"""A witness for the logs of others (C2SP tlog-witness): one route, and one file per log.

The file holds the last checkpoint that was cosigned. It is written before anybody has the signature, so that
whatever happens to this process, it never cosigns two histories of one log.
"""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from beliefd.kernel.errors import BeliefdError
from beliefd.ledger.merkle import BadProof, verify_consistency
from beliefd.ledger.notes import (
    MAX_NOTE_BYTES,
    BadNote,
    Checkpoint,
    SigningKey,
    VerifierKey,
    read_checkpoint,
    read_note,
    signers,
)
from beliefd.ledger.witnessing import ADD_CHECKPOINT, SIZE_TYPE, Submission, read_submission
from beliefd.steward.key_files import alone_in, read_private, write_private

TEXT: Final = "text/plain; charset=utf-8"
BODY_SECONDS: Final = 10.0
"""So long a checkpoint may take to come in. Anybody may call: who sends nothing must not keep others out."""


class Refused(Exception):
    """Not cosigned: the status and the body to answer with."""

    def __init__(self, status: int, text: str, kind: str = TEXT) -> None:
        super().__init__(text)
        self.answer = Response(f"{text}\n", status, media_type=kind)


class Witness:
    """Cosigns for the logs whose keys it knows, and remembers in a folder what it has cosigned."""

    def __init__(self, key: SigningKey, logs: Sequence[VerifierKey], seen: Path) -> None:
        self._key = key
        self._logs = logs
        self._seen = seen
        self._one_at_a_time = asyncio.Lock()

    async def answer(self, data: bytes) -> Response:
        # INVARIANT: what was cosigned last is compared and replaced by one request at a time.
        async with self._one_at_a_time:
            try:
                return Response(await asyncio.to_thread(self._cosigned, data), media_type=TEXT)
            except Refused as refused:
                return refused.answer
            except BeliefdError as error:  # the folder cannot be read or written
                return Response(f"{error.message}\n", 500, media_type=TEXT)

    def _cosigned(self, data: bytes) -> str:
        try:
            submission = read_submission(data)
            checkpoint = read_checkpoint(submission.note)
        except BadNote as error:
            raise Refused(400, str(error)) from None
        self._refuse_strangers(submission, checkpoint)
        if submission.old > checkpoint.size:
            raise Refused(400, f"a log of {checkpoint.size} leaves does not continue one of {submission.old}")
        # INVARIANT: another process with this folder does not cosign another history meanwhile.
        with alone_in(self._seen):
            self._refuse_other_history(submission, checkpoint)
            write_private(self._place(checkpoint.origin), str(submission.note).encode(), replace=True)
        return self._key.cosign(checkpoint.text, int(time.time())).line

    def _refuse_strangers(self, submission: Submission, checkpoint: Checkpoint) -> None:
        keys = [key for key in self._logs if key.name == checkpoint.origin]
        if not keys:
            raise Refused(404, f"no log `{checkpoint.origin[:64]}` is known here")
        try:
            by = signers(submission.note, keys)
        except BadNote as error:
            raise Refused(403, str(error)) from None
        if not by:
            raise Refused(403, f"no key of `{checkpoint.origin[:64]}` that is known here has signed it")

    def _refuse_other_history(self, submission: Submission, checkpoint: Checkpoint) -> None:
        last, old = self._last(checkpoint.origin), submission.old
        size = 0 if last is None else last.size
        same_size = last is not None and last.size == checkpoint.size
        if old != size or (same_size and last is not None and last.root != checkpoint.root):
            raise Refused(409, str(size), SIZE_TYPE)
        try:
            if last is None or size == 0 or same_size:
                if submission.path:
                    raise BadProof("there is nothing to prove from there")
                return
            verify_consistency(size, checkpoint.size, last.root, checkpoint.root, submission.path)
        except BadProof as error:
            raise Refused(
                422, f"the log of size {checkpoint.size} is not shown to continue {size}: {error}"
            ) from None

    def _last(self, origin: str) -> Checkpoint | None:
        """INVARIANT: a file that cannot be read is not the same as none: then nothing is cosigned."""
        data = read_private(self._place(origin))
        try:
            return None if data is None else read_checkpoint(read_note(data))
        except BadNote as error:
            raise Refused(500, f"what was cosigned last cannot be read: {error}") from None

    def _place(self, origin: str) -> Path:
        return self._seen / f"{hashlib.sha256(origin.encode()).hexdigest()[:32]}.checkpoint"


def witness_app(witness: Witness) -> Starlette:
    async def add_checkpoint(request: Request) -> Response:
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _body(request)
        except TimeoutError:
            return Response("it took too long to come in\n", 408, {"Connection": "close"}, TEXT)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is there to read it
        if body is None:
            return Response(f"it has {MAX_NOTE_BYTES} bytes at most\n", 413, media_type=TEXT)
        return await witness.answer(body)

    return Starlette(routes=[Route(ADD_CHECKPOINT, add_checkpoint, methods=["POST"])])


async def _body(request: Request) -> bytes | None:
    """None if there is more of it than a checkpoint can have."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MAX_NOTE_BYTES:
            return None
    return bytes(body)
