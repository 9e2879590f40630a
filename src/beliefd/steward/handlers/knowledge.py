"""Handlers of the proposition operations: they read the graph as far as ledgers say the same, and the ledgers
for the way to a status."""

from collections.abc import Sequence
from itertools import islice
from typing import Final, TypeVar

from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.state import Evidence
from beliefd.kernel.intents.state import EpistemicStatus, Intent, Proposition
from beliefd.kernel.intents.warrant import warrant_of
from beliefd.kernel.speculation.state import SpeculativeHypothesis
from beliefd.kernel.transfers.state import Foreign
from beliefd.knowledge import schema as say
from beliefd.knowledge.combining import combined, may_combine_to
from beliefd.knowledge.provenance import NEEDLES, Said, Telling
from beliefd.ledger.envelope import Entry, Sealed, read
from beliefd.protocol.beliefs import ArchivedSession, BrokenLedger
from beliefd.protocol.knowledge import (
    EvidenceEntry,
    Holding,
    IdeaEntry,
    IntentEntry,
    PropositionPage,
    PropositionRow,
    PropositionView,
    PropositionWhy,
    TruthAssertion,
    WhyStep,
)
from beliefd.steward.call import Call
from beliefd.steward.graph import Doubts, Graph
from beliefd.steward.handlers.shared import archived_view, cut, filling, view_of
from beliefd.steward.offload import in_pool
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.projections.graph import speaks
from beliefd.stores.base import Store
from beliefd.stores.within import Within
from beliefd.wanted import check_wanted, tell_read

MOST: Final = 1_000
"""So many pieces of each kind an answer holds."""
MAX_NAMED: Final = 10
T = TypeVar("T")
_Held = list[tuple[str, T]]
"""Artifacts, each with the session that it is in."""


class KnowledgeHandlers(Struct, frozen=True):
    """What all sessions together say of a proposition: all that the caller may see."""

    store: Store
    graph: Graph
    in_force: PolicyInForce

    async def list_propositions(self, call: Call) -> PropositionPage:
        cursor, limit, status = call.query["cursor"], call.query["limit"], call.query["status"]
        within, doubts = call.asked_spaces, Doubts()
        wanted = () if status is None else may_combine_to(status)
        shown: list[PropositionRow] = []
        # What one session says only hints at what all of them say together, so a page may take several looks.
        while len(shown) <= limit:
            ids = await self.store.node_ids(say.PROPOSITION, wanted, cursor, limit + 1, within)
            if not ids:
                break
            rows = await self._propositions(ids, within, doubts)
            shown += [row for row in rows if status in (None, row.status)]
            cursor = ids[-1]
            if len(ids) <= limit:
                break
        page, after = cut(shown, limit, lambda row: row.claim_id)
        page, after = filling(page, [row.claim_id for row in page], after)
        return PropositionPage(
            propositions=page, next=after, broken=_broken(doubts), archived=_archived(doubts)
        )

    async def show_proposition(self, call: Call) -> PropositionView:
        claim_id = call.path["claim_id"]
        doubts = Doubts()
        held = await self._held(claim_id, call.readable, doubts)
        evidence, intents, ideas = await self._around(claim_id, call.readable, doubts)
        revisions = {session_id: one.revision for session_id, one in held}
        entries = [_evidence_entry(session_id, one, revisions) for session_id, one in evidence]
        counting = [one for session_id, one in evidence if revisions.get(session_id) == one.revision]
        found = warrant_of(counting, self.in_force.policy.firewall)
        return PropositionView(
            claim_id=claim_id,
            statement=_latest(held).statement,
            status=_status(held),
            truth_assertion=TruthAssertion(
                warrants=found.status,
                why=found.why,
                supporting=list(found.supporting),
                refuting=list(found.refuting),
            ),
            sessions=[_holding(session_id, one) for session_id, one in held[:MOST]],
            evidence=entries[:MOST],
            intents=[_intent_entry(session_id, one) for session_id, one in intents[:MOST]],
            speculative_hypotheses=[_idea_entry(session_id, one) for session_id, one in ideas[:MOST]],
            truncated=max(len(held), len(evidence), len(intents), len(ideas)) > MOST,
            foreign=_foreign(doubts),
            broken=_broken(doubts),
            archived=_archived(doubts),
        )

    async def why_proposition(self, call: Call) -> PropositionWhy:
        claim_id = call.path["claim_id"]
        doubts = Doubts()
        held = await self._held(claim_id, call.readable, doubts)
        steps, read_so_far = Steps(call.query["cursor"]), 0
        # The way to a status is told by the ledger itself: the graph only says in which sessions to look.
        for session_id, _ in held:
            if session_id in doubts.archived:
                continue
            telling = Telling(claim_id)
            async for chunk in self.store.stream(session_id):
                await in_pool("question", steps.take, chunk, telling)
                tell_read(read_so_far := read_so_far + len(chunk))
        return PropositionWhy(
            claim_id=claim_id,
            status=_status(held),
            steps=steps.page,
            next=steps.next,
            foreign=_foreign(doubts),
            broken=_broken(doubts),
            archived=_archived(doubts),
        )

    async def _propositions(self, ids: Sequence[str], within: Within, doubts: Doubts) -> list[PropositionRow]:
        by_claim: dict[str, _Held[Proposition]] = {name: [] for name in ids}
        for session_id, one in await self.graph.believed(say.PROPOSITION, ids, within, doubts):
            if one.claim_id in by_claim:
                by_claim[one.claim_id].append((session_id, one))
        return [
            PropositionRow(
                claim_id=name,
                statement=_latest(held).statement,
                status=_status(held),
                sessions=len(held),
                foreign=sum(session_id in doubts.foreign for session_id, _ in held),
                changed_at=_latest(held).changed_at,
            )
            for name, held in by_claim.items()
            if held
        ]

    async def _held(self, claim_id: str, within: Within, doubts: Doubts) -> _Held[Proposition]:
        held: _Held[Proposition] = await self.graph.believed(say.PROPOSITION, [claim_id], within, doubts)
        if not held:
            text, details = f"no session holds a proposition `{claim_id[:64]}`", {"path": "claim_id"}
            if doubts.broken:
                text += f"; what names it is not believed, in {len(doubts.broken)} sessions"
                details |= {"broken": ", ".join(sorted(doubts.broken)[:MAX_NAMED])}
            raise BeliefdError(Code.PROPOSITION_NOT_FOUND, text, details)
        return held

    async def _around(
        self, claim_id: str, within: Within, doubts: Doubts
    ) -> tuple[_Held[Evidence], _Held[Intent], _Held[SpeculativeHypothesis]]:
        # INVARIANT: evidence is what plays that role in the graph; nothing else is shown as such.
        links = await self.store.links(say.EVIDENCE_FOR_PROPOSITION, claim_id)
        linked = {(link.session_id, link.first_kind, link.first_id) for link in links}
        pieces: _Held[Evidence] = []
        for kind in say.EVIDENCE_KINDS:
            for session_id, piece in await self.graph.believed(kind, [claim_id], within, doubts):
                if (session_id, kind, piece.evidence_id) in linked and speaks(piece):
                    pieces.append((session_id, piece))
        pieces.sort(key=lambda piece: (piece[1].linked_at or "", piece[1].evidence_id))
        intents: _Held[Intent] = await self.graph.believed(say.INTENT, [claim_id], within, doubts, MOST + 1)
        ideas: _Held[SpeculativeHypothesis] = await self.graph.believed(
            say.SPECULATIVE_HYPOTHESIS, [claim_id], within, doubts, MOST + 1
        )
        return pieces, intents, ideas


class Steps:
    """One page of the steps of several sessions, in the order of their times.

    INVARIANT: what is held is a page and what one chunk adds to it. What is cut off comes after a full page.
    """

    def __init__(self, cursor: str | None) -> None:
        self._after = None if cursor is None else _step_place(*cursor.rsplit(",", 2))
        self.page: list[WhyStep] = []
        self.next: str | None = None

    def take(self, chunk: list[Sealed], telling: Telling) -> None:
        for sealed in chunk:
            check_wanted()
            # Most entries are of other kinds: looking for bytes is far cheaper than decoding.
            if not any(needle in sealed.record for needle in NEEDLES):
                continue
            entry = read(sealed.record)
            said = telling.take(entry.delta)
            place = (entry.ts, entry.session_id, entry.seq)
            if said is not None and (self._after is None or place > self._after):
                self.page.append(_step(entry, said))
        self.page.sort(key=lambda step: (step.ts, step.session_id, step.seq))
        names = [f"{step.ts},{step.session_id},{step.seq}" for step in self.page]
        # A page that was full once stays full: what comes later only takes places on it.
        self.page, self.next = filling(self.page, names, self.next and names[-1])


def _step_place(ts: str, session_id: str, seq: str) -> tuple[str, str, int]:
    return ts, session_id, int(seq)


def _step(entry: Entry, said: Said) -> WhyStep:
    return view_of(
        WhyStep,
        entry,
        actor=entry.actor.id,
        event=str(entry.delta.__struct_config__.tag),
        said=said.text,
        about=said.about,
        status=said.status,
    )


def _broken(doubts: Doubts) -> list[BrokenLedger]:
    named = islice(doubts.broken.items(), MOST)
    return [view_of(BrokenLedger, error, session_id=name) for name, error in named]


def _archived(doubts: Doubts) -> list[ArchivedSession]:
    return [archived_view(stub) for stub in islice(doubts.archived.values(), MOST)]


def _foreign(doubts: Doubts) -> dict[str, Foreign]:
    return dict(islice(doubts.foreign.items(), MOST))


def _status(held: _Held[Proposition]) -> EpistemicStatus:
    return combined("quarantined" if one.quarantined else one.status for _, one in held)


def _latest(held: _Held[Proposition]) -> Proposition:
    return max(held, key=lambda one: (one[1].changed_at, one[0]))[1]


def _holding(session_id: str, one: Proposition) -> Holding:
    return view_of(Holding, one, session_id=session_id, evidence_ids=list(one.evidence_ids))


def _evidence_entry(session_id: str, one: Evidence, revisions: dict[str, int]) -> EvidenceEntry:
    return view_of(
        EvidenceEntry,
        one,
        session_id=session_id,
        run_id=one.execution_id,
        counts=revisions.get(session_id) == one.revision,
    )


def _intent_entry(session_id: str, one: Intent) -> IntentEntry:
    return view_of(
        IntentEntry,
        one,
        session_id=session_id,
        type=one.change.type,
        to_status=one.change.to_status,
        evidence_ids=list(one.change.evidence_ids),
        proposed_by=one.proposer.id,
        history=list(one.history),
    )


def _idea_entry(session_id: str, one: SpeculativeHypothesis) -> IdeaEntry:
    return view_of(IdeaEntry, one, session_id=session_id)
