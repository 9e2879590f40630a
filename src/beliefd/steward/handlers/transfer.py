"""Handlers of ledgers that come and go: export, import, and the merge of replicas that were apart."""

import hashlib
from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import Any

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.beliefs.commands import Eliminate, Merge, ReplicaElimination
from beliefd.kernel.beliefs.events import Eliminated, Merged
from beliefd.kernel.canonical import MAX_DEPTH
from beliefd.kernel.commands import VERB_OF
from beliefd.kernel.erasures.places import paths_of
from beliefd.kernel.erasures.withholding import says_in_the_clear
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.experiments.events import EvidenceLinked
from beliefd.kernel.labels import Bringer
from beliefd.kernel.system.commands import ImportLedger
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Object, nested_deeper
from beliefd.ledger.chain import genesis_hash
from beliefd.ledger.envelope import command_of, read
from beliefd.ledger.replay import Position
from beliefd.ledger.transfer import BadExport, Exported, read_export
from beliefd.ledger.verify import verify
from beliefd.ledger.withheld import digests_in
from beliefd.protocol.ledger import Imported
from beliefd.protocol.operation import Answer
from beliefd.protocol.snapshots import snapshot_of
from beliefd.steward.archiving import exported as exported_lines
from beliefd.steward.call import Call, space_of
from beliefd.steward.environment import Environment
from beliefd.steward.failures import too_many_writers
from beliefd.steward.handlers.beliefs import answer_to
from beliefd.steward.handlers.testimony import grounds
from beliefd.steward.offload import in_pool
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.projections import all_projected
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit
from beliefd.steward.write.system import SystemLedger
from beliefd.stores.base import Append, HeadMoved, Store
from beliefd.stores.content import ContentErased
from beliefd.stores.projections import INBOX

MERGE_ATTEMPTS = 50
EXPORT_CHUNK = 256
"""Lines that travel together."""
MAX_NAMED = 10
"""So many of what stands in the way an answer names."""
DEEPEST = MAX_DEPTH - 4
"""So deep a justification may be nested, to stand in an elimination of a merge."""


class TransferHandlers(Struct, frozen=True):
    """Ledgers out, ledgers in, and what two replicas know together."""

    store: Store
    positions: Positions
    submit: Submit
    system: SystemLedger
    in_force: PolicyInForce
    environment: Environment = Environment()

    async def export(self, call: Call) -> AsyncGenerator[bytes, None]:
        lines_of = exported_lines(
            self.store, self.positions, call.session_id, bool(call.query.get("parts")), call.readable
        )
        async for lines in lines_of:
            rest = iter(lines)
            while chunk := b"".join(islice(rest, EXPORT_CHUNK)):
                yield chunk

    async def import_ledger(self, call: Call) -> Imported:
        """Take a foreign ledger in, whole and byte for byte, after everything in it has been recomputed."""
        exported, position = await in_pool("question", read_and_verify, BytesIO(call.body))
        session_id = exported.header.session_id
        await self._refuse_known(session_id)
        await self._refuse_to_erase(position)
        projected = all_projected(position.session)
        for row in projected.get(INBOX, ()):
            # Ids are the exporter's choice: a foreign ledger must not take what waits in another session.
            (approval_id,) = row.key
            known = await self.store.inbox_row(approval_id)
            if known is not None and known.session_id != session_id:
                raise BeliefdError(Code.CONFLICT, f"approval `{approval_id}` belongs to another session here")
        batch = Append(
            session_id=session_id,
            expected=None,
            entries=exported.entries,
            created_at=read(exported.entries[0].record).ts,
            policies=list(exported.policy_documents.items()),
            projected=projected,
            space=space_of(call),
        )
        # INVARIANT: where a ledger came from is on record before anybody can find it.
        await self._announce(call, exported)
        try:
            await self.store.append(batch)
        except HeadMoved:
            raise _is_here(session_id) from None
        await self._keep_parts(call, exported, position)
        imported = await self.positions.existing(session_id)
        return Imported(
            session_id=session_id,
            events=len(exported.entries),
            snapshot=snapshot_of(imported.session, imported.head, due=imported.due),
        )

    async def _keep_parts(self, call: Call, exported: Exported, position: Position) -> None:
        """What came along of what is withheld, but for what the ledger says was erased."""
        mentioned = digests_in(exported.entries, exported.header.policies)
        gone = position.session.erasures.erased
        bringer = Bringer(id=call.principal.id, role=call.principal.role, at=self.environment.now())
        for digest, part in exported.header.contents.items():
            if digest in mentioned and digest not in gone:
                with suppress(ContentErased):
                    await self.store.put_content(digest, part, bringer, space=space_of(call))

    async def _refuse_known(self, session_id: str) -> None:
        if session_id == SYSTEM:
            text = "it is the own ledger of a server, which speaks for no other; verify it where it is"
            raise BeliefdError(Code.FORBIDDEN, text, {"path": "$.session_id"})
        if await self.store.head(session_id) is not None:
            raise _is_here(session_id)

    async def _refuse_to_erase(self, position: Position) -> None:
        """INVARIANT: nothing that was said elsewhere takes away what is kept here. Whoever brings a ledger
        can have named any content in it."""
        said = list(position.session.erasures.erased)
        if kept := sorted(await self.store.kept_content(said)) if said else []:
            text = (
                f"the ledger says that `{kept[0]}` was erased, and it is kept here: taking it in would remove"
                " that, whoever brought it; erase it here first, or leave the ledger out"
            )
            raise BeliefdError(Code.CONFLICT, text, {"path": "$", "kept": kept[:MAX_NAMED]})

    async def _announce(self, call: Call, exported: Exported) -> None:
        digest = await in_pool("question", lambda: hashlib.sha256(call.body).hexdigest())
        command = ImportLedger(
            session_id=exported.header.session_id,
            head=exported.header.head,
            file_sha256=digest,
            source=call.query.get("source") or "",
        )
        await self.system.record(command, call.principal)

    async def merge(self, call: Call) -> Answer:
        """Record the union of both replicas' eliminations; the event names the head of each side.

        Either side can merge the other, in any order and any number of times: the survivors are the same.
        """
        session_id = call.session_id
        exported, replica = await in_pool("question", read_and_verify, BytesIO(call.body))
        own = await self.positions.existing(session_id)
        if genesis_hash(own.session) != genesis_hash(replica.session):
            raise invalid(
                "the ledger is not a replica of this session: its genesis is another", "$.session_id"
            )
        paths = paths_of(self.in_force.policy.erasable or {}, VERB_OF[Eliminate])
        eliminations = tuple(await in_pool("question", _eliminations, exported, paths))
        for _ in range(MERGE_ATTEMPTS):
            command = Merge(
                genesis_hash=genesis_hash(own.session),
                own_head=own.head,
                replica_head=replica.head,
                eliminations=eliminations,
            )
            try:
                merged = await self.submit(
                    session_id, command, call.principal, if_match=own.head.event_id, notes=call.notes
                )
            except BeliefdError as error:
                if error.code is not Code.CONFLICT:
                    raise
                own = await self.positions.existing(session_id)
            else:
                unsaid = sum(one.justification is UNSET for one in eliminations)
                return replace(answer_to(merged), unsaid=unsaid)
        raise too_many_writers()


def _is_here(session_id: str) -> BeliefdError:
    return BeliefdError(Code.CONFLICT, f"session `{session_id}` is here already; merge the replica instead")


def read_and_verify(lines: Iterable[bytes]) -> tuple[Exported, Position]:
    try:
        exported = read_export(lines)
    except BadExport as error:
        raise BeliefdError(Code.INVALID_REQUEST, str(error), {"path": f"line {error.line}"}) from None
    header = exported.header
    result, position = verify(
        exported.entries, header.session_id, header.policies, header.head, contents=header.contents
    )
    if not result.ok or position is None:
        bad = result.first_bad
        raise BeliefdError(
            Code.LEDGER_BROKEN,
            "the ledger is empty" if bad is None else f"event {bad.seq}: {bad.reason}",
            None if bad is None else {"seq": bad.seq, "event_id": bad.event_id, "reason": bad.reason},
        )
    return exported, position


def _eliminations(exported: Exported, erasable: tuple[str, ...]) -> list[ReplicaElimination]:
    """Every elimination the replica knows of, once each, however often it was merged back and forth.

    INVARIANT: what policy keeps beside the ledger here does not come into the chain by a merge. It is left
    out, and stands in the ledger of the replica.
    """
    found: dict[str, ReplicaElimination] = {}
    for sealed in exported.entries:
        entry = read(sealed.record)
        command, event = command_of(entry), entry.delta
        if isinstance(event, Eliminated) and isinstance(command, Eliminate):
            found[entry.event_id] = ReplicaElimination(
                event_id=entry.event_id,
                source_id=command.source_id,
                observation_id=command.observation_id,
                eliminated=command.eliminated,
                **_justification(command.justification),
                actor=entry.actor.id,
                label=event.label,
            )
        elif isinstance(event, EvidenceLinked) and event.eliminated:
            found[entry.event_id] = ReplicaElimination(
                event_id=entry.event_id,
                source_id=event.evidence.execution_id,
                observation_id=event.evidence.evidence_id,
                eliminated=event.eliminated,
                justification=grounds(event.evidence),
                actor=entry.actor.id,
                label=event.evidence.label,
            )
        elif isinstance(event, Merged) and isinstance(command, Merge):
            for item in command.eliminations:
                found.setdefault(item.event_id, item)
    return [_unsaid(item, erasable) for item in found.values()] if erasable else list(found.values())


def _unsaid(item: ReplicaElimination, erasable: tuple[str, ...]) -> ReplicaElimination:
    said = item.justification
    if said is UNSET or not says_in_the_clear({"justification": said}, erasable):
        return item
    return replace(item, justification=UNSET, unsaid="withheld")


def _justification(given: Object) -> dict[str, Any]:
    """As it was given. In a merge it stands deeper; what is nested too deep to be recorded is left out."""
    return {"unsaid": "too_deep"} if nested_deeper(given, DEEPEST) else {"justification": given}
