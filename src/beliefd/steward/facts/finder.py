"""What is found out before a command is decided, by the kind of command."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeGuard, get_args

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.approvals.commands import DecideApproval, ExpireApproval, GiveGrant
from beliefd.kernel.approvals.findings import AuthorityFindings
from beliefd.kernel.approvals.state import Approval, BundleSubject, CallSubject
from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.claims.bundle import edited_bundle
from beliefd.kernel.claims.commands import RetractClaims, SubmitClaims
from beliefd.kernel.claims.endings import RetractionFindings
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.context.commands import AddContext
from beliefd.kernel.erasures.commands import Erase
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.experiments.commands import DesignExperiment, StartRun
from beliefd.kernel.facts import Findings
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.limits import PENDING, SESSIONS, over_limit
from beliefd.kernel.measurements.commands import Measure
from beliefd.kernel.observations.commands import Observe
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import Propose, Remember, StartCall
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.substrate.tools import CallFinding, MemoryFindings, StartFindings
from beliefd.kernel.values import Principal
from beliefd.ledger.envelope import Sealed, read
from beliefd.ledger.lookups import confirmation_among
from beliefd.steward.buckets import Buckets
from beliefd.steward.directory import Directory
from beliefd.steward.facts.attachments import Attachments
from beliefd.steward.facts.authority import (
    PROPOSES,
    WHOEVER,
    Authorities,
    concerned,
    givers_of,
    only,
    used_by_claims,
)
from beliefd.steward.facts.call_facts import (
    call_finding,
    confirmed_finding,
    proposal_findings,
    start_findings,
)
from beliefd.steward.facts.catalogues import Catalogues
from beliefd.steward.facts.citing import citation_findings, cites_calls
from beliefd.steward.facts.erasing import mentioned
from beliefd.steward.facts.examining import Examiner
from beliefd.steward.facts.experimenting import ExperimentFacts
from beliefd.steward.facts.inputs import known_inputs
from beliefd.steward.facts.measuring import NOTHING_SAMPLED, Meter, Sampled, wanted_of
from beliefd.steward.facts.observing import observation_findings
from beliefd.steward.facts.origin import Origins, approved_calls
from beliefd.steward.facts.published import published
from beliefd.steward.facts.shares import Shares
from beliefd.steward.facts.shells import started_shell, unknown_principal, with_shell
from beliefd.steward.facts.submissions import Submissions
from beliefd.steward.facts.telling import Openers
from beliefd.steward.facts.threats import NOBODY, Detector, refuse_too_long
from beliefd.steward.graph import Graph
from beliefd.steward.spaces import Spaces
from beliefd.stores.base import Store
from beliefd.tools.registry import Registry

Examined = (
    SubmitClaims
    | RetractClaims
    | DecideApproval
    | ExpireApproval
    | GiveGrant
    | Propose
    | StartCall
    | Remember
    | Observe
    | Measure
    | DesignExperiment
    | StartRun
    | StageIntent
    | AddContext
    | Erase
    | Eliminate
)
EXAMINED: Final = get_args(Examined)
Refind = Callable[[CallCandidate], CallFinding]


def is_examined(command: object) -> TypeGuard[Examined]:
    """Must something be looked up before this can be decided?"""
    # Most commands are eliminations, and most of those cite nothing: they are asked first, and cheaply.
    if type(command) is Eliminate:
        return command.cites is not UNSET and cites_calls(command)
    return isinstance(command, EXAMINED)


JUDGED: Final[dict[str, Any]] = {"by_rights": True, "by_words": True}
"""How people are told apart, and what they shaped: what is decided now is decided by these rules."""


class FactFinder(Examiner):
    """Gathers findings."""

    def __init__(  # noqa: PLR0913, PLR0917 - one argument per port
        self,
        store: Store,
        registry: Registry,
        meter: Meter,
        directory: Directory,
        spaces: Spaces,
        detector: Detector | Mapping[str, Detector] | None,
        catalogues: Catalogues,
        buckets: Buckets,
        graph: Graph,
        kept: tuple[str, ...] = (),
    ) -> None:
        super().__init__(store, registry, spaces, detector, catalogues, graph)
        self.meter = meter
        self._authorities = Authorities(directory, spaces)
        self._shares = Shares(store)
        self._openers = Openers(store)
        self.origins = Origins(store, registry, catalogues)
        self.submissions = Submissions(buckets)
        self._experiments = ExperimentFacts(graph, self._shares)
        self.kept = kept

    async def findings(  # noqa: PLR0911 - one way out per kind of command
        self,
        session: Session | None,
        command: Examined,
        principal: Principal,
        policy: Policy,
        recent: int,
        attachments: Attachments,
        unwritten: Sequence[Sealed] = (),
    ) -> Findings | None:
        """Facts for a command that needs some; None where there is nothing to find out.

        `unwritten` are the events that lead to this state of the session and are not in the store yet.
        """
        if isinstance(command, SubmitClaims):
            refuse_too_long(command.bundle, policy, attachments.size)
            found = await self.examine(
                command.bundle, session, principal.id, policy, recent, attachments.origin, unwritten
            )
            found = await self._with_pending(found, principal.id, policy, unwritten)
            used = used_by_claims(session, principal.id, command.bundle.origin_agent)
            found = replace(found, authority=await self._authorities.of(session, used))
            return await self.meter.with_measured(found, command, attachments.sampled)
        if session is None:
            return None
        if isinstance(command, RetractClaims):
            return RetractionFindings(
                published=await published(self._store, session, command.bundle_id, unwritten)
            )
        if isinstance(command, Propose | StageIntent):
            await self._refuse_full_inbox(principal.id, policy, unwritten)
        if isinstance(command, Propose):
            tools = await self._tools(session, command.candidates, policy)
            found_calls = proposal_findings(session, command.candidates, attachments.proofs, policy, tools)
            begun = approved_calls(session, command, principal.id)
            through = [None if call is None else call.capability_id for call in begun]
            found_calls = await self._authorities.with_givers(session, found_calls, approved=through)
            found_calls = with_shell(
                found_calls, command.candidates, command.provenance, principal, policy, self.kept
            )
            found_calls = await self.origins.of_proposal(
                session, policy, command.candidates, found_calls, unwritten, begun=begun
            )
            inputs = await self._inputs(session, command.provenance, unwritten)
            several = command.execute is not UNSET and len(command.candidates) > 1
            flags = {**JUDGED, "no_stands": True, "asks_anew": True, "one_permit": several or UNSET}
            return replace(found_calls, authority={}, inputs=inputs, **flags)
        if isinstance(command, StartCall):
            return await self._start(session, command, policy, unwritten)
        if isinstance(command, AddContext):
            within = await self._spaces.only(session.session_id)
            return await self._openers.findings(session.session_id, command, principal, within)
        if isinstance(command, Erase):
            return await mentioned(self._store, session, command, unwritten)
        if isinstance(command, GiveGrant | StageIntent | ExpireApproval):
            asked = {command.principal: WHOEVER} if isinstance(command, GiveGrant) else {}
            return AuthorityFindings(authority=await self._authorities.of(session, asked), **JUDGED)
        if isinstance(command, Remember):
            return await self._memory(session, command, unwritten)
        if isinstance(command, Eliminate):
            within = await self._spaces.only(session.session_id)
            return await citation_findings(self._store, session, command, within)
        if isinstance(command, Observe):
            within = await self._spaces.only(session.session_id)
            return await observation_findings(self._store, session, command, within)
        if isinstance(command, Measure):
            return await self.meter.findings(command, attachments.drawn)
        if isinstance(command, DesignExperiment | StartRun):
            return await self._experiments.findings(session, command, principal.id, policy, unwritten)
        return await self._for_decision(session, command, policy, unwritten)

    async def sampled(
        self, command: SubmitClaims, session: Session | None, principal: Principal, policy: Policy, size: int
    ) -> Sampled:
        """What the server's own model answers about claims without a measurement, if policy has it asked."""
        if policy.uncertainty.missing != "sample":
            return NOTHING_SAMPLED
        refuse_too_long(command.bundle, policy, size)
        tools = await self._tool_tiers(command.bundle, session, policy)
        wanted = list(wanted_of(command, principal.id, policy, tools))
        if not wanted or self.submissions.are_over(
            principal, policy
        ):  # nothing is spent on who is stopped anyway
            return NOTHING_SAMPLED
        return await self.meter.sample(wanted)

    async def refinding(self, session: Session, candidate: Candidate, policy: Policy) -> Refind:
        """What finds out about a call beside its token and its origin, for calls with other arguments."""
        tools = await self._tools(session, (candidate,), policy)
        return lambda call: call_finding(session, call, None, policy, tools)

    async def _start(
        self, session: Session, command: StartCall, policy: Policy, unwritten: Sequence[Sealed]
    ) -> StartFindings | None:
        call = session.substrate.calls.get(command.call_id)
        if call is None:
            return None
        through = givers_of(session, call.capability_id)
        standings = await self._authorities.of(session, {**through, call.agent_id: PROPOSES})
        named = CallCandidate(tool_id=call.tool_id, upstream=call.upstream)
        tools = await self._tools(session, (named,), policy)
        found = start_findings(call, standings, policy, tools)
        finding = replace(found.call, givers=only(standings, through))
        caller = found.caller or unknown_principal(call.agent_id)
        finding = started_shell(finding, call.args, call.provenance, caller, policy, self.kept)
        return replace(found, call=await self.origins.of_call(session, policy, call, finding, unwritten))

    async def _with_pending(
        self, found: ClaimFindings, who: str, policy: Policy, unwritten: Sequence[Sealed]
    ) -> ClaimFindings:
        limit = policy.bounds.pending_approvals
        pending = await self._shares.pending(who, limit, unwritten)
        return found if pending < limit else replace(found, pending=pending)

    async def _refuse_full_inbox(self, who: str, policy: Policy, unwritten: Sequence[Sealed]) -> None:
        """What may wait for a person is turned away before, where only its rule knows whether it will."""
        limit = policy.bounds.pending_approvals
        pending = await self._shares.pending(who, limit, unwritten)
        _raise_if_over(PENDING, pending, limit)

    async def refuse_more_sessions(self, principal: Principal, policy: Policy) -> None:
        """INVARIANT: nobody fills the store with sessions. What does not begin has no ledger to say so in."""
        limit = policy.bounds.open_sessions
        _raise_if_over(SESSIONS, await self._shares.sessions(principal.id, limit), limit)

    async def _inputs(
        self, session: Session, told: Provenance | None, unwritten: Sequence[Sealed]
    ) -> tuple[str, ...] | UnsetType:
        if told is None or not told.inputs:
            return UNSET
        within = await self._spaces.only(session.session_id)
        return await known_inputs(self._store, session, told, unwritten, within)

    async def _memory(
        self, session: Session, command: Remember, unwritten: Sequence[Sealed]
    ) -> MemoryFindings | None:
        found = await self._confirmation(session, command)
        inputs = await self._inputs(session, command.entry.provenance, unwritten)
        return found if inputs is UNSET else replace(found or MemoryFindings(), inputs=inputs)

    async def _confirmation(self, session: Session, command: Remember) -> MemoryFindings | None:
        event_id = command.entry.confirmed_by_event_id
        if event_id is None:
            return None
        seq = await self._store.seq_of(session.session_id, event_id)
        entries = () if seq is None else await self._store.entries(session.session_id, seq - 1, 1)
        return confirmation_among((read(one.record) for one in entries), event_id, session.transfers)

    async def _for_decision(
        self, session: Session, command: DecideApproval, policy: Policy, unwritten: Sequence[Sealed]
    ) -> Findings | None:
        """Everything is looked at again before a person's yes takes effect."""
        approval = session.approvals.by_id.get(command.approval_id)
        if command.decision == "REJECTED":
            self._nothing_rejected_until = 0.0
        if approval is None or command.decision == "REJECTED":
            return None
        subject = approval.subject
        authority = await self._authorities.of(session, concerned(approval))
        if isinstance(subject, CallSubject) and subject.candidate is not None:
            tools = await self._tools(session, (subject.candidate,), policy)
            confirmed = confirmed_finding(session, subject.candidate, policy, tools)
            confirmed = await self._authorities.with_givers(session, confirmed)
            confirmed = with_shell(
                confirmed, (subject.candidate,), subject.provenance, approval.proposer, policy, self.kept
            )
            confirmed = await self.origins.of_proposal(
                session, policy, (subject.candidate,), confirmed, unwritten, approval.content_hash
            )
            return replace(confirmed, authority=authority, **JUDGED)
        if not isinstance(subject, BundleSubject) or subject.bundle is None:
            return AuthorityFindings(authority=authority, **JUDGED)
        bundle = subject.bundle
        if command.decision == "MODIFIED":
            bundle = edited_bundle(bundle, command.claims or bundle.claims)
            refuse_too_long(bundle, policy)
        found = await self.examine(bundle, session, approval.proposer.id, policy, unwritten=unwritten)
        compared = True if command.decision == "APPROVED" else UNSET
        return replace(found, authority=authority, by_results=compared)

    async def outlook_findings(
        self, session: Session, approval: Approval, policy: Policy, fresh: bool
    ) -> Findings:
        """What tells, before anybody decides, what a decision would take. Contents are not looked at."""
        authority = await self._authorities.of(session, concerned(approval), fresh=fresh)
        subject = approval.subject
        if isinstance(subject, CallSubject) and subject.candidate is not None:
            tools = await self._tools(session, (subject.candidate,), policy)
            confirmed = confirmed_finding(session, subject.candidate, policy, tools)
            confirmed = await self._authorities.with_givers(session, confirmed, fresh=fresh)
            confirmed = with_shell(
                confirmed, (subject.candidate,), subject.provenance, approval.proposer, policy, self.kept
            )
            confirmed = await self.origins.of_proposal(
                session, policy, (subject.candidate,), confirmed, answered=approval.content_hash
            )
            return replace(confirmed, authority=authority, **JUDGED)
        if isinstance(subject, BundleSubject) and subject.bundle is not None:
            unread = Threat(detector=NOBODY)
            tiers = await self._tool_tiers(subject.bundle, session, policy)
            return ClaimFindings(threat=unread, tools=tiers, authority=authority, **JUDGED)
        return AuthorityFindings(authority=authority, **JUDGED)


def _raise_if_over(name: str, counted: int, limit: int) -> None:
    if (problem := over_limit(name, counted, limit, "$")) is not None:
        raise BeliefdError(problem.code, problem.message, problem.details)
