"""What if some sources had never spoken? Their commands are left out and all others decided again."""

from beliefd.kernel.beliefs.commands import Eliminate, Merge
from beliefd.kernel.beliefs.events import ConclusionRuled
from beliefd.kernel.event import Refused
from beliefd.kernel.experiments.commands import LinkEvidence
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.ledger.envelope import LedgerBroken, Sealed, read
from beliefd.ledger.replay import Redecided, redecide
from beliefd.protocol.beliefs import SURVIVORS_PAGE
from beliefd.protocol.ledger import ConclusionBasis, Counterfactual
from beliefd.steward.handle import Steward
from beliefd.steward.offload import is_heavy, offload
from beliefd.steward.queries import all_entries, policies_of


async def counterfactual(steward: Steward, session_id: str, source_ids: list[str]) -> Counterfactual:
    """Survivors without the sources, and what each accepted conclusion rests on.

    Leaving a command out is not undoing its delta: what another source also claimed stays eliminated.
    """
    sealed = await all_entries(steward, session_id)
    policies = await policies_of(steward, sealed)
    return await offload(is_heavy(sealed), _imagine, sealed, policies, frozenset(source_ids))


def _imagine(sealed: list[Sealed], policies: dict[str, Policy], removed: frozenset[str]) -> Counterfactual:
    entries = [read(entry.record) for entry in sealed]
    factual = list(redecide(entries, policies))
    imagined = list(redecide(entries, policies, removed))
    if not factual or not imagined:
        raise LedgerBroken(1, None, "the ledger is empty")
    now, then = factual[-1].session, imagined[-1].session
    restored = [name for name in then.survivors if name not in now.survivors]
    return Counterfactual(
        without_source_ids=sorted(removed),
        survivors=then.survivors.page(SURVIVORS_PAGE),
        n_survivors=then.survivors.count,
        restored=restored[:SURVIVORS_PAGE],
        status=then.status,
        conclusions=_bases(factual, imagined),
    )


def _bases(factual: list[Redecided], imagined: list[Redecided]) -> list[ConclusionBasis]:
    elsewhere = {step.entry.event_id: step for step in imagined}
    spoke: dict[str, set[str]] = {}
    bases: list[ConclusionBasis] = []
    for step in factual:
        for source, name in _claims(step):
            spoke.setdefault(name, set()).add(source)
        if isinstance(step.event, ConclusionRuled) and step.event.accepted:
            bases.append(_basis(step, step.event, elsewhere[step.entry.event_id], spoke))
    return bases


def _basis(
    step: Redecided, event: ConclusionRuled, other: Redecided, spoke: dict[str, set[str]]
) -> ConclusionBasis:
    accepted = isinstance(other.event, ConclusionRuled) and other.event.accepted
    then, imagined = step.session.beliefs.survivors.count, other.session.beliefs.survivors.count
    return ConclusionBasis(
        conclusion_id=event.conclusion_id,
        event_id=step.entry.event_id,
        accepted_without=accepted,
        n_survivors_then=then,
        n_survivors_without=imagined,
        rests_on_removed=not accepted or imagined != then,
        sole_sources=_sole_sources(step.session, spoke),
    )


def _sole_sources(session: Session, spoke: dict[str, set[str]]) -> dict[str, list[str]]:
    """Sources that were alone in eliminating something; without such a one the conclusion stands on less."""
    alone: dict[str, list[str]] = {}
    for name in sorted(spoke):
        if len(spoke[name]) == 1 and _eliminated(session, name):
            alone.setdefault(next(iter(spoke[name])), []).append(name)
    return dict(sorted(alone.items()))


def _claims(step: Redecided) -> list[tuple[str, str]]:
    command = step.command
    if isinstance(step.event, Refused):
        return []
    if isinstance(command, Eliminate):
        return [(command.source_id, name) for name in command.eliminated]
    if isinstance(command, Merge):
        return [(item.source_id, name) for item in command.eliminations for name in item.eliminated]
    if isinstance(command, LinkEvidence) and isinstance(step.event, EvidenceLinked):
        return [(command.run_id, name) for name in (*step.event.eliminated, *step.event.ignored)]
    return []


def _eliminated(session: Session, name: str) -> bool:
    return (
        session.beliefs.survivors.universe.position(name) is not None
        and name not in session.beliefs.survivors
    )
