"""Checkpoints: signed on a schedule and on demand, cosigned by witnesses, anchored elsewhere."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.envelope import LedgerBroken
from beliefd.ledger.notes import (
    BadNote,
    Checkpoint,
    Note,
    Signature,
    VerifierKey,
    read_checkpoint,
    read_note,
    signers,
)
from beliefd.steward.chains import Chains, checked
from beliefd.steward.effects.anchored import Anchor, Anchored
from beliefd.steward.effects.last_signed import LastSigned
from beliefd.steward.effects.log_keys import LogKeys
from beliefd.steward.environment import Environment
from beliefd.steward.log import Log
from beliefd.steward.log_comparing import refuse_contradicted
from beliefd.steward.write.system import SystemLedger
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.log import KeptCheckpoint

log = logging.getLogger("beliefd.log")
EVERY_SECONDS: Final = 60.0
RECENT: Final = 100
"""Among so many of the last checkpoints, one is looked for that all witnesses have cosigned."""
Ask = Callable[[int], Awaitable[list[Signature]]]
"""Asks a witness for signatures, given what it has cosigned last."""


class LogSettings(Struct, frozen=True):
    """How a log is signed. Without a key nothing is; `every` is in seconds, and 0 signs on demand only."""

    key: Path | None = None
    origin: str | None = None
    every: float = EVERY_SECONDS
    witnesses: tuple[VerifierKey, ...] = ()
    witness_urls: tuple[str, ...] = ()
    anchors: tuple[Anchor, ...] = ()

    @property
    def last(self) -> LastSigned | None:
        """What was signed last, to be compared with the store."""
        return None if self.key is None else LastSigned(self.key)


class Submitted(Struct, frozen=True):
    """The size that a witness has cosigned last, and why it has not cosigned what it was asked to since."""

    size: int = 0
    failure: BeliefdError | None = None


class Checkpoints:
    """Of one store, by one server."""

    def __init__(
        self, chains: Chains, tree: Log, system: SystemLedger, environment: Environment, settings: LogSettings
    ) -> None:
        self._store = checked(chains)
        self._stored = Log(chains.store)
        """What is compared with leaves needs no chain, which might have to be followed from its beginning."""
        self._log = tree
        self._system = system
        self._environment = environment
        self._signing = asyncio.Lock()
        self.settings = settings
        self.submitted: dict[str, Submitted] = {}
        """By the address of the witness; nothing of what was before this process."""
        self.anchored = Anchored(settings.anchors, settings.key)
        self.keys = LogKeys(self._store, system, settings.key, settings.origin)

    async def newest(self, size: int | None = None) -> KeptCheckpoint | None:
        """The last one that all required witnesses have cosigned; or of a size, whoever has."""
        kept = await self._store.checkpoints(RECENT, size)
        if size is not None:
            return kept[0] if kept else None
        return next((one for one in kept if self._witnessed(one)), None)

    def _witnessed(self, kept: KeptCheckpoint) -> bool:
        try:
            by = signers(read_note(kept.note), self.settings.witnesses)
        except BadNote:  # the row was changed
            return False
        return all(key in by for key in self.settings.witnesses)

    # -- signing -----------------------------------------------------------------------------------

    async def sign(self) -> KeptCheckpoint:
        """Cover everything that is recorded by now; what is covered already is not signed again."""
        async with self._signing:
            keys = await self.keys.usable()
            await self._log.catch_up()
            size = await self._store.log_size()
            checkpoint = Checkpoint(keys[0].verifier.name, size, await self._log.root(size))
            await self._refuse_unsignable([key.verifier for key in keys], size)
            kept = await self._keep(checkpoint, [key.sign(checkpoint.text) for key in keys])
            if self.settings.last is not None:
                self.settings.last.write(kept.note)
        kept = await self._ask_witnesses(kept)
        await self.anchored.bring(kept)
        return kept

    async def refuse_unsignable(self) -> None:
        """Raise what signing would raise now. Nothing is written, and no key is made."""
        if keys := self.keys.fitting(await self._system.log_keys()):
            await self._refuse_unsignable([key.verifier for key in keys], await self._store.log_size())

    async def _refuse_unsignable(self, keys: list[VerifierKey], size: int) -> None:
        """INVARIANT: a log never signs two histories, and nothing new that the stored events contradict.

        What was signed before is kept in the store, and beside the key. To the store's word that something
        was, a signature belongs: what is beyond the last one is compared.
        """
        if (last := self.settings.last) is None:
            return
        kept = [(one.note, last.checkpoint_in(one.note)) for one in await self._store.checkpoints(1)]
        try:
            signed = [one for note, one in kept if signers(read_note(note), keys)]
        except BadNote as error:
            text = f"a checkpoint in the store was not signed with this key, and says it was: {error}"
            raise BeliefdError(Code.CHECKPOINT_FORGED, text) from None
        if (seen := last.read()) is not None:
            signed.append(seen)
        for one in [checkpoint for _, checkpoint in kept] + signed:
            if one.origin == keys[0].name:  # else of another log, which ended
                await self._log.refuse_other_history(one, size)
        last.refuse_damaged()
        known = max((one.size for one in signed if one.origin == keys[0].name), default=0)
        await refuse_contradicted(self._stored, known, size)

    async def _keep(self, checkpoint: Checkpoint, lines: list[Signature]) -> KeptCheckpoint:
        note = Note(checkpoint.text).signed(lines)
        kept = KeptCheckpoint(checkpoint.size, str(note), self._environment.now())
        if await self._store.keep_checkpoint(kept):
            return kept
        return await self._add(checkpoint, lines)  # it was signed before, here or by another server

    async def _add(self, checkpoint: Checkpoint, lines: list[Signature]) -> KeptCheckpoint:
        """Put signatures under a checkpoint that is kept, beside those that it has."""
        while True:
            found = await self._store.checkpoints(RECENT, checkpoint.size)
            same = [one for one in found if read_note(one.note).text == checkpoint.text]
            if not same:
                text = f"no checkpoint of size {checkpoint.size} with this root was signed here"
                raise BeliefdError(Code.NOT_FOUND, text)
            note = read_note(same[0].note)
            more = [one for one in lines if one not in note.signatures]
            kept = replace(same[0], note=str(note.signed(more)))
            if not more or await self._store.keep_checkpoint(kept, same[0].note):
                return kept

    async def add_cosignatures(self, text: str) -> KeptCheckpoint:
        """Take the signatures of witnesses that are known here from a checkpoint; others do not count."""
        try:
            note = read_note(text)
            by = signers(note, self.settings.witnesses)
            checkpoint = read_checkpoint(note)
        except BadNote as error:
            raise BeliefdError(Code.CHECKPOINT_FORGED, str(error), {"path": "$.note"}) from None
        names = {(key.name, key.key_id) for key in by}
        lines = [one for one in note.signatures if (one.name, one.key_id) in names]
        if not lines:
            text = "it has no signature of a witness that this server knows; name it with `--log-witness`"
            raise BeliefdError(Code.CHECKPOINT_FORGED, text, {"path": "$.note"})
        return await self._add(checkpoint, lines)

    # -- witnesses ---------------------------------------------------------------------------------

    async def _ask_witnesses(self, kept: KeptCheckpoint) -> KeptCheckpoint:
        """Ask those that have an address, all at once. The checkpoint stays as it was signed, whatever they
        do. It is shown when all have cosigned, and they are asked again until they have."""
        if not self.settings.witness_urls or self._witnessed(kept):
            return kept
        from beliefd.steward.effects.witnesses import Asked, cosignatures

        note = read_note(kept.note)
        size, leaves = read_checkpoint(note).size, await self._store.log_size()
        asked = Asked(note, leaves, self.settings.witnesses, lambda old: self._log.consistency(old, size))
        told = await asyncio.gather(
            *(self._noted(url, size, partial(cosignatures, url, asked)) for url in self.settings.witness_urls)
        )
        lines = [line for one in told for line in one]
        return await self._add(read_checkpoint(note), lines) if lines else kept

    async def _noted(self, url: str, size: int, ask: Ask) -> list[Signature]:
        """The signatures that a witness gives, and in `submitted` what came of asking."""
        before = self.submitted.get(url, Submitted())
        try:
            lines = await ask(before.size)
        except BeliefdError as error:
            if before.failure is None or str(before.failure) != str(error):
                log.warning("the checkpoint of size %d waits for a witness: %s", size, error)
            self.submitted[url] = Submitted(before.size, error)
            return []
        self.submitted[url] = Submitted(size)
        return lines

    async def _ask_again(self) -> None:
        """Nothing was recorded since, but a witness or an anchor that was away may be back, and cosignatures
        may have come meanwhile."""
        for kept in await self._store.checkpoints(1):
            await self.anchored.bring(await self._ask_witnesses(kept))

    # -- on a schedule -----------------------------------------------------------------------------

    async def run(self) -> None:
        """Sign whenever the log has grown; never returns."""
        told = ""
        while True:
            await asyncio.sleep(self.settings.every or 3600.0)
            if not self.settings.every:
                continue
            try:
                await self.round()
                told = ""
            except (BeliefdError, StorageUnavailable, LedgerBroken) as error:
                if str(error) != told:
                    log.error("no checkpoint is signed: %s", error)
                told = str(error)

    async def round(self) -> None:
        """What is done each time."""
        await (self.sign() if await self._has_grown() else self._ask_again())

    async def _has_grown(self) -> bool:
        newest = await self._store.checkpoints(1)
        return await self._store.log_size() > (newest[0].size if newest else 0)
