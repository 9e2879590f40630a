"""Where the values of calls came from: one index per session, built from what it was told."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from beliefd.kernel.canonical import canonical
from beliefd.kernel.context.policy import ContextPolicy
from beliefd.kernel.context.state import Context, ContextRecord
from beliefd.kernel.context.told import Told, read, result_as_told
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.origin import CallFacts, ContextItem, ToolInfo, ValueFact
from beliefd.kernel.origin import Session as Index
from beliefd.kernel.origin.commands import foreign_words
from beliefd.kernel.origin.index import wanted
from beliefd.kernel.origin.naming import leaves
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.kernel.substrate.permits import approved_call
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.substrate.tools import CallFinding, ContextBasis, ProposalFindings
from beliefd.kernel.values import Object
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.envelope import read as read_entry
from beliefd.policy.lexicons import shipped_lexicon
from beliefd.steward.facts.catalogues import Catalogues
from beliefd.steward.facts.hashing import sha256_of
from beliefd.steward.facts.tool_infos import KnownTools, ToolInfos
from beliefd.steward.offload import offload
from beliefd.stores.base import StorageUnavailable, Store
from beliefd.tools.registry import Registry

MAX_SESSIONS: Final = 1_000
MAX_BYTES: Final = 32 * 1024 * 1024
"""Of the texts that the indices which are kept were built from."""
LOADED_AT_ONCE: Final = 64
HEAVY_BYTES: Final = 4 * 1024
"""More text than this is taken in beside the event loop."""
LOOKS: Final = 100
LOOK_SECONDS: Final = 0.02


class Asked(Struct, frozen=True):
    """A call of which it is to be found out where its values came from.

    `before` are calls of the same tool in the same proposal. `nth` is how many calls of the tool there were
    before it, if that was found out already.
    """

    tool_id: str
    args: Object
    finding: CallFinding
    upstream: str | UnsetType = UNSET
    before: int = 0
    nth: int | UnsetType = UNSET


class Known(Struct):
    """The index of one session: what it holds, up to which item, and how much of that was lost.

    `last` is the event of the item up to which it goes: it tells ledgers apart that have come to differ.
    `ended` is how many calls of each tool have told their results, `upstreams` are the catalogues of tools
    that were called.
    """

    index: Index
    policy: ContextPolicy
    told: int = 0
    last: str = ""
    lost: int = 0
    size: int = 0
    ended: Counter[str] = msgspec.field(default_factory=Counter)
    upstreams: set[str] = msgspec.field(default_factory=set)
    refused: Any = None
    erased: int = 0
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)

    def refuse(self, context: Context, answered: str | None) -> None:
        """Whom the ledger says that calls were not to reach, but for whom a person says yes to now."""
        if self.refused is context.refused_sinks and answered is None:
            return
        months = self.index.lexicon.month_of
        sinks = [one for one, asked in context.refused_sinks.items() if answered is None or asked != answered]
        self.index.refused_sinks = {found.key for one in sinks if (found := wanted(one, months)) is not None}
        self.refused = context.refused_sinks if answered is None else None

    def found_of(self, context: Context, asked: Sequence[Asked], tools: KnownTools) -> list[CallFinding]:
        basis = ContextBasis(told=self.told, lost=self.lost)
        return [
            replace(
                one.finding, origin=self.facts(context, one, tools), context=basis, words=self.words_of(one)
            )
            for one in asked
        ]

    def words_of(self, asked: Asked) -> tuple[ValueFact, ...] | UnsetType:
        """For people: which words of a command stand in what was read."""
        definition = asked.finding.definition
        names = () if definition is None else definition.shell_args or ()
        texts = [(name, text) for name in names if isinstance(text := asked.args.get(name), str)]
        return tuple(word for one in texts for word in foreign_words(self.index, *one)) or UNSET

    def facts(self, context: Context, asked: Asked, tools: KnownTools) -> CallFacts:
        """How often a tool was called is the ledger's to say, too."""
        name, index = asked.tool_id, self.index
        if asked.nth is UNSET:
            under_way = context.begun.get(name, 0) - self.ended[name] + asked.before
        else:
            under_way = asked.nth - index.counts.get(name, 0)
        index.pending = {name: under_way}
        tool, shell = tools.get(name, asked.upstream), asked.finding.shell
        if shell is not UNSET:
            # A shell is as dangerous as what it is told to do.
            tool = replace(
                tool, tier="read" if shell.reach in self.policy.harmless else "write", examined=True
            )
        return index.facts(tool, asked.args, tools.by_name)

    def goes_on_to(self, context: Context, policy: ContextPolicy) -> bool:
        """Is what it holds the beginning of this context?"""
        told = ("lexicon", "own_addresses", "tools")
        if any(getattr(self.policy, name) != getattr(policy, name) for name in told):
            return False
        if self.told == 0:
            return True
        at = context.items.get(str(self.told))
        return at is not None and at.event_id == self.last


class Origins:
    """Finds out where the values of calls came from. Only a cache: ledger and content are the truth."""

    def __init__(self, store: Store, registry: Registry, catalogues: Catalogues) -> None:
        self._store = store
        self._tools = ToolInfos(registry, catalogues)
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._bytes = 0

    async def of_proposal(
        self,
        session: Session,
        policy: Policy,
        candidates: Sequence[Candidate],
        found: ProposalFindings,
        unwritten: Sequence[Sealed] = (),
        answered: str | None = None,
        begun: Sequence[ToolCall | None] = (),
    ) -> ProposalFindings:
        """The findings of a proposal's calls of tools that are known, with where their values came from.

        `answered` is the content that a person is about to say yes to, `begun` are the calls that were let
        through before and that begin in the place of candidates.
        """
        if policy.context is UNSET:
            return found
        asked: dict[int, Asked] = {}
        before: Counter[str] = Counter()
        for place, (candidate, finding) in enumerate(zip(candidates, found.calls, strict=True)):
            if not isinstance(candidate, CallCandidate) or finding is None or finding.definition is None:
                continue
            call = begun[place] if place < len(begun) else None
            asked[place] = Asked(
                candidate.tool_id,
                candidate.args,
                finding,
                candidate.upstream,
                before[candidate.tool_id],
                UNSET if call is None or call.basis is UNSET else call.basis.nth,
            )
            before[candidate.tool_id] += 1
        told = await self._traced(session, policy, list(asked.values()), unwritten, answered)
        calls = dict(enumerate(found.calls)) | dict(zip(asked, told, strict=True))
        return replace(found, calls=tuple(calls.values()))

    async def of_call(
        self,
        session: Session,
        policy: Policy,
        call: ToolCall,
        finding: CallFinding,
        unwritten: Sequence[Sealed],
    ) -> CallFinding:
        """The finding of a call that is about to begin: the calls after it do not count against it."""
        if policy.context is UNSET or finding.definition is None:
            return finding
        nth = UNSET if call.basis is UNSET else call.basis.nth
        asked = Asked(call.tool_id, call.args, finding, call.upstream, nth=nth)
        (found,) = await self._traced(session, policy, [asked], unwritten)
        return found

    async def _traced(
        self,
        session: Session,
        policy: Policy,
        asked: Sequence["Asked"],
        unwritten: Sequence[Sealed],
        answered: str | None = None,
    ) -> list[CallFinding]:
        if not asked:
            return []
        known = self._of(session, policy.context or ContextPolicy())
        async with known.lock:
            known.upstreams.update(one.upstream for one in asked if one.upstream)
            await self._catch_up(session, known, policy, unwritten)
            tools = await self._tools.known_in(session, known.upstreams, policy)
            known.refuse(session.context, answered)
            size = sum(len(value) for one in asked for _, value in leaves(one.args) if isinstance(value, str))
            found = await offload(
                size > HEAVY_BYTES, known.found_of, session.context, asked, tools, kind="decide"
            )
        self._forget_the_oldest()
        return found

    async def prepare(self, session: Session, policy: Policy) -> None:
        """Take in what a session was told before a call asks for it: the call does not wait for that."""
        name, told = session.session_id, len(session.context.items)
        known = self._known.get(name)
        # What is ahead already was told by who decides: an older state must not take it back.
        if policy.context is UNSET or told == 0 or (known is not None and known.told >= told):
            return
        known = self._of(session, policy.context)
        # Whoever asks tries again and is told what is wrong.
        with suppress(BeliefdError, StorageUnavailable):
            async with known.lock:
                await self._catch_up(session, known, policy, ())
        self._forget_the_oldest()

    async def _catch_up(
        self, session: Session, known: Known, policy: Policy, unwritten: Sequence[Sealed]
    ) -> None:
        while known.told < len(session.context.items):
            await self._take_in(session, known, policy, unwritten)

    def _of(self, session: Session, policy: ContextPolicy) -> Known:
        name = session.session_id
        known = self._known.get(name)
        gone = len(session.erasures.erased)
        # INVARIANT: what was erased is forgotten here, too: the index is made anew of what is left.
        if known is None or known.erased != gone or not known.goes_on_to(session.context, policy):
            known = self._begun(name, policy)
            known.erased = gone
        self._known.move_to_end(name)
        return known

    def _begun(self, name: str, policy: ContextPolicy) -> Known:
        self._drop(name)
        known = self._known[name] = Known(Index(shipped_lexicon(policy.lexicon)), policy)
        for address in policy.own_addresses:
            known.index.tell(ContextItem(kind="own_address", text=address))
        return known

    async def _take_in(
        self, session: Session, known: Known, policy: Policy, unwritten: Sequence[Sealed]
    ) -> None:
        """The next items; all of them are read before any is told, so that none is told twice."""
        items = session.context.items
        upto = min(known.told + LOADED_AT_ONCE, len(items))
        records = [items[str(number)] for number in range(known.told + 1, upto + 1)]
        read_ = [await self._read(session, record, unwritten) for record in records]
        size = sum(map(_size, records, read_))
        calls = [session.substrate.calls.get(one.call_id or "") for one in records]
        through = [UNSET if call is None else call.upstream for call in calls]
        known.upstreams.update(upstream for upstream in through if upstream)
        tools = await self._tools.known_in(session, known.upstreams, policy)
        infos = [
            tools.get(one.tool_id, by) if one.tool_id else None
            for one, by in zip(records, through, strict=True)
        ]
        await offload(size > HEAVY_BYTES, _tell, known.index, session, records, read_, infos, kind="decide")
        known.told, known.last = upto, records[-1].event_id
        known.ended.update(one.tool_id for one in records if one.call_id and one.tool_id)
        if lost := read_.count(None):
            known.lost += lost
            # INVARIANT: a value that may have stood in what is lost counts as one out of an untrusted text.
            known.index.heard.left_out = True
        known.size += size
        self._bytes += size

    async def _read(
        self, session: Session, record: ContextRecord, unwritten: Sequence[Sealed]
    ) -> Told | None:
        """What was told; None if it is gone, or is not what it was."""
        if record.content is None:
            return await self._recorded(session.session_id, record, unwritten)
        document = await self._store.content(record.content)
        if document is None or await sha256_of(document) != record.content:
            return None
        return read(document)

    async def _recorded(
        self, session_id: str, record: ContextRecord, unwritten: Sequence[Sealed]
    ) -> Told | None:
        """The result of a call that the server ran stands in the ledger, or is on its way there."""
        for sealed in unwritten:
            if sealed.event_id == record.event_id:
                return _outcome(sealed)
        for _ in range(LOOKS):
            seq = await self._store.seq_of(session_id, record.event_id)
            if seq is not None:
                entries = await self._store.entries(session_id, seq - 1, 1)
                return _outcome(entries[0]) if entries else None
            await asyncio.sleep(LOOK_SECONDS)
        return None

    def _forget_the_oldest(self) -> None:
        while len(self._known) > 1 and (len(self._known) > MAX_SESSIONS or self._bytes > MAX_BYTES):
            self._drop(next(iter(self._known)))

    def _drop(self, name: str) -> None:
        if (known := self._known.pop(name, None)) is not None:
            self._bytes -= known.size


def approved_calls(session: Session, command: Propose, who: str) -> list[ToolCall | None]:
    """By candidate, the call that a person said yes to and that begins in its place."""
    if command.execute is UNSET:
        return []
    return [
        approved_call(session, one, who) if isinstance(one, CallCandidate) else None
        for one in command.candidates
    ]


def _as_item(session: Session, record: ContextRecord, told: Told | None) -> ContextItem:
    call = None if record.call_id is None else session.substrate.calls.get(record.call_id)
    told = told or Told()
    return ContextItem(
        kind=record.kind,  # type: ignore[arg-type]  # announcements are not kept
        text=_whole_text(told),
        structured=told.structured,
        tool_id=record.tool_id,
        args=told.args or ({} if call is None else call.args),
        call_id=record.call_id,
        # What nobody vouches for is taken for what an error is: a text from anywhere.
        error=record.error or not record.vouched,
    )


def _size(record: ContextRecord, told: Told | None) -> int:
    return record.size or (0 if told is None else len(told.text))


def _whole_text(told: Told) -> str:
    """All that was said, as text: what strangers write is not read as the structure that it came in."""
    if told.structured is UNSET:
        return told.text
    written = canonical(told.structured).decode()
    return written if told.text in ("", written) else f"{told.text}\n{written}"


def _outcome(sealed: Sealed) -> Told | None:
    event = read_entry(sealed.record).delta
    if not isinstance(event, OutcomeRecorded):
        return None
    return result_as_told(event.result, event.error)


def _tell(
    index: Index,
    session: Session,
    records: Sequence[ContextRecord],
    told: Sequence[Told | None],
    tools: Sequence[ToolInfo | None],
) -> None:
    for record, one, tool in zip(records, told, tools, strict=True):
        index.tell(_as_item(session, record, one), tool)
