"""Whose eliminations are imagined away when a ledger is decided again: the counterfactual ledger."""

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.beliefs.commands import Eliminate, Merge, ReplicaElimination
from beliefd.kernel.beliefs.events import Eliminated
from beliefd.kernel.commands import Command
from beliefd.kernel.events import Event
from beliefd.kernel.experiments.commands import LinkEvidence
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.labels import WITNESSED
from beliefd.kernel.state import Session


class LeftOut(Struct, frozen=True):
    """Eliminations of these sources, by these principals, and, if so asked, all that are attested.

    What falls by evidence is of the run as its source, and of who designed and who linked it.
    """

    sources: frozenset[str] = frozenset()
    principals: frozenset[str] = frozenset()
    attested: bool = False

    def kept(self, command: Command, actor: str, session: Session) -> Command | None:
        """The command without what is left out of it; None if nothing of it is left."""
        if isinstance(command, Eliminate):
            return None if command.source_id in self.sources or actor in self.principals else command
        if isinstance(command, Merge):
            return replace(command, eliminations=tuple(filter(self._keeps, command.eliminations)))
        if isinstance(command, LinkEvidence):
            by = {actor, designer_of(session, command.run_id)}
            return None if command.run_id in self.sources or by & self.principals else command
        return command

    def _keeps(self, one: ReplicaElimination) -> bool:
        by_name = one.source_id in self.sources or (one.actor is not UNSET and one.actor in self.principals)
        return not by_name and not (self.attested and one.label != WITNESSED)

    def drops(self, event: Event) -> bool:
        """Is it an attested elimination, and are those left out? What label it has is known once decided."""
        if not self.attested:
            return False
        if isinstance(event, Eliminated):
            return event.label != WITNESSED
        return isinstance(event, EvidenceLinked) and bool(event.eliminated) and not event.evidence.witnessed


def designer_of(session: Session, run_id: str) -> str | None:
    run = session.experiments.runs.get(run_id)
    return None if run is None else str(session.experiments.by_id[run.experiment_id].designed_by)
