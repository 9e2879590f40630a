"""Sealed ledgers into files and back: what `beliefd store archive` and `unarchive` do.

INVARIANT: a ledger leaves the store only after its file was written, synced, read again and verified.
"""

import hashlib
import os
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import click
import msgspec
from msgspec import Struct

from beliefd.cli.files import PRIVATE, read_bytes, write_bytes
from beliefd.cli.progress import progress
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.values import seconds

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls
    from beliefd.ledger.transfer import Header
    from beliefd.protocol.beliefs import BeliefSnapshot

PAGE: Final = 100
DAY: Final = 86_400
BUSY: Final = ".archiving"
"""Names the session that is being taken out; it is there after that was killed."""
LONGEST: Final = 200
"""So many bytes of a file's name are for the session; file systems take 255 in all."""


class PutAway(Struct, frozen=True):
    """One session that was archived, and the files that show it: its ledger, a proof and a checkpoint."""

    session_id: str
    events: int
    place: str
    head: str
    checkpoint: int | None


class Left(Struct, frozen=True):
    """One that was not, and why."""

    session_id: str
    why: str


class ArchivedStore(Struct, frozen=True):
    archived: list[PutAway]
    left: list[Left]


def archive(
    calls: "Calls", names: tuple[str, ...], folder: Path, idle: float | None, ended: bool, reason: str
) -> ArchivedStore:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise invalid(f"cannot make the folder `{folder}`: {error.strerror}", "--to") from None
    _finish(calls, folder)
    done: list[PutAway] = []
    left: list[Left] = []
    chosen = list(_named(calls, names, left)) if names else list(_chosen(calls, idle, ended))
    sealed = [one for one in chosen if _sealed(calls, one, reason, left)]
    size = _checkpoint(calls, sealed, folder)
    for one in sealed:
        done.append(_put_away(calls, one, folder, size))
    return ArchivedStore(done, left)


def _named(calls: "Calls", names: tuple[str, ...], left: list[Left]) -> "Iterator[BeliefSnapshot]":
    for name in names:
        try:
            yield calls.query_belief(name, survivors_limit=0)
        except BeliefdError as error:
            if error.code is not Code.SESSION_ARCHIVED:
                raise
            left.append(Left(name, error.message))


def _chosen(calls: "Calls", idle: float | None, ended: bool) -> "Iterator[BeliefSnapshot]":
    cursor: str | None = None
    while True:
        page = calls.list_sessions(cursor=cursor, limit=PAGE)
        for one in page.sessions:
            over = ended and (one.status == "terminated" or one.seal is not None)
            if over or (idle is not None and _is_idle(calls, one, idle)):
                yield one
        if (cursor := page.next) is None:
            return


def _is_idle(calls: "Calls", one: "BeliefSnapshot", days: float) -> bool:
    (last,) = calls.audit_trace(one.session_id, after=one.seq - 1, limit=1).events
    return time.time() - seconds(last["ts"]) > days * DAY


def _sealed(calls: "Calls", one: "BeliefSnapshot", reason: str, left: list[Left]) -> bool:
    """Seal it, unless it is; what waits for somebody in it, or another who works on it, is left alone."""
    if one.seal is not None:
        return True
    try:
        calls.seal_session(one.session_id, reason, if_match=one.audit_head_event_id)
    except BeliefdError as error:
        if error.code is not Code.CONFLICT:
            raise
        left.append(Left(one.session_id, error.message))
        return False
    return True


def _checkpoint(calls: "Calls", sealed: "list[BeliefSnapshot]", folder: Path) -> int | None:
    """One that covers the seals; where none is shown for want of a witness, the files go without a proof."""
    if not sealed:
        return None
    try:
        signed = calls.sign_checkpoint()
    except BeliefdError as error:
        if error.code is not Code.WITNESS_MISSING:
            raise
        return None
    for one in sealed:
        write_bytes(folder / f"{file_name(one.session_id)}.checkpoint", signed.note.encode())
    return signed.size


def _put_away(calls: "Calls", one: "BeliefSnapshot", folder: Path, size: int | None) -> PutAway:
    name, stem = one.session_id, file_name(one.session_id)
    path = (folder / f"{stem}.jsonl").absolute()
    digest = _written(calls, name, path)
    header = verified(path)
    if size is not None:
        proof = calls.audit_proof(name, size=size)
        write_bytes(folder / f"{stem}.proof.json", msgspec.json.encode(proof) + b"\n")
    busy = folder / BUSY
    write_bytes(busy, name.encode())
    _sync(folder)
    done = calls.archive_session(name, str(path), digest)
    busy.unlink()
    return PutAway(name, done.events, str(path), header.head.hash, size)


def file_name(session_id: str) -> str:
    """INVARIANT: whatever a session is called, by another server or in a ledger that was taken in, its files
    are in the folder, and no other session's."""
    quoted = quote(session_id, safe="@")
    if len(quoted) <= LONGEST:
        return quoted
    digest = hashlib.sha256(session_id.encode()).hexdigest()
    return f"{quoted[: LONGEST - len(digest) - 1]}+{digest}"  # no quoted text has a plus


def _finish(calls: "Calls", folder: Path) -> None:
    """Of a session that was archived when this was killed, what is still in the store is removed."""
    busy = folder / BUSY
    if not busy.exists():
        return
    name = busy.read_text()
    try:
        calls.query_belief(name, survivors_limit=0)
    except BeliefdError as error:
        if error.code is not Code.SESSION_ARCHIVED or error.details is None:
            raise
        calls.archive_session(name, error.details["place"], error.details["file_sha256"])
    busy.unlink()


def _written(calls: "Calls", name: str, path: Path) -> str:
    """Whole and on disk under its name, or not there at all. The hash of what was written."""
    draft, digest = path.with_name(f".{path.name}.part"), hashlib.sha256()
    try:
        with open(os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, PRIVATE), "wb") as file:
            for chunk in calls.export_chunks(name):
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync(path.parent)
    except OSError as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"cannot write `{path}`: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return digest.hexdigest()


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def verified(path: Path) -> "Header":
    """Read a ledger from a file, some events at a time, and recompute every hash, link and decision in it."""
    from beliefd.ledger.transfer import BadExport, read_entry, read_header
    from beliefd.ledger.verify import Verifying

    try:
        with open(path, "rb") as file, progress("verifying", 0) as report:
            header = read_header(next(file, b""))
            verifying = Verifying(header.session_id, header.policies, report)
            lines = enumerate(file, 2)
            while chunk := [read_entry(line, number) for number, line in islice(lines, PAGE)]:
                verifying.take(chunk)
        result, _ = verifying.result(header.head)
    except (OSError, BadExport) as error:
        raise BeliefdError(Code.ARCHIVE_INVALID, f"`{path}`: {error}") from None
    if result.first_bad is not None:
        bad = result.first_bad
        raise BeliefdError(Code.ARCHIVE_INVALID, f"`{path}`: event {bad.seq}: {bad.reason}")
    return header


def session_in(path: Path) -> str:
    """Whose ledger a file holds, as it says itself."""
    from beliefd.ledger.transfer import BadExport, read_header

    try:
        with open(path, "rb") as file:
            return read_header(next(file, b"")).session_id
    except BadExport as error:
        raise BeliefdError(Code.ARCHIVE_INVALID, f"`{path}` is no archived ledger: {error}") from None
    except OSError as error:
        raise invalid(f"cannot read `{path}`: {error.strerror}") from None


def unarchive(calls: "Calls", path: Path) -> int:
    """How many events are back."""
    from beliefd.embedded import Embedded

    name, place = session_in(path), str(path.absolute())
    if not isinstance(calls, Embedded):
        return calls.unarchive_session(name, read_bytes(str(path)), place=place).events
    archiving, by = calls.runtime.archiving, calls.principal
    with open(path, "rb") as lines:
        return calls.run(lambda: archiving.bring_back(name, lines, by, place)).head.seq


def told(done: ArchivedStore) -> str:
    lines = [f"{one.session_id}  {one.events} events to {one.place}" for one in done.archived]
    lines += [f"{one.session_id}  left: {one.why}" for one in done.left]
    return "\n".join([*lines, f"{len(done.archived)} sessions archived, {len(done.left)} left"])


def refuse_nothing(names: tuple[str, ...], idle: float | None, ended: bool) -> None:
    if bool(names) == (idle is not None or ended):
        raise click.UsageError("give SESSIONS, or say with `--idle` or `--ended` which")
