"""What a request was answered with that comes again under its Idempotency-Key."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from beliefd.kernel.commands import verb_of
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.ledger.envelope import Entry, LedgerBroken, Sealed, read
from beliefd.ledger.withheld import parts_of
from beliefd.steward.offload import HEAVY_BYTES, offload
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Outcome, QueuedCommand, recorded_request, request_hash_of
from beliefd.steward.write.withholding import as_it_was_withheld, policy_of
from beliefd.stores.base import Store, UsedKey


class FirstAnswers:
    """Those of one turn, which is not written yet, and before it those of the store.

    `entries` and `policies` are the turn's own: they grow with it.
    """

    def __init__(
        self,
        store: Store,
        positions: Positions,
        session_id: str,
        entries: Sequence[Sealed],
        policies: Mapping[str, Policy],
    ) -> None:
        self._store = store
        self._positions = positions
        self._session_id = session_id
        self._entries = entries
        self._policies = policies
        self._used: dict[tuple[str, str], tuple[UsedKey, Outcome]] = {}

    def remember(self, call: QueuedCommand, outcome: Outcome) -> None:
        """That a call was decided, if it has a key to ask for its answer again."""
        if call.key is None:
            return
        who, seq = call.principal.id, outcome.head.seq
        used = UsedKey(who, call.key, call.recorded_hash, self._session_id, seq)
        self._used[who, call.key] = (used, outcome)

    @property
    def used_keys(self) -> list[UsedKey]:
        """To be written with the turn."""
        return [used for used, _ in self._used.values()]

    async def of(self, call: QueuedCommand) -> Outcome | None:
        """What the call was answered with when it was made before; None if it is made for the first time."""
        if call.key is None:
            return None
        who = call.principal.id
        here = self._used.get((who, call.key))
        used = here[0] if here else await self._store.used_key(who, call.key)
        if used is None:
            return None
        asked = await offload(call.is_heavy, lambda: call.request_hash, kind="decide")
        if used.request_hash != asked and used.request_hash != await self._asked_withheld(call, used):
            raise BeliefdError(
                Code.CONFLICT,
                f"Idempotency-Key `{call.key}` was used for another request; use a new key",
                {"path": "Idempotency-Key"},
            )
        return replace(here[1], repeated=True) if here else await self._answer_again(used)

    async def _asked_withheld(self, call: QueuedCommand, used: UsedKey) -> str | None:
        """The hash of the call, as if the entry that the key points at had been made of it."""
        entry = await self._entry_at(used)
        if entry is None or entry.verb != verb_of(call.command):
            return None
        policy = self._policies.get(entry.policy_hash) or await policy_of(self._store, entry)
        if not (parts := parts_of(entry, policy)):
            return None
        payload, notes = await as_it_was_withheld(self._store, parts, call.command, call.notes)
        return request_hash_of(call.scope, entry.verb, payload, notes)

    async def _entry_at(self, used: UsedKey) -> Entry | None:
        here = [one for one in self._entries if one.seq == used.seq and used.session_id == self._session_id]
        found = here or await self._positions.chains.entries(used.session_id, used.seq - 1, 1)
        return read(found[0].record) if found else None

    async def _answer_again(self, used: UsedKey) -> Outcome:
        """The answer a remembered request got: a function of its entry and the state after it."""
        position = await self._positions.at(used.session_id, used.seq)
        entries = await self._positions.chains.entries(used.session_id, used.seq - 1, 1)
        if position is None or not entries:
            raise LedgerBroken(used.seq, None, "a remembered request points at an event that is not there")
        entry = read(entries[0].record)
        # INVARIANT: an answer is given again to who asked, and to what was asked, as the event says.
        recorded = await offload(len(entries[0].record) > HEAVY_BYTES, recorded_request, entry)
        if entry.actor.id != used.principal or recorded != used.request_hash:
            text = f"Idempotency-Key `{used.key}` points at an event that another request made"
            raise BeliefdError(Code.STORAGE_UNAVAILABLE, text, {"path": "Idempotency-Key"})
        return Outcome(entry.delta, position.session, position.head, repeated=True)
