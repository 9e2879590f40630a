"""Many verbs in one request: each line is decided, carried out and answered as by its own operation."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from io import BytesIO
from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.commands import VERB_OF, Command
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.json_bounds import SLICE
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.events import Arbitrated
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.protocol.substrate import ProposalAnswer
from beliefd.protocol.wire import bind, convert_in_slices, parse_object
from beliefd.steward.call import Call
from beliefd.steward.dispatch import check_key, check_notes
from beliefd.steward.effects.background import Background
from beliefd.steward.effects.tools import ToolCalls
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.facts.call_facts import Proof
from beliefd.steward.handlers.beliefs import VERBS, answer_to
from beliefd.steward.handlers.claims import judgement_of, submission_of
from beliefd.steward.handlers.substrate import answer_proposal, read_proposal
from beliefd.steward.offload import asking, offload
from beliefd.steward.write.positions import existing_head
from beliefd.steward.write.queued import Outcome
from beliefd.steward.write.submitting import Submit, raise_if_refused
from beliefd.stores.base import Store
from beliefd.tools.biscuit import Signer

PLAIN: Final = {VERB_OF[one.body]: one.body for one in VERBS.values()}
"""The commands that are nothing but their members, by the `verb` that a line names."""
SUBMIT_CLAIMS: Final = VERB_OF[SubmitClaims]
PROPOSE: Final = VERB_OF[Propose]
LINE_VERBS: Final = (*PLAIN, SUBMIT_CLAIMS, PROPOSE)
WINDOW: Final = 512
"""So many lines are submitted before the first of them is answered: they share their commits."""
WINDOW_BYTES: Final = 1024 * 1024
MAX_LINE: Final = 16 * 1024 * 1024
"""What its own operation would take."""
MAX_LINES: Final = 100_000
"""Lines of one batch. Each is answered, also if it cannot be read, so they are counted before."""
IN_PLACE: Final = 16
"""So few lines are read on the event loop, if they are short: a thread costs more than they do."""
IN_PLACE_BYTES: Final = 16 * 1024
CHUNK: Final = 64 * 1024
_Numbered = list[tuple[int, bytes]]


class Line(Struct, frozen=True):
    """A line that could be read: a command, and what its own operation takes from headers and tokens."""

    command: Command
    key: str | None
    notes: str | None
    proofs: tuple[Proof | None, ...] = ()
    size: int = 0

    @property
    def runs_tools(self) -> bool:
        return isinstance(self.command, Propose) and any(
            isinstance(one, CallCandidate) for one in self.command.candidates
        )


_Read = Line | BeliefdError
_Queued = tuple["asyncio.Future[Any]", Callable[[Any], Any]] | BeliefdError
"""What is waited for, and how it becomes an answer."""


class BatchHandlers(Struct, frozen=True):
    """Many verbs, decided in order."""

    store: Store
    submit: Submit
    signer: Signer | None
    tools: ToolCalls
    background: Background

    async def batch(self, call: Call) -> AsyncGenerator[bytes, None]:
        """Decide the lines in order and answer them in order, many per chunk.

        A line that cannot be read answers with its error; the others are not held up by it. If the caller
        goes away, the lines that were submitted are carried out and the rest is not: always a prefix.
        """
        _refuse_too_many_lines(call.body)
        await existing_head(self.store, call.session_id)
        for window in _windows(call.body):
            with asking(call.principal.id):
                lines = await offload(_is_large(window), self._read, window, call, kind="parse")
            for run in _runs(lines):
                queued = [self._queued(line, call) for line in run]
                try:
                    async for chunk in _answers(queued):
                        yield chunk
                finally:
                    _forget(queued)

    def _read(self, window: _Numbered, call: Call) -> list[_Read]:
        read: list[_Read] = []
        for number, line in window:
            try:
                read.append(_line(line, call, self.signer))
            except BeliefdError as error:
                details = {**(error.details or {}), "line": number}
                read.append(BeliefdError(error.code, error.message, details))
        return read

    def _queued(self, line: _Read, call: Call) -> _Queued:
        if isinstance(line, BeliefdError):
            return line
        attachments = Attachments(call.origin, line.proofs, size=line.size, judged=call.judged)
        submitted = self.submit(
            call.session_id,
            line.command,
            call.principal,
            key=line.key,
            notes=line.notes,
            attachments=attachments,
        )
        if isinstance(line.command, SubmitClaims):
            return submitted, judgement_of
        if isinstance(line.command, Propose):
            # What was submitted is carried out to its end, also if nobody is left to hear of it: a caller who
            # goes away cancels what it waits for, and that is not the work itself.
            return asyncio.shield(self.background.start(self._carried_out(submitted))), _as_it_is
        return submitted, answer_to

    async def _carried_out(self, submitted: Awaitable[Outcome]) -> ProposalAnswer:
        outcome = await submitted
        raise_if_refused(outcome)
        assert isinstance(outcome.event, Arbitrated)  # noqa: S101 - what is not refused is arbitrated
        return await answer_proposal(outcome, outcome.event, self.tools)


def _refuse_too_many_lines(body: bytes) -> None:
    """Counted slice by slice, to the first that is too many."""
    lines = 1
    for at in range(0, len(body), SLICE):
        lines += body.count(b"\n", at, at + SLICE)
        if lines > MAX_LINES:
            message = f"a batch may hold {MAX_LINES} lines; send it in parts"
            raise BeliefdError(Code.INVALID_REQUEST, message, {"path": "$", "limit": MAX_LINES})


def _is_large(window: _Numbered) -> bool:
    return len(window) > IN_PLACE or sum(len(line) for _, line in window) > IN_PLACE_BYTES


def _windows(body: bytes) -> Iterator[_Numbered]:
    """The lines that say something, with their numbers, so many and so much at a time."""
    window: _Numbered = []
    size = 0
    for number, line in enumerate(BytesIO(body), 1):
        if line.isspace():
            continue
        window.append((number, line))
        size += len(line)
        if len(window) == WINDOW or size > WINDOW_BYTES:
            yield window
            window, size = [], 0
    if window:
        yield window


def _runs(lines: Iterable[_Read]) -> Iterator[list[_Read]]:
    """Lines that are submitted together. What comes after calls of tools is decided when these have ended, as
    if each line were a request of its own."""
    run: list[_Read] = []
    for line in lines:
        run.append(line)
        if isinstance(line, Line) and line.runs_tools:
            yield run
            run = []
    if run:
        yield run


def _line(line: bytes, call: Call, signer: Signer | None) -> Line:
    if len(line) > MAX_LINE:
        told = f"a line may hold {MAX_LINE} bytes at most"
        raise BeliefdError(Code.PAYLOAD_TOO_LARGE, told, {"path": "$", "limit": MAX_LINE})
    value = bind(parse_object(line), {"session_id": call.session_id})
    verb = value.get("verb")
    if not isinstance(verb, str) or verb not in LINE_VERBS:
        known = ", ".join(f"`{name}`" for name in LINE_VERBS)
        raise invalid(f"a line needs `verb`, one of {known}", "$.verb")
    key = _text(value, "idempotency_key", check_key)
    notes = _text(value, "notes", check_notes)
    if verb in PLAIN:
        return Line(convert_in_slices(value, PLAIN[verb]), key, notes, size=len(line))
    del value["verb"]
    if verb == SUBMIT_CLAIMS:
        return Line(submission_of(value, call.principal), key, notes, size=len(line))
    command, proofs = read_proposal(value, signer)
    return Line(command, key, notes, proofs, len(line))


def _text(value: dict[str, Any], name: str, check: Callable[[str, str], None]) -> str | None:
    """A member that is no part of the command, taken out."""
    text = value.pop(name, None)
    if text is None:
        return None
    if not isinstance(text, str):
        raise invalid(f"expected a text in `{name}`", f"$.{name}")
    check(text, f"$.{name}")
    return text


async def _answers(queued: list[_Queued]) -> AsyncIterator[bytes]:
    chunk = bytearray()
    for item in queued:
        chunk += msgspec.json.encode(await _answer(item)) + b"\n"
        if len(chunk) > CHUNK:
            yield bytes(chunk)
            chunk.clear()
    yield bytes(chunk)


async def _answer(item: _Queued) -> Any:
    if isinstance(item, BeliefdError):
        return item.body
    done, finish = item
    try:
        return finish(await done)
    except BeliefdError as error:
        return error.body


def _as_it_is(answer: ProposalAnswer) -> ProposalAnswer:
    return answer


def _forget(queued: list[_Queued]) -> None:
    """Nobody is left to hear these answers; without this, asyncio would complain about each."""
    for item in queued:
        if not isinstance(item, BeliefdError):
            item[0].add_done_callback(lambda done: done.cancelled() or done.exception())
