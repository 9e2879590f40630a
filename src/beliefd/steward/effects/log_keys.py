"""The keys that checkpoints are signed with: in a file beside the store, and their public halves on record.

The file has one key per line. All of them sign: after a rotation the newest comes first and the ones before
it follow, so that whoever trusts an old key sees that the new one is the log's as well.
"""

import secrets
from collections.abc import Sequence
from pathlib import Path

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.system.state import SYSTEM
from beliefd.ledger.notes import BadNote, SigningKey, VerifierKey, checked_name, read_private_key
from beliefd.steward.key_files import read_private, write_private
from beliefd.steward.write.system import SystemLedger
from beliefd.stores.base import Store

ROTATE = "; go on with a new one by `beliefd log key rotate`"


class LogKeys:
    """The key file of one server. `origin` is the name of the log, for a key that is made here."""

    def __init__(self, store: Store, system: SystemLedger, path: Path | None, origin: str | None) -> None:
        self._store = store
        self._system = system
        self._path = path
        self._origin = origin

    async def usable(self) -> list[SigningKey]:
        """The keys to sign with, the newest first, all of them on record. The first ever is made here."""
        on_record = await self._system.log_keys()
        keys = self.fitting(on_record) or await self._made()
        for key in reversed(keys):
            if key.verifier not in on_record:
                await self._system.note_log_key(key.verifier)
        return keys

    def fitting(self, on_record: Sequence[VerifierKey]) -> list[SigningKey]:
        """The keys in the file; none if the log never had one.

        INVARIANT: nothing is signed with a key that came from nowhere: who has put another key in the place
        of the log's, or lost it, is told.
        """
        keys = self.read()
        if not keys and on_record:
            text = f"the log is signed with `{on_record[-1]}`, and `{self._path}` does not hold that key"
            raise BeliefdError(Code.LOG_KEY_UNKNOWN, f"{text}: put it back{ROTATE}")
        if keys and on_record and not any(key.verifier in on_record for key in keys):
            text = f"`{self._path}` holds `{keys[0].verifier}`, with which this log was never signed"
            raise BeliefdError(Code.LOG_KEY_UNKNOWN, f"{text}: put the right one back{ROTATE}")
        return keys

    def read(self) -> list[SigningKey]:
        """What is in the file, if there is one."""
        if self._path is None:
            text = "no key was given to sign the log with; a server makes one in its data folder"
            raise BeliefdError(Code.LOG_KEY_UNKNOWN, text)
        return read_keys(self._path)

    async def rotate(self, origin: str | None = None, *, keep_old: bool = True) -> VerifierKey:
        """Make a new key and sign with it from now on; it is on record before the file changes."""
        before = self.read() if keep_old else []
        on_record = await self._system.log_keys()
        name = origin or (on_record[-1].name if on_record else await self._own_name())
        key = SigningKey(_name(name), secrets.token_bytes(32))
        await self._system.note_log_key(key.verifier)
        self._write([key, *(one for one in before if one.verifier.name == name)], replace=True)
        return key.verifier

    async def _made(self) -> list[SigningKey]:
        name = self._origin or await self._own_name()
        self._write([SigningKey(_name(name), secrets.token_bytes(32))], replace=False)
        return self.read()  # if another process was first, its key is ours

    async def _own_name(self) -> str:
        """A name that no other store has: after the first event of its own ledger."""
        await self._system.begin()
        (first,) = await self._store.entries(SYSTEM, 0, 1)
        return f"beliefd.local/{first.hash[:16]}"

    def _write(self, keys: list[SigningKey], *, replace: bool) -> None:
        if self._path is not None:
            lines = "".join(f"{key.private_line}\n" for key in keys)
            write_private(self._path, lines.encode(), replace=replace)


def read_keys(path: Path) -> list[SigningKey]:
    data = read_private(path)
    if data is None:
        return []
    try:
        keys = [
            read_private_key(line) for line in data.decode("ascii", "replace").splitlines() if line.strip()
        ]
    except BadNote as error:
        raise invalid(f"`{path}`: {error}", str(path)) from None
    if not keys:
        raise invalid(f"`{path}` is empty: it holds no key", str(path))
    return keys


def _name(name: str) -> str:
    try:
        return checked_name(name)
    except BadNote as error:
        raise invalid(str(error), "origin") from None
