"""The files under a SQLite store: private from the start, and still the ones that were opened."""

import os
from pathlib import Path

from beliefd.stores.base import StorageUnavailable


def prepare(path: Path) -> Path:
    """Make the file private before SQLite opens it: ledgers and token hashes are nobody else's business."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Only a new file is opened here. Closing one that is in use elsewhere in this process would give up
        # the locks that SQLite holds on it, and another process could then take its log away.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise StorageUnavailable(f"cannot open `{path}`: {error.strerror}") from None
    return path


def read_only(path: Path) -> str | None:
    """How SQLite is told to open a file that we may not write to; None where we may.

    A file that is in use has a log beside it, and is read as it stands now. Where there is none, nobody has
    it open: it is read as what will not change, for which SQLite needs no file of its own beside it.
    """
    if not path.exists() or (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return None
    return unchanged(path)


def unchanged(path: Path) -> str:
    """How SQLite is told to open a file without writing to it or to its log, also where we may."""
    return "mode=ro" if beside(path, "-wal").exists() else "mode=ro&immutable=1"


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


class OpenedFiles:
    """Made when the store is open. SQLite itself goes on in files that no longer have a name."""

    def __init__(self, path: Path) -> None:
        names = (path, *(beside(path, suffix) for suffix in ("-wal", "-shm")))
        self._opened = {str(name): _identity(str(name)) for name in names}

    def check(self) -> None:
        """INVARIANT: nothing is acknowledged that the next start would not find."""
        for name, identity in self._opened.items():
            if _identity(name) != identity:
                raise StorageUnavailable(
                    f"nothing was written: `{name}` was removed or replaced while in use;"
                    " export what you need, put the file right and start again"
                )


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino
