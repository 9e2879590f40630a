"""What is known of a session's hypotheses, obligations and conclusions."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.beliefs.survivors import Survivors
from beliefd.kernel.parts import InOrder, Part

Status = Literal["open", "singleton", "exhausted", "terminated"]


class Obligation(Struct, frozen=True):
    """A promise of eliminations. `entered_at` is the session's elimination count when it was made."""

    min_total_eliminations: int
    entered_at: int
    active: bool = True


class Beliefs(Part, frozen=True):
    """The beliefs of a session. Obligations stand in the order in which they were entered.

    `witnessed` is how many of the `eliminations` were witnessed; the others are attested.
    """

    survivors: Survivors
    eliminations: int = 0
    witnessed: int = 0
    obligations: InOrder[Obligation] = {}
    conclusions: dict[str, int] = {}
    last_conclusion: str | None = None
    conclusion_streak: int = 0
    terminated: bool = False

    @property
    def status(self) -> Status:
        if self.terminated:
            return "terminated"
        if self.survivors.count == 0:
            return "exhausted"
        return "singleton" if self.survivors.count == 1 else "open"

    @property
    def active_obligation_id(self) -> str | None:
        """The latest entered obligation that is still active."""
        if not self.obligations:
            return None
        return next((oid for oid in reversed(self.obligations) if self.obligations[oid].active), None)

    def without(self, gone: Sequence[str], witnessed: int = 0) -> "Beliefs":
        """The same after an elimination; so many of those that are gone fell by a witnessed one."""
        if not gone:
            return self
        return replace(
            self,
            survivors=self.survivors.without(gone),
            eliminations=self.eliminations + len(gone),
            witnessed=self.witnessed + witnessed,
        )
