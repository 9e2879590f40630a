"""The checkpoint that was signed last, kept beside the key: a store that was put back does not change it."""

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.notes import BadNote, Checkpoint, read_checkpoint, read_note
from beliefd.steward.effects.log_keys import read_keys
from beliefd.steward.key_files import write_private
from beliefd.steward.log import LOOK, Log
from beliefd.stores.base import Store


class Ahead(Struct, frozen=True):
    """A checkpoint that a store does not continue, and why it does not."""

    checkpoint: Checkpoint
    leaves: int
    why: str


class LastSigned(Struct, frozen=True):
    """Of the log whose key is in this file."""

    key: Path

    @property
    def path(self) -> Path:
        return self.key.with_suffix(".checkpoint")

    def read(self) -> Checkpoint | None:
        """It is no secret: whoever can read it may."""
        try:
            note = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            text = f"cannot read `{self.path}`: {error.strerror}"
            raise BeliefdError(Code.STORAGE_UNAVAILABLE, text) from None
        return self.checkpoint_in(note.decode("utf-8", "replace"))

    def checkpoint_in(self, note: str) -> Checkpoint:
        try:
            return read_checkpoint(read_note(note))
        except BadNote as error:
            text = f"what was signed last cannot be read: {error}; `{self.path}` holds it, too"
            raise BeliefdError(Code.CHECKPOINT_FORGED, text) from None

    def write(self, note: str) -> None:
        write_private(self.path, note.encode(), replace=True)

    # -- what was seen to be wrong -----------------------------------------------------------------

    @property
    def damage(self) -> Path:
        """What whoever compared all events with all leaves last has found, if that was not in order."""
        return self.key.with_suffix(".damaged")

    def note_damage(self, complaints: Sequence[str]) -> None:
        """For all processes that sign with this key, and for those that come after them; none says that all
        is well again."""
        if complaints and self.key.exists():
            write_private(self.damage, "".join(f"{one}\n" for one in complaints).encode(), replace=True)
        elif self.damage.exists():
            try:
                self.damage.unlink(missing_ok=True)
            except OSError as error:
                text = f"cannot remove `{self.damage}`: {error.strerror}"
                raise BeliefdError(Code.STORAGE_UNAVAILABLE, text) from None

    def refuse_damaged(self) -> None:
        if self.damage.exists():
            text = (
                "no checkpoint is signed: the log and the stored events contradict each other, as"
                f" `{self.damage}` says{LOOK}, which takes that back when they agree"
            )
            raise BeliefdError(Code.LEDGER_BROKEN, text)

    async def ahead_of(self, store: Store) -> Ahead | None:
        """What was signed last, if the store has less than it covers, or something else.

        A log that is damaged is none that was put back: whoever is to sign it says what is the matter.
        """
        checkpoint, log = self.read(), Log(store)
        if checkpoint is None or self._ended(checkpoint.origin):
            return None
        if await store.log_size() < checkpoint.size:
            await log.catch_up()
        leaves = await store.log_size()
        try:
            await log.refuse_other_history(checkpoint, leaves)
        except BeliefdError as error:
            if error.code in (Code.LOG_ROLLED_BACK, Code.SPLIT_VIEW):
                return Ahead(checkpoint, leaves, error.message)
        return None

    def _ended(self, origin: str) -> bool:
        """Another log was begun since (`log key rotate --origin`)."""
        try:
            keys = read_keys(self.key)
        except BeliefdError:  # whoever is to sign with them says what is wrong
            return False
        return bool(keys) and all(key.verifier.name != origin for key in keys)
