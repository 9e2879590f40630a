"""What may be imagined: anything."""

from typing import Final

from beliefd.kernel.facts import Facts
from beliefd.kernel.speculation.commands import Speculate
from beliefd.kernel.speculation.events import Speculated
from beliefd.kernel.speculation.state import HYPOTHESIS_PREFIX, SpeculativeHypothesis
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules


def speculate(session: Session, command: Speculate, facts: Facts) -> Speculated:
    """Anything may be imagined. The link to a proposition is tried, and where there is none it just fails."""
    first: int = session.speculation.ideas_per_claim.get(command.claim_id, 0)
    known = command.claim_id in session.intents.propositions
    hypotheses = tuple(
        SpeculativeHypothesis(
            hypothesis_id=f"{HYPOTHESIS_PREFIX}{session.session_id}-{command.claim_id}-{index}",
            claim_id=command.claim_id,
            alternative=alternative,
            proposed_by=facts.principal.id,
            proposed_at=facts.now,
            targets_proposition=known,
        )
        for index, alternative in enumerate(command.hypotheses, first)
    )
    created = len(hypotheses) if known else 0
    return Speculated(hypotheses=hypotheses, links_attempted=len(hypotheses), links_created=created)


RULES: Final[Rules] = {Speculate: speculate}
