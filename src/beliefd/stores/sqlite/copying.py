"""A copy of a SQLite store as it is at one moment, while others write to it."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Final

from beliefd.stores.base import StorageUnavailable
from beliefd.stores.sqlite.database import connect
from beliefd.stores.sqlite.file import prepare
from beliefd.stores.sqlite.file import unchanged as as_it_is

PAGES: Final = 4096
"""So many pages are copied at a time; a writer waits for no more."""


def copy_file(source: Path, path: Path, *, unchanged: bool = False) -> None:
    """Whole and on disk under its name, or not there at all. With `unchanged` the source keeps every byte,
    which is for what no server uses."""
    draft = path.with_name(f".{path.name}.part")
    try:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
        prepare(draft)
        with (
            contextlib.closing(connect(source, as_it_is(source) if unchanged else None)) as read,
            contextlib.closing(sqlite3.connect(draft)) as written,
        ):
            # One read transaction: pages that change meanwhile do not begin the copy anew.
            read.execute("BEGIN")
            read.backup(written, pages=PAGES)
            written.execute("PRAGMA journal_mode = DELETE")
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        os.replace(draft, path)
    except (sqlite3.Error, OSError) as error:
        draft.unlink(missing_ok=True)
        raise StorageUnavailable(f"cannot copy into `{path}`: {error}") from None
