"""What a session rested on when it last accepted each conclusion: a fold of its own, beside the state.

INVARIANT: it follows from the events alone, so older ledgers tell it too, and no state hash knows of it.
"""

from msgspec import Struct

from beliefd.kernel.beliefs.events import ConclusionRuled, Eliminated, Merged
from beliefd.kernel.beliefs.folds import witnessed_in
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.experiments.folds import witnessed_by
from beliefd.kernel.transfers.events import LedgerReceived

Counts = tuple[int, int]
"""How many hypotheses fell by a witnessed elimination, and how many by one that is only attested."""


class Resting(Struct):
    """As of some event: the counts of the session, and those of each conclusion when it was accepted last."""

    witnessed: int = 0
    attested: int = 0
    by_name: dict[str, Counts] = {}

    def take(self, event: Event) -> None:
        if isinstance(event, ConclusionRuled):
            if event.accepted:
                self.by_name[event.conclusion_id] = (self.witnessed, self.attested)
        elif isinstance(event, LedgerReceived):
            self.unsee()
        elif isinstance(event, Eliminated | Merged | EvidenceLinked):
            seen = witnessed_by(event) if isinstance(event, EvidenceLinked) else witnessed_in(event)
            self.witnessed += seen
            self.attested += len(event.eliminated) - seen

    def unsee(self) -> None:
        """What was said elsewhere nobody has seen here."""
        self.by_name = {name: (0, sum(counts)) for name, counts in self.by_name.items()}
        self.witnessed, self.attested = 0, self.witnessed + self.attested
