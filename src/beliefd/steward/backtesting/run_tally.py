"""Verdicts on recorded runs, counted."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from beliefd.policy.backtesting.steps import Began, Damaged
from beliefd.steward.backtesting.runs import CallVerdict, Verdict

COUNTED: Final[Mapping[Verdict, str]] = {
    "allow": "allowed",
    "ask": "asked",
    "deny": "denied",
    "undecidable": "undecidable",
}
MOST_DAMAGED: Final = 20
MOST_NAMES: Final = 1_000
OTHERS: Final = "(others)"


class Tally(Struct, kw_only=True):
    """Runs of one kind, counted: a run is unattended if all of its calls were allowed."""

    kind: str
    runs: int = 0
    unattended: int = 0
    calls: int = 0
    allowed: int = 0
    asked: int = 0
    denied: int = 0
    undecidable: int = 0
    rules: dict[str, int] = {}
    unknown: dict[str, int] = {}
    tools: dict[str, dict[str, int]] = {}


class Tallies:
    """Verdicts counted by the kind of their runs, and what could not be read."""

    def __init__(self) -> None:
        self.by_kind: dict[str, Tally] = {}
        self.damaged: list[Damaged] = []
        self.n_damaged = 0
        self._now: Tally | None = None
        self._stopped = False

    def take(self, item: Began | CallVerdict | Damaged) -> None:
        if isinstance(item, Damaged):
            self.n_damaged += 1
            self.damaged += [item] if len(self.damaged) < MOST_DAMAGED else []
        elif isinstance(item, Began):
            self.end()
            self._now = self.by_kind.setdefault(item.kind, Tally(kind=item.kind))
            self._now.runs += 1
            self._stopped = False
        elif self._now is not None:
            self._stopped = self._stopped or item.verdict != "allow"
            _count(self._now, item)

    def end(self) -> None:
        """The last run is over."""
        if self._now is not None:
            self._now.unattended += not self._stopped
            self._now = None

    @property
    def calls(self) -> int:
        return sum(one.calls for one in self.by_kind.values())


def _count(tally: Tally, one: CallVerdict) -> None:
    tally.calls += 1
    name = COUNTED[one.verdict]
    setattr(tally, name, getattr(tally, name) + 1)
    _add(tally.tools.setdefault(one.tool if len(tally.tools) < MOST_NAMES else OTHERS, {}), one.verdict)
    if one.verdict == "undecidable":
        _add(tally.unknown, one.reasons[0].text)
    elif one.verdict != "allow":
        _add(tally.rules, one.reasons[0].constraint or one.reasons[0].code)


def _add(counts: dict[str, int], name: str) -> None:
    """INVARIANT: names are strangers' texts: what is counted apart is bounded."""
    name = name if name in counts or len(counts) < MOST_NAMES else OTHERS
    counts[name] = counts.get(name, 0) + 1
