"""Decisions that would change, grouped and counted."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from beliefd.kernel.commands import Command, verb_of
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.values import Object
from beliefd.ledger.envelope import Entry, LedgerBroken
from beliefd.protocol.backtesting import Backtest, ChangedDecisions, Counted, DecidedOtherwise, Reached
from beliefd.protocol.beliefs import BrokenLedger
from beliefd.steward.backtesting.outcomes import Outcome

MOST_GROUPS: Final = 1_000
MOST_NAMES: Final = 1_000
MOST_BROKEN: Final = 1_000
MOST_REASONS: Final = 10
MAX_ARGS: Final = 2_000
"""Bytes of arguments that stand in an example."""
OTHERS: Final = "(others)"
UNDECIDABLE: Final = "undecidable"


class _Group(Struct):
    first: DecidedOtherwise
    count: int = 0


class _Count(Struct):
    decisions: int = 0
    changed: int = 0
    undecidable: int = 0

    def add(self, changed: bool, undecidable: bool) -> None:
        self.decisions += 1
        self.changed += changed
        self.undecidable += undecidable


Key = tuple[str, str | None, str, str, str, str | None]


class Tally:
    """What came out so far. INVARIANT: names come from strangers: what is counted apart is bounded."""

    def __init__(self) -> None:
        self.sessions = self.decisions = self.changed = self.undecidable = self.left_out = 0
        self.erased = 0
        self._groups: dict[Key, _Group] = {}
        self._tools: dict[str, _Count] = {}
        self._principals: dict[str, _Count] = {}
        self._broken: list[BrokenLedger] = []

    def take(
        self, entry: Entry, command: Command, before: Sequence[Outcome], after: Sequence[Outcome]
    ) -> None:
        """The outcomes of one command, as they were and as they would be."""
        for at in range(max(len(before), len(after))):
            was = before[min(at, len(before) - 1)]
            then = after[min(at, len(after) - 1)]
            undecidable = then.verdict == UNDECIDABLE
            changed = not undecidable and then.verdict != was.verdict
            self.decisions += 1
            self.changed += changed
            self.undecidable += undecidable
            tool = then.tool or was.tool
            if tool is not None:
                _count(self._tools, tool).add(changed, undecidable)
            _count(self._principals, entry.actor.id).add(changed, undecidable)
            if changed or undecidable:
                self._group(entry, command, was, then, at)

    def _group(self, entry: Entry, command: Command, was: Outcome, then: Outcome, at: int) -> None:
        verb, tool = verb_of(command), then.tool or was.tool
        named = was.constraint if then.verdict == "allow" else then.constraint
        key = (verb, tool, entry.actor.id, was.verdict, then.verdict, named)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MOST_GROUPS:
                self.left_out += 1
                return
            group = self._groups[key] = _Group(_example(entry, command, was, then, at))
        group.count += 1

    def end(self, session: Session | None) -> None:
        """A session of which all was decided again."""
        self.sessions += 1
        self.erased += 0 if session is None else len(session.erasures.erased)

    def break_off(self, session_id: str, error: LedgerBroken) -> None:
        if len(self._broken) < MOST_BROKEN:
            self._broken.append(
                BrokenLedger(
                    session_id=session_id, seq=error.seq, event_id=error.event_id, reason=error.reason
                )
            )

    def answer(self, policy_hash: str, reached: Reached | None = None) -> Backtest:
        return Backtest(
            policy_hash=policy_hash,
            sessions=self.sessions,
            decisions=self.decisions,
            changed=self.changed,
            undecidable=self.undecidable,
            groups=sorted(
                (_told(key, one) for key, one in self._groups.items()),
                key=lambda one: (one.would_be == UNDECIDABLE, -one.count, one.verb, one.tool or ""),
            ),
            by_tool=_counted(self._tools),
            by_principal=_counted(self._principals),
            broken=self._broken,
            left_out=self.left_out,
            erased=self.erased,
            next=reached,
        )

    def add(self, answer: Backtest) -> None:
        """What another part of the same backtest came to."""
        for name in ("sessions", "decisions", "changed", "undecidable", "left_out", "erased"):
            setattr(self, name, getattr(self, name) + getattr(answer, name))
        for one in answer.groups:
            key = (one.verb, one.tool, one.principal, one.was, one.would_be, one.constraint)
            if key not in self._groups and len(self._groups) >= MOST_GROUPS:
                self.left_out += one.count
                continue
            self._groups.setdefault(key, _Group(one.first)).count += one.count
        for counts, rows in ((self._tools, answer.by_tool), (self._principals, answer.by_principal)):
            for row in rows:
                held = _count(counts, row.name)
                held.decisions += row.decisions
                held.changed += row.changed
                held.undecidable += row.undecidable
        self._broken += answer.broken[: MOST_BROKEN - len(self._broken)]


def _count(counts: dict[str, _Count], name: str) -> _Count:
    found = counts.get(name)
    if found is None:
        name = name if len(counts) < MOST_NAMES else OTHERS
        found = counts.setdefault(name, _Count())
    return found


def _counted(counts: dict[str, _Count]) -> list[Counted]:
    rows = [Counted(name=name, **msgspec.structs.asdict(one)) for name, one in counts.items()]
    return sorted(rows, key=lambda one: (-one.changed, -one.undecidable, one.name))


def _told(key: Key, group: _Group) -> ChangedDecisions:
    verb, tool, principal, was, would_be, constraint = key
    return ChangedDecisions(
        verb=verb,
        tool=tool,
        principal=principal,
        was=was,
        would_be=would_be,
        constraint=constraint,
        count=group.count,
        first=group.first,
    )


def _example(entry: Entry, command: Command, was: Outcome, then: Outcome, at: int) -> DecidedOtherwise:
    return DecidedOtherwise(
        session_id=entry.session_id,
        seq=entry.seq,
        event_id=entry.event_id,
        at=entry.ts,
        reasons=list(then.reasons or was.reasons)[:MOST_REASONS],
        args=_args(command, at),
    )


def _args(command: Command, at: int) -> Object | UnsetType:
    candidate: Any = command.candidates[at] if isinstance(command, Propose) else None
    if not isinstance(candidate, CallCandidate):
        return UNSET
    return candidate.args if len(msgspec.json.encode(candidate.args)) <= MAX_ARGS else UNSET
