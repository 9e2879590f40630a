"""The handler that decides a ledger again without some of its eliminations; nothing is written."""

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import UNSET, Struct

from beliefd.kernel.beliefs.commands import Eliminate, Merge
from beliefd.kernel.beliefs.events import ConclusionRuled
from beliefd.kernel.beliefs.survivors import Survivors
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.kernel.experiments.commands import LinkEvidence
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import shown
from beliefd.ledger.envelope import LedgerBroken, Sealed, read
from beliefd.ledger.left_out import LeftOut
from beliefd.ledger.replay import Redecided, redecide
from beliefd.protocol.beliefs import SURVIVORS_PAGE, rests_on
from beliefd.protocol.ledger import AskCounterfactual, ConclusionBasis, Counterfactual, Without
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.handlers.ledger import policies_of
from beliefd.steward.offload import is_heavy, offload
from beliefd.steward.write.positions import session_not_found
from beliefd.stores.base import Store

KNOWN: Final = 20
"""How many names an error lists; the rest are counted."""


class Word(Struct, frozen=True):
    """That somebody spoke against a hypothesis. What was merged once does not say by whom."""

    hypothesis: str
    source: str
    principal: str | None


class CounterfactualHandlers(Struct, frozen=True):
    """Deciding again without some eliminations."""

    store: Store

    async def counterfactual(self, call: Call) -> Counterfactual:
        """Survivors without what is left out, and what each accepted conclusion rests on.

        Leaving a command out is not undoing its delta: what another source also claimed stays eliminated.
        """
        asked = convert(bind(call.body, call.path), AskCounterfactual)
        sealed = await self.store.entries(call.session_id)
        if not sealed:
            raise session_not_found(call.session_id)
        policies = await policies_of(self.store, sealed)
        return await offload(is_heavy(sealed), _imagine, sealed, policies, asked.without, kind="question")


def _imagine(sealed: list[Sealed], policies: dict[str, Policy], asked: Without) -> Counterfactual:
    entries = [read(entry.record) for entry in sealed]
    factual = list(redecide(entries, policies))
    _refuse_unknown(factual, asked)
    left_out = LeftOut(frozenset(asked.source_ids), frozenset(asked.principals), asked.attested)
    imagined = list(redecide(entries, policies, left_out))
    if not factual or not imagined:
        raise LedgerBroken(1, None, "the ledger is empty")
    now, then = factual[-1].session.beliefs, imagined[-1].session.beliefs
    restored = [name for name in then.survivors if name not in now.survivors]
    return Counterfactual(
        without_source_ids=sorted(left_out.sources),
        without_principals=sorted(left_out.principals),
        without_attested=left_out.attested,
        survivors=then.survivors.page(SURVIVORS_PAGE),
        n_survivors=then.survivors.count,
        restored=restored[:SURVIVORS_PAGE],
        status=then.status,
        rests_on=rests_on(then),
        conclusions=_bases(factual, imagined),
    )


def _refuse_unknown(factual: list[Redecided], asked: Without) -> None:
    """A name that nobody has here is a typing error: as an answer it would look like an acquittal."""
    sources: set[str] = set()
    principals: set[str] = set()
    for step in factual:
        principals.add(step.entry.actor.id)
        if isinstance(step.command, Eliminate):
            sources.add(step.command.source_id)
        elif isinstance(step.command, LinkEvidence):
            sources.add(step.command.run_id)
        elif isinstance(step.command, Merge):
            sources.update(one.source_id for one in step.command.eliminations)
            principals.update(one.actor for one in step.command.eliminations if one.actor is not UNSET)
    _check(asked.source_ids, sources, "source", "source_ids")
    _check(asked.principals, principals, "principal", "principals")


def _check(names: Iterable[str], known: set[str], what: str, member: str) -> None:
    for place, name in enumerate(names):
        if name not in known:
            listed = sorted(known)[:KNOWN]
            told = ", ".join(f"`{shown(one)}`" for one in listed) or "none"
            more = f" and {len(known) - KNOWN} more" if len(known) > KNOWN else ""
            raise BeliefdError(
                Code.INVALID_REQUEST,
                f"no {what} `{shown(name)}` has spoken in this session; known: {told}{more}",
                {"path": f"$.without.{member}[{place}]", "known": listed, "count": len(known)},
            )


def _bases(factual: list[Redecided], imagined: list[Redecided]) -> list[ConclusionBasis]:
    elsewhere = {step.entry.event_id: step for step in imagined}
    spoke: dict[str, list[Word]] = {}
    bases: list[ConclusionBasis] = []
    for step in factual:
        for word in _words(step):
            spoke.setdefault(word.hypothesis, []).append(word)
        if isinstance(step.event, ConclusionRuled) and step.event.accepted:
            bases.append(_basis(step, step.event, elsewhere[step.entry.event_id], spoke))
    return bases


def _basis(
    step: Redecided, event: ConclusionRuled, other: Redecided, spoke: dict[str, list[Word]]
) -> ConclusionBasis:
    accepted = isinstance(other.event, ConclusionRuled) and other.event.accepted
    survivors = step.session.beliefs.survivors
    then, imagined = survivors.count, other.session.beliefs.survivors.count
    return ConclusionBasis(
        conclusion_id=event.conclusion_id,
        event_id=step.entry.event_id,
        accepted_without=accepted,
        n_survivors_then=then,
        n_survivors_without=imagined,
        rests_on_removed=not accepted or imagined != then,
        sole_sources=_alone(survivors, spoke, lambda word: word.source),
        sole_principals=_alone(survivors, spoke, lambda word: word.principal),
        rests_on=rests_on(step.session.beliefs),
    )


def _alone(
    survivors: Survivors, spoke: dict[str, list[Word]], who: Callable[[Word], str | None]
) -> dict[str, list[str]]:
    """Who was alone in eliminating something, and what; without such a one the conclusion stands on less."""
    alone: dict[str, list[str]] = {}
    for name in sorted(spoke):
        speakers = {who(word) for word in spoke[name]}
        fell = survivors.universe.position(name) is not None and name not in survivors
        if len(speakers) == 1 and fell and (only := speakers.pop()) is not None:
            alone.setdefault(only, []).append(name)
    return dict(sorted(alone.items()))


def _words(step: Redecided) -> list[Word]:
    command, actor = step.command, step.entry.actor.id
    if isinstance(step.event, Refused):
        return []
    if isinstance(command, Eliminate):
        return [Word(name, command.source_id, actor) for name in command.eliminated]
    if isinstance(command, Merge):
        return [
            Word(name, one.source_id, one.actor or None)
            for one in command.eliminations
            for name in one.eliminated
        ]
    if isinstance(command, LinkEvidence) and isinstance(step.event, EvidenceLinked):
        return [Word(name, command.run_id, actor) for name in (*step.event.eliminated, *step.event.ignored)]
    return []
