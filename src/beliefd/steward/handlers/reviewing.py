"""The handler that looks the policy in force over: what lint finds, and which rules have mattered."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.kernel.system.state import SYSTEM
from beliefd.ledger.envelope import UNREADABLE, Sealed
from beliefd.policy.explaining.answering import effect_of
from beliefd.protocol.reviewing import PolicyFinding, PolicyReview, RuleUse, UsedAt
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import view_of
from beliefd.steward.offload import in_pool, is_heavy, offload
from beliefd.steward.policies import PolicyInForce
from beliefd.stores.base import SessionRow, Store
from beliefd.wanted import tell_read

if TYPE_CHECKING:
    from beliefd.policy.lint import Linted

LOOKED_AT: Final = 20_000
LOOKED_AT_BYTES: Final = 32 << 20
"""So much of the ledgers is read for one answer, of the newest sessions first."""
SESSIONS: Final = 500
ROWS: Final = 10_000
CHUNK: Final = 125
"""Half of what a page waits for (`console.questions.FEW`): pages shown meanwhile wait for one piece."""
CHUNK_BYTES: Final = 1 << 20
AT_ONCE: Final = 2
"""So many look at once: each holds a list of sessions and a piece of a ledger."""
FINDINGS: Final = 200


class _Reason(Struct):
    constraint: str | None = None


class _Result(Struct):
    reasons: list[_Reason] = []


class _Delta(Struct):
    results: list[_Result] = []
    result: _Result | None = None


class _Judged(Struct):
    """What of an entry tells which rules stood in the way of something."""

    seq: int
    event_id: str
    ts: str
    policy_hash: str
    delta: _Delta


_judged = msgspec.json.Decoder(_Judged)


class Looked(Struct):
    """What has been seen so far."""

    decisions: int = 0
    events: int = 0
    size: int = 0
    counts: dict[str, int] = {}
    last: dict[str, UsedAt] = {}

    @property
    def is_enough(self) -> bool:
        return self.events >= LOOKED_AT or self.size >= LOOKED_AT_BYTES

    def take(self, session_id: str, one: _Judged) -> None:
        results = one.delta.results or ([] if one.delta.result is None else [one.delta.result])
        self.decisions += len(results)
        for key in {reason.constraint for result in results for reason in result.reasons}:
            if key is None:
                continue
            self.counts[key] = self.counts.get(key, 0) + 1
            before = self.last.get(key)
            if before is None or before.at < one.ts:
                self.last[key] = UsedAt(session_id=session_id, seq=one.seq, event_id=one.event_id, at=one.ts)


class ReviewHandlers(Struct, frozen=True):
    """Questions about the policy in force that take a look at what it did. None of them writes."""

    store: Store
    in_force: PolicyInForce
    linted: "dict[str, Linted]" = {}
    looking: asyncio.Semaphore = msgspec.field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def review_policy(self, call: Call) -> PolicyReview:
        policy, its_hash = self.in_force.policy, self.in_force.hash
        found = self.linted.get(its_hash)
        if found is None:
            from beliefd.policy.lint import lint  # which few commands need

            found = await in_pool("question", lint, policy)
            self.linted.clear()  # of policies that were in force before, nobody asks
            self.linted[its_hash] = found
        async with self.looking:
            looked, complete = await self._looked(call, its_hash)
        rules = rulebook(policy, its_hash).constraints
        used = [
            RuleUse(
                constraint=one.key,
                effect=effect_of(one),
                count=looked.counts.get(one.key, 0),
                last=looked.last.get(one.key),
            )
            for one in rules
            if one.effect != "allow"
        ]
        fired = sum(one.count > 0 for one in used)
        return PolicyReview(
            policy_hash=its_hash,
            warnings=found.warnings,
            findings=[view_of(PolicyFinding, one) for one in found.findings[:FINDINGS]],
            compared=found.complete,
            decisions=looked.decisions,
            used=used,
            percent=round(100 * fired / len(used), 1) if used else 100.0,
            looked_at=looked.events,
            complete=complete,
        )

    async def _looked(self, call: Call, its_hash: str) -> tuple[Looked, bool]:
        looked, named = Looked(), its_hash.encode()
        async for row in self._newest_first(call):
            after = 0
            while chunk := await self.store.entries(row.session_id, after, CHUNK, CHUNK_BYTES):
                for one in await offload(is_heavy(chunk), _of_policy, chunk, named):
                    looked.take(row.session_id, one)
                after = chunk[-1].seq
                looked.events += len(chunk)
                looked.size += sum(len(one.record) for one in chunk)
                tell_read(looked.events)
                await asyncio.sleep(0)  # a short piece is read here and now: others are let in between two
                if looked.is_enough:
                    return looked, False
        return looked, True

    async def _newest_first(self, call: Call) -> AsyncIterator[SessionRow]:
        """Ids are ordered by time. Stores list them from the beginning, so the list is read to its end."""
        rows: list[SessionRow] = []
        while page := await self.store.sessions(
            rows[-1].session_id if rows else None, SESSIONS, call.asked_spaces
        ):
            rows = [*rows, *page][-ROWS:]
        for row in reversed(rows):
            if row.session_id != SYSTEM:
                yield row


def _of_policy(chunk: list[Sealed], named: bytes) -> list[_Judged]:
    """The entries in which something was judged under this very policy."""
    found = []
    for one in chunk:
        if named not in one.record or b'"reasons"' not in one.record:
            continue
        try:
            entry = _judged.decode(one.record)
        except (*UNREADABLE, ValueError):
            continue
        if entry.policy_hash.encode() == named:
            found.append(entry)
    return found
