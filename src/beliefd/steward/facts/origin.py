"""Where the values of calls came from: one index per session, built from what it was told."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.canonical import canonical
from beliefd.kernel.context.policy import ContextPolicy
from beliefd.kernel.context.state import Context, ContextRecord
from beliefd.kernel.context.told import Told, read
from beliefd.kernel.origin import CallFacts, ContextItem, Lexicon, ToolInfo
from beliefd.kernel.origin import Session as Index
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.tools import CallFinding, ContextBasis, ProposalFindings, ToolDefinition
from beliefd.kernel.values import Object
from beliefd.ledger.envelope import Sealed
from beliefd.ledger.envelope import read as read_entry
from beliefd.policy.lexicons import lexicon
from beliefd.steward.facts.hashing import sha256_of
from beliefd.steward.offload import offload
from beliefd.stores.base import Store
from beliefd.tools.registry import Registry

MAX_SESSIONS: Final = 1_000
MAX_BYTES: Final = 256 * 1024 * 1024
"""Of the texts that the indices which are kept were built from."""
LOADED_AT_ONCE: Final = 64
HEAVY_BYTES: Final = 64 * 1024
"""More text than this is taken in beside the event loop."""
LOOKS: Final = 100
LOOK_SECONDS: Final = 0.02


class Known(Struct):
    """The index of one session: what it holds, up to which item, and how much of that was lost.

    `last` is the event of the item up to which it goes: it tells ledgers apart that have come to differ.
    """

    index: Index
    policy: ContextPolicy
    told: int = 0
    last: str = ""
    lost: int = 0
    size: int = 0
    lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)

    def goes_on_to(self, context: Context, policy: ContextPolicy) -> bool:
        """Is what it holds the beginning of this context?"""
        if self.policy.lexicon != policy.lexicon or self.policy.own_addresses != policy.own_addresses:
            return False
        if self.told == 0:
            return True
        at = context.items.get(str(self.told))
        return at is not None and at.event_id == self.last


class Origins:
    """Finds out where the values of calls came from. Only a cache: ledger and content are the truth."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._bytes = 0
        self._made: dict[str, ToolInfo] = {}
        self._made_of: tuple[Policy, int] | None = None

    async def of_proposal(
        self,
        session: Session,
        policy: Policy,
        candidates: Sequence[Candidate],
        found: ProposalFindings,
        unwritten: Sequence[Sealed] = (),
    ) -> ProposalFindings:
        """The findings of a proposal's calls of tools that are known, with where their values came from."""
        asked = {
            place: (candidate.tool_id, candidate.args, finding)
            for place, (candidate, finding) in enumerate(zip(candidates, found.calls, strict=True))
            if isinstance(candidate, CallCandidate) and finding is not None and finding.definition is not None
        }
        told = await self.with_origin(session, policy, list(asked.values()), unwritten)
        calls = dict(enumerate(found.calls)) | dict(zip(asked, told, strict=True))
        return replace(found, calls=tuple(calls.values()))

    async def with_origin(
        self,
        session: Session,
        policy: Policy,
        calls: Sequence[tuple[str, Object, CallFinding]],
        unwritten: Sequence[Sealed] = (),
    ) -> list[CallFinding]:
        """The findings of calls of tools with their arguments, each with where its values came from."""
        findings = [finding for _, _, finding in calls]
        if policy.context is UNSET or not calls:
            return findings
        known, catalogue = self._of(session, policy.context), self._catalogue(policy)
        async with known.lock:
            while known.told < len(session.context.items):
                await self._take_in(session, known, unwritten)
            basis = ContextBasis(told=known.told, lost=known.lost)
            findings = [
                replace(finding, origin=_facts(known.index, catalogue, tool_id, args), context=basis)
                for tool_id, args, finding in calls
            ]
        self._forget_the_oldest()
        return findings

    def _catalogue(self, policy: Policy) -> Mapping[str, ToolInfo]:
        """What is declared about tools; worked out again when there is another policy or another tool."""
        tools = self._registry.all()
        if self._made_of is None or self._made_of[0] is not policy or self._made_of[1] != len(tools):
            registered = {tool.tool_id: tool.definition for tool in tools}
            self._made = {name: info_of(name, one) for name, one in {**policy.tools, **registered}.items()}
            self._made_of = (policy, len(tools))
        return self._made

    def _of(self, session: Session, policy: ContextPolicy) -> Known:
        name = session.session_id
        known = self._known.get(name)
        if known is None or not known.goes_on_to(session.context, policy):
            known = self._begun(name, policy)
        self._known.move_to_end(name)
        return known

    def _begun(self, name: str, policy: ContextPolicy) -> Known:
        self._drop(name)
        known = self._known[name] = Known(Index(_lexicon(policy)), policy)
        for address in policy.own_addresses:
            known.index.tell(ContextItem(kind="own_address", text=address))
        return known

    async def _take_in(self, session: Session, known: Known, unwritten: Sequence[Sealed]) -> None:
        """The next items; all of them are read before any is told, so that none is told twice."""
        items = session.context.items
        upto = min(known.told + LOADED_AT_ONCE, len(items))
        records = [items[str(number)] for number in range(known.told + 1, upto + 1)]
        read_ = [await self._read(session, record, unwritten) for record in records]
        told = [_as_item(session, record, one) for record, one in zip(records, read_, strict=True)]
        size = sum(len(item.text) for item in told) + sum(record.size for record in records)
        await offload(size > HEAVY_BYTES, _tell, known.index, told, kind="decide")
        known.told, known.last = upto, records[-1].event_id
        known.lost += read_.count(None)
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


def info_of(tool_id: str, definition: ToolDefinition) -> ToolInfo:
    """What is declared about a tool, as far as it tells where values may come from and go to."""
    reads = definition.tier == "READ_ONLY" and not definition.mutates and not definition.fs_write_args
    return ToolInfo(
        tool_id=tool_id,
        description=definition.description,
        schema=definition.schema,
        tier="read" if reads else "write",
        destructive=True if definition.tier in ("DELETE", "PRIVILEGE") else None,
    )


def _as_item(session: Session, record: ContextRecord, told: Told | None) -> ContextItem:
    """INVARIANT: what is lost says nothing: a value that stood in it counts as one that nobody gave."""
    call = None if record.call_id is None else session.substrate.calls.get(record.call_id)
    told = told or Told()
    return ContextItem(
        kind=record.kind,
        text=told.text,
        structured=told.structured,
        tool_id=record.tool_id,
        args=told.args or ({} if call is None else call.args),
        call_id=record.call_id,
        error=record.error,
    )


def _outcome(sealed: Sealed) -> Told | None:
    event = read_entry(sealed.record).delta
    if not isinstance(event, OutcomeRecorded):
        return None
    if event.error or isinstance(event.result, str):
        return Told(text=event.error or event.result)
    return Told(text=canonical(event.result).decode(), structured=event.result)


def _facts(index: Index, catalogue: Mapping[str, ToolInfo], tool_id: str, args: Object) -> CallFacts:
    return index.facts(catalogue.get(tool_id) or ToolInfo(tool_id=tool_id), args, catalogue)


def _tell(index: Index, items: Iterable[ContextItem]) -> None:
    for item in items:
        index.tell(item)


def _lexicon(policy: ContextPolicy) -> Lexicon:
    return lexicon(policy.lexicon)
