"""The handler that decides a ledger again without some of its eliminations; nothing is written."""

from collections.abc import Callable, Iterable, Mapping
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
from beliefd.ledger.envelope import Sealed, read
from beliefd.ledger.left_out import LeftOut
from beliefd.ledger.replay import Redecided, Redeciding
from beliefd.protocol.beliefs import SURVIVORS_PAGE, rests_on
from beliefd.protocol.ledger import AskCounterfactual, ConclusionBasis, Counterfactual, Without
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.handlers.ledger import DecidedUnder
from beliefd.steward.offload import is_heavy, offload
from beliefd.steward.write.positions import existing_head, session_not_found
from beliefd.stores.base import Store

KNOWN: Final = 20
"""How many names an error lists; the rest are counted."""
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
        imagining = Imagining(under.policies, asked.without)
        async for chunk in self.store.stream(call.session_id):
            if chunk[0].seq > head.seq:
                break  # it has grown since: somebody who writes without end does not hold this up
            await under.take(chunk)
            await offload(is_heavy(chunk), imagining.take, chunk, kind="question")
        return imagining.answer(call.session_id)


class Imagining:
    """A ledger decided again twice, side by side: as it was, and without what is left out.

    INVARIANT: what is held grows with the hypotheses and conclusions, not with the ledger.
    """

    def __init__(self, policies: Mapping[str, Policy], asked: Without) -> None:
        self._asked = asked
        self._left_out = LeftOut(frozenset(asked.source_ids), frozenset(asked.principals), asked.attested)
        self._factual = Redeciding(policies)
        self._imagined = Redeciding(policies, self._left_out)
        self._sources: set[str] = set()
        self._principals: set[str] = set()
        self._alone = (Alone(lambda word: word.source), Alone(lambda word: word.principal))
        self._conclusions: list[ConclusionBasis] = []

    def take(self, chunk: list[Sealed]) -> None:
        for sealed in chunk:
            entry = read(sealed.record)
            step, other = self._factual.take(entry), self._imagined.take(entry)
            assert step is not None  # noqa: S101 - nothing is left out of what was
            self._meet(step)
            for word in _words(step):
                for alone in self._alone:
                    alone.hear(word)
            if isinstance(step.event, ConclusionRuled) and step.event.accepted:
                assert other is not None  # noqa: S101 - only eliminations are left out
                self._conclusions.append(_basis(step, step.event, other, *self._alone))

    def _meet(self, step: Redecided) -> None:
        self._principals.add(step.entry.actor.id)
        command = step.command
        if isinstance(command, Eliminate):
            self._sources.add(command.source_id)
        elif isinstance(command, LinkEvidence):
            self._sources.add(command.run_id)
        elif isinstance(command, Merge):
            self._sources.update(one.source_id for one in command.eliminations)
            self._principals.update(one.actor for one in command.eliminations if one.actor is not UNSET)

    def answer(self, session_id: str) -> Counterfactual:
        if self._factual.session is None or self._imagined.session is None:
            raise session_not_found(session_id)
        # A name that nobody has here is a typing error: as an answer it would look like an acquittal.
        _check(self._asked.source_ids, self._sources, "source", "source_ids")
        _check(self._asked.principals, self._principals, "principal", "principals")
        now, then = self._factual.session.beliefs, self._imagined.session.beliefs
        restored = [name for name in then.survivors if name not in now.survivors]
        return Counterfactual(
            without_source_ids=sorted(self._left_out.sources),
            without_principals=sorted(self._left_out.principals),
            without_attested=self._left_out.attested,
            survivors=then.survivors.page(SURVIVORS_PAGE),
            n_survivors=then.survivors.count,
            restored=restored[:SURVIVORS_PAGE],
            status=then.status,
            rests_on=rests_on(then),
            conclusions=self._conclusions,
        )


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


class Alone:
    """By hypothesis, the only one who spoke against it; `SEVERAL` if there is another."""

    def __init__(self, who: Callable[[Word], str | None]) -> None:
        self._who = who
        self._only: dict[str, object] = {}

    def hear(self, word: Word) -> None:
        speaker = self._who(word)
        if self._only.setdefault(word.hypothesis, speaker) != speaker:
            self._only[word.hypothesis] = SEVERAL

    def among(self, survivors: Survivors) -> dict[str, list[str]]:
        """Who was alone in eliminating something, and what; without such a one less had fallen."""
        alone: dict[str, list[str]] = {}
        for name in sorted(self._only):
            fell = survivors.universe.position(name) is not None and name not in survivors
            if isinstance(only := self._only[name], str) and fell:
                alone.setdefault(only, []).append(name)
        return dict(sorted(alone.items()))


def _basis(
    step: Redecided, event: ConclusionRuled, other: Redecided, sources: Alone, principals: Alone
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
        sole_sources=sources.among(survivors),
        sole_principals=principals.among(survivors),
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
