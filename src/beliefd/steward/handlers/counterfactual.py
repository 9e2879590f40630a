"""The handler that decides a ledger again without some of its eliminations; nothing is written."""

from collections.abc import Callable, Iterable, Mapping
from heapq import nsmallest
from typing import Final

from msgspec import Struct

from beliefd.kernel.beliefs.commands import Eliminate, Merge
from beliefd.kernel.beliefs.events import ConclusionRuled
from beliefd.kernel.beliefs.survivors import Survivors
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.kernel.experiments.commands import LinkEvidence
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.policy import Policy
from beliefd.ledger.envelope import Sealed, read
from beliefd.ledger.left_out import LeftOut
from beliefd.ledger.replay import Redecided, Redeciding
from beliefd.protocol.beliefs import SURVIVORS_PAGE
from beliefd.protocol.ledger import (
    CONCLUSIONS_PAGE,
    SOLE_NAMES,
    SOLE_SPEAKERS,
    AskCounterfactual,
    ConclusionBasis,
    Counterfactual,
)
from beliefd.protocol.snapshots import rests_on
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.handlers.ledger import DecidedUnder
from beliefd.steward.handlers.shared import Room
from beliefd.steward.handlers.speakers import Speakers
from beliefd.steward.offload import in_pool
from beliefd.steward.write.positions import existing_head, session_not_found
from beliefd.stores.base import Store
from beliefd.wanted import check_wanted, tell_read

SEVERAL: Final = object()


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
        head = await existing_head(self.store, call.session_id)
        under = DecidedUnder(self.store)
        imagining = Imagining(under.policies, asked)
        async for chunk in self.store.stream(call.session_id):
            if chunk[0].seq > head.seq:
                break  # it has grown since: somebody who writes without end does not hold this up
            await under.take(chunk)
            # A chunk of few bytes may hold conclusions over many hypotheses: its size says nothing.
            await in_pool("question", imagining.take, chunk)
        return await in_pool("question", imagining.answer, call.session_id)


class Imagining:
    """A ledger decided again twice, side by side: as it was, and without what is left out.

    INVARIANT: what is held grows with the hypotheses, not with the ledger; conclusions fill one page.
    """

    def __init__(self, policies: Mapping[str, Policy], asked: AskCounterfactual) -> None:
        self._asked = without = asked.without
        self._left_out = LeftOut(
            frozenset(without.source_ids), frozenset(without.principals), without.attested
        )
        self._factual = Redeciding(policies)
        self._imagined = Redeciding(policies, self._left_out)
        self._speakers = Speakers()
        self._alone = (Alone(lambda word: word.source), Alone(lambda word: word.principal))
        self._conclusions = Conclusions(asked.conclusions_after)

    def take(self, chunk: list[Sealed]) -> None:
        for sealed in chunk:
            check_wanted()
            entry = read(sealed.record)
            step, other = self._factual.take(entry), self._imagined.take(entry)
            assert step is not None  # noqa: S101 - nothing is left out of what was
            self._speakers.meet(step.entry.actor.id, step.command)
            for word in _words(step):
                fell = _has_fallen(word.hypothesis, step.session.beliefs.survivors)
                for alone in self._alone:
                    alone.hear(word, fell)
            if isinstance(step.event, ConclusionRuled) and step.event.accepted:
                assert other is not None  # noqa: S101 - only eliminations are left out
                if self._conclusions.wants(step.entry.event_id):
                    self._conclusions.add(_basis(step, step.event, other, *self._alone))
            tell_read(sealed.seq)

    def answer(self, session_id: str) -> Counterfactual:
        if self._factual.session is None or self._imagined.session is None:
            raise session_not_found(session_id)
        self._speakers.check_sources(_placed("source_ids", self._asked.source_ids))
        self._speakers.check_principals(_placed("principals", self._asked.principals))
        conclusions = self._conclusions
        if not conclusions.begun:
            text = "no conclusion was accepted by this event"
            raise BeliefdError(Code.INVALID_REQUEST, text, {"path": "$.conclusions_after"})
        now, then = self._factual.session.beliefs, self._imagined.session.beliefs
        restored, n_restored = then.survivors.not_in(now.survivors, SURVIVORS_PAGE)
        return Counterfactual(
            without_source_ids=sorted(self._left_out.sources),
            without_principals=sorted(self._left_out.principals),
            without_attested=self._left_out.attested,
            survivors=then.survivors.page(SURVIVORS_PAGE),
            n_survivors=then.survivors.count,
            restored=restored,
            n_restored=n_restored,
            status=then.status,
            rests_on=rests_on(then),
            conclusions=conclusions.page,
            n_conclusions=conclusions.count,
            conclusions_next=conclusions.next,
        )


class Conclusions:
    """One page of accepted conclusions, bounded in number and in bytes; the others are only counted."""

    def __init__(self, after: str | None) -> None:
        self._after = after
        self._room = Room()
        self._full = False
        self.begun = after is None
        self.count = 0
        self.page: list[ConclusionBasis] = []
        self.next: str | None = None

    def wants(self, event_id: str) -> bool:
        """Count a conclusion; does it belong on the page?"""
        self.count += 1
        if not self.begun:
            self.begun = event_id == self._after
            return False
        if self._full and self.next is None:
            self.next = self.page[-1].event_id
        return not self._full

    def add(self, basis: ConclusionBasis) -> None:
        self.page.append(basis)
        self._full = self._room.is_filled_by(basis) or len(self.page) == CONCLUSIONS_PAGE


def _placed(member: str, names: Iterable[str]) -> Iterable[tuple[str, str]]:
    return ((f"$.without.{member}[{place}]", name) for place, name in enumerate(names))


class Alone:
    """By hypothesis, the only one who spoke against it, `SEVERAL` if there is another; and by speaker, what
    fell by that word alone. It is kept up word by word: a conclusion does not look at every hypothesis."""

    def __init__(self, who: Callable[[Word], str | None]) -> None:
        self._who = who
        self._only: dict[str, object] = {}
        self._fallen: dict[str, set[str]] = {}

    def hear(self, word: Word, fell: bool) -> None:
        speaker, name = self._who(word), word.hypothesis
        only = self._only.setdefault(name, speaker)
        if only != speaker:
            self._only[name] = SEVERAL
            if isinstance(only, str):
                self._forget(only, name)
        elif isinstance(speaker, str) and fell:
            self._fallen.setdefault(speaker, set()).add(name)

    def _forget(self, speaker: str, name: str) -> None:
        names = self._fallen.get(speaker, set())
        names.discard(name)
        if not names:
            self._fallen.pop(speaker, None)

    def told(self) -> "Sole":
        """Who was alone in eliminating something, and what; without such a one less had fallen."""
        first = nsmallest(SOLE_SPEAKERS, self._fallen)
        return Sole(
            names={one: nsmallest(SOLE_NAMES, self._fallen[one]) for one in first},
            counts={one: len(self._fallen[one]) for one in first},
            speakers=len(self._fallen),
        )


class Sole(Struct, frozen=True):
    """The first of those who were alone, with the first names that each was alone on, and all numbers."""

    names: dict[str, list[str]]
    counts: dict[str, int]
    speakers: int


def _has_fallen(hypothesis: str, survivors: Survivors) -> bool:
    return survivors.universe.position(hypothesis) is not None and hypothesis not in survivors


def _basis(
    step: Redecided, event: ConclusionRuled, other: Redecided, sources: Alone, principals: Alone
) -> ConclusionBasis:
    accepted = isinstance(other.event, ConclusionRuled) and other.event.accepted
    by_source, by_principal = sources.told(), principals.told()
    then, imagined = step.session.beliefs.survivors.count, other.session.beliefs.survivors.count
    return ConclusionBasis(
        conclusion_id=event.conclusion_id,
        event_id=step.entry.event_id,
        accepted_without=accepted,
        n_survivors_then=then,
        n_survivors_without=imagined,
        rests_on_removed=not accepted or imagined != then,
        sole_sources=by_source.names,
        sole_source_counts=by_source.counts,
        n_sole_sources=by_source.speakers,
        sole_principals=by_principal.names,
        sole_principal_counts=by_principal.counts,
        n_sole_principals=by_principal.speakers,
        rests_on=rests_on(step.session.beliefs),
    )


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
