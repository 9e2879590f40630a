"""Handlers of questions about ledgers, and their live feed. None of them writes."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial

import msgspec
from msgspec import Raw, Struct

from beliefd.kernel.beliefs.commands import Eliminate, Merge
from beliefd.kernel.beliefs.events import ConclusionRuled
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.event import Refused
from beliefd.kernel.experiments.commands import LinkEvidence
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.experiments.state import Evidence
from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.state import Session
from beliefd.ledger.envelope import Entry, LedgerBroken, Sealed, command_of, read
from beliefd.ledger.replay import Redecided, redecide
from beliefd.ledger.verify import Verification, verify
from beliefd.protocol.beliefs import SURVIVORS_PAGE
from beliefd.protocol.ledger import (
    AskCounterfactual,
    ConclusionBasis,
    Counterfactual,
    FirstBad,
    Testimony,
    Verified,
    Why,
)
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.feeds import Feeds
from beliefd.steward.handlers.shared import cut, view_of
from beliefd.steward.offload import is_heavy, offload
from beliefd.steward.write.positions import Positions, existing_head, session_not_found
from beliefd.stores.base import Store


class RawAuditPage(Struct, frozen=True):
    """An audit page whose entries are the stored bytes, untouched."""

    events: list[Raw]
    next: str | None


class LedgerHandlers(Struct, frozen=True):
    """Questions about ledgers. None of them writes."""

    store: Store
    positions: Positions
    feeds: Feeds

    async def audit_trace(self, call: Call) -> RawAuditPage:
        since, limit = call.query["since_event_id"], call.query["limit"]
        await existing_head(self.store, call.session_id)
        after = 0 if since is None else await self.store.seq_of(call.session_id, since)
        if after is None:
            # Returning everything here would make a typing error look like a full history.
            raise invalid(f"no event `{since[:64]}` in this session", "since_event_id")
        entries = await self.store.entries(call.session_id, after, limit + 1)
        shown, following = cut(entries, limit, lambda entry: entry.event_id)
        return RawAuditPage([Raw(entry.wire) for entry in shown], following)

    async def verify(self, call: Call) -> Verified:
        return await verify_session(self.store, call.session_id)

    async def events(self, call: Call) -> AsyncGenerator[bytes, None]:
        head = await existing_head(self.store, call.session_id)
        after = _last_event(call.last_event, head.seq)
        yield b": beliefd\n\n"
        async with aclosing(self.feeds.follow(call.session_id, after)) as chunks:
            async for chunk in chunks:
                if chunk is None:
                    yield b": still here\n\n"
                else:
                    yield b"".join(
                        [b"id: %d\nevent: audit\ndata: %s\n\n" % (entry.seq, entry.wire) for entry in chunk]
                    )

    async def why(self, call: Call) -> Why:
        """Everyone who spoke against a hypothesis, in order; the first one that counted is marked."""
        hypothesis = call.path["hypothesis"]
        position = await self.positions.existing(call.session_id)
        if position.session.beliefs.survivors.universe.position(hypothesis) is None:
            raise BeliefdError(
                Code.INVALID_HYPOTHESIS_ID,
                f"not declared in this session: `{hypothesis[:64]}`",
                {"path": "hypothesis"},
            )
        needle = msgspec.json.encode(hypothesis)
        testimony: list[Testimony] = []
        async for chunk in self.store.stream(call.session_id):
            for sealed in chunk:
                # Most entries do not name it: looking for its bytes is far cheaper than decoding.
                if sealed.seq > 1 and needle in sealed.record:
                    testimony += _testimony(read(sealed.record), hypothesis)
        return Why(
            hypothesis=hypothesis, survives=hypothesis in position.session.beliefs.survivors, events=testimony
        )


def _last_event(text: str | None, head: int) -> int:
    if text is None:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= head):
        raise invalid(f"Last-Event-ID must be the `seq` of an entry, at most {head}", "Last-Event-ID")
    return int(text)


async def policies_of(store: Store, entries: list[Sealed]) -> dict[str, Policy]:
    """The policies that a ledger was decided under, by hash."""
    documents = await policy_documents(store, entries)
    return {name: recorded(msgspec.json.decode(document)) for name, document in documents.items()}


async def policy_documents(store: Store, entries: list[Sealed]) -> dict[str, bytes]:
    """The same as they were written then; a stored document that does not hash to its name is not one."""
    found: dict[str, bytes] = {}
    for name in await offload(is_heavy(entries), _policy_hashes, entries):
        document = None if name is None else await store.policy(name)
        if name is not None and document is not None and hashlib.sha256(document).hexdigest() == name:
            found[name] = document
    return found


def _policy_hashes(entries: list[Sealed]) -> set[str | None]:
    return {read_policy_hash(entry.record) for entry in entries}


class _PolicyHash(Struct):
    policy_hash: str


_policy_hash_decoder = msgspec.json.Decoder(_PolicyHash)


def read_policy_hash(record: bytes) -> str | None:
    try:
        return _policy_hash_decoder.decode(record).policy_hash
    except msgspec.MsgspecError:
        return None


async def verify_session(
    store: Store, session_id: str, progress: Callable[[int], None] | None = None
) -> Verified:
    """Verify what is stored now, up to the head that the sessions table promises."""
    entries = await store.entries(session_id)
    promised = await existing_head(store, session_id)
    # What was appended since the first read is inside the head; what that read found past it is forged.
    newer = await store.entries(session_id, entries[-1].seq if entries else 0)
    entries += [entry for entry in newer if entry.seq <= promised.seq]
    policies = await policies_of(store, entries)
    result, _ = await asyncio.to_thread(verify, entries, session_id, policies, promised, progress)
    return verified(result)


def verified(result: Verification) -> Verified:
    bad = result.first_bad
    return view_of(Verified, result, first_bad=None if bad is None else view_of(FirstBad, bad))


def _testimony(entry: Entry, hypothesis: str) -> list[Testimony]:
    event = entry.delta
    if isinstance(event, Refused):
        return []
    command = command_of(entry)
    told = partial(view_of, Testimony, entry, applied=hypothesis in event.eliminated)
    if isinstance(command, Eliminate) and hypothesis in command.eliminated:
        spoke, why = command, command.justification
        return [told(source_id=spoke.source_id, observation_id=spoke.observation_id, justification=why)]
    if isinstance(command, Merge):
        return [
            told(
                source_id=item.source_id,
                observation_id=item.observation_id,
                justification={},
                merged_from=item.event_id,
            )
            for item in command.eliminations
            if hypothesis in item.eliminated
        ]
    if isinstance(event, EvidenceLinked) and hypothesis in (*event.eliminated, *event.ignored):
        source, piece, why = event.evidence.execution_id, event.evidence.evidence_id, _grounds(event.evidence)
        return [told(source_id=source, observation_id=piece, justification=why)]
    return []


def _grounds(evidence: Evidence) -> dict[str, object]:
    """What stands in the place of a justification where an experiment has spoken."""
    return {
        "evidence_id": evidence.evidence_id,
        "experiment_id": evidence.experiment_id,
        "outcome": evidence.outcome,
        "model": evidence.model,
    }


class CounterfactualHandlers(Struct, frozen=True):
    """Deciding again without some sources; nothing is written."""

    store: Store

    async def counterfactual(self, call: Call) -> Counterfactual:
        """Survivors without the sources, and what each accepted conclusion rests on.

        Leaving a command out is not undoing its delta: what another source also claimed stays eliminated.
        """
        asked = convert(bind(call.body, call.path), AskCounterfactual)
        sealed = await self.store.entries(call.session_id)
        if not sealed:
            raise session_not_found(call.session_id)
        policies = await policies_of(self.store, sealed)
        return await offload(
            is_heavy(sealed), _imagine, sealed, policies, frozenset(asked.without.source_ids)
        )


def _imagine(sealed: list[Sealed], policies: dict[str, Policy], removed: frozenset[str]) -> Counterfactual:
    entries = [read(entry.record) for entry in sealed]
    factual = list(redecide(entries, policies))
    imagined = list(redecide(entries, policies, removed))
    if not factual or not imagined:
        raise LedgerBroken(1, None, "the ledger is empty")
    now, then = factual[-1].session, imagined[-1].session
    restored = [name for name in then.beliefs.survivors if name not in now.beliefs.survivors]
    return Counterfactual(
        without_source_ids=sorted(removed),
        survivors=then.beliefs.survivors.page(SURVIVORS_PAGE),
        n_survivors=then.beliefs.survivors.count,
        restored=restored[:SURVIVORS_PAGE],
        status=then.beliefs.status,
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
