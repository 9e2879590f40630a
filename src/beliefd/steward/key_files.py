"""Files that hold a secret: whole or not there, and for their owner only."""

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from beliefd.kernel.errors import BeliefdError, Code, invalid


def read_private(path: Path) -> bytes | None:
    """What is in the file; None if there is none. One that others can read is refused."""
    try:
        if os.name == "posix" and path.stat().st_mode & 0o077:
            raise invalid(f"`{path}` can be read by others; `chmod 600` it", str(path))
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"cannot read `{path}`: {error.strerror}") from None


def write_private(path: Path, data: bytes, *, replace: bool = False) -> None:
    """Nobody ever reads half of it. Without `replace`, a file that is there by then is left as it is."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            os.replace(draft, path)
            _settle(path.parent)
            return
        try:
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
        _settle(path.parent)
    except OSError as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"cannot write `{path}`: {error.strerror}") from None


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """One at a time, of all processes: whoever compares a file there and then replaces it."""
    if os.name != "posix":
        yield
        return
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"cannot open `{folder}`: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)  # which lets go, and so does the end of a process


def _settle(folder: Path) -> None:
    """A new name is safe from a loss of power when its folder is written, too."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
