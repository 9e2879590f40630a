"""Recorded facts under another policy: what of them follows from the policy is worked out anew.

INVARIANT: nothing is looked up. What another policy would have had looked up, and was not, is not known.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.findings import AuthorityFindings
from beliefd.kernel.approvals.state import BundleSubject, CallSubject
from beliefd.kernel.claims.bundle import Claim, DecidedAction
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.tiers import effective_tiers
from beliefd.kernel.commands import Command
from beliefd.kernel.context.policy import ContextPolicy
from beliefd.kernel.context.tools import info_of
from beliefd.kernel.facts import Findings
from beliefd.kernel.names import ALL
from beliefd.kernel.origin import ToolInfo
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.commands import Propose, StartCall
from beliefd.kernel.substrate.predicates import CALL_FACTS
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.rulebook import reads_policy, rule_set
from beliefd.kernel.substrate.schemas import BadSchema, Schema
from beliefd.kernel.substrate.tools import (
    CallFinding,
    ProposalFindings,
    StartFindings,
    ToolDefinition,
    tightened,
)
from beliefd.ledger.chain import policy_hash
from beliefd.policy.backtesting.unknowns import ADOPTION, Unknown, spread
from beliefd.steward.facts.call_facts import hosts_of
from beliefd.steward.facts.caller_tools import CallerTool, DeclaredTools
from beliefd.tools.registry import Registry

NO_ORIGIN: Final = "where the values of calls came from was not found out then"
OTHER_ORIGIN: Final = "where values came from was found out under another `context` or other `tools`"
OTHER_TOOL: Final = "what the tool says of itself was recorded together with what the policy then said"
UNPROVEN: Final = "whether its token counts was not recorded, because the tool was not known"
OTHER_PATHS: Final = "the paths that it names were looked up for other arguments"
OTHER_DETECTORS: Final = "other detectors were asked, or another length of text was read"
OTHER_TIER: Final = "the detectors were told another tier"
OVER_THE_RATE: Final = "the detectors were not asked, because there were too many bundles then"
KNOWN: Final = Unknown()


class Refreshed(Struct, frozen=True):
    """Facts as another policy has them. `gaps` say, per candidate, what is not known; `whole` is why nothing
    can be said of the command at all."""

    findings: Findings | None
    gaps: tuple[Unknown, ...] = ()
    whole: str = ""


class Doubt(Exception):
    """What is asked for was not recorded."""


class Refreshing:
    """From one recorded policy to the one that is tried. What differs is worked out once."""

    def __init__(self, was: Policy, now: Policy, declared: DeclaredTools) -> None:
        self._was, self._now = was, now
        self._declared = declared
        self._registry = Registry()
        self._origin = _origin_gap(was, now)
        name = policy_hash(now)
        self._tried = Adopted() if reads_policy(now, name) else UNSET
        self._is_other = name != policy_hash(was)
        rules = rule_set(now, name)
        self._adoption = spread(rules, Unknown(paths=ADOPTION)) if self._tried and self._is_other else KNOWN
        origin = {CALL_FACTS: self._origin} if self._origin else {}
        self._unknown = Unknown(paths={**self._adoption.paths, **origin})
        self._same_any = was.tools.get(ALL) == now.tools.get(ALL) and was.calls == now.calls
        self._same: dict[str, bool] = {}
        self._same_pins = was.catalogues == now.catalogues
        self._detectors = (was.adversarial.asked, was.adversarial.budget) == (
            now.adversarial.asked,
            now.adversarial.budget,
        )

    def of(self, session: Session, command: Command, found: Findings | None, who: str) -> Refreshed:
        return self._of(session, command, self._in_force(command, found), who)

    def _in_force(self, command: Command, found: Findings | None) -> Findings | None:
        """INVARIANT: a policy that reads `policy.*` reads of itself, as it would if it were in force. Who had
        adopted it then, nobody can know."""
        if not self._is_other:
            return found
        if found is None and isinstance(command, Propose) and self._tried:
            return ProposalFindings(in_force=self._tried)
        if not isinstance(found, ProposalFindings | StartFindings | AuthorityFindings):
            return found
        return found if found.in_force == self._tried else replace(found, in_force=self._tried)

    def _of(self, session: Session, command: Command, found: Findings | None, who: str) -> Refreshed:
        if isinstance(found, ProposalFindings):
            return self._proposal(candidates_of(session, command), found)
        if isinstance(found, StartFindings):
            candidates = candidates_of(session, command)
            if not candidates:
                return Refreshed(found)
            calls = self._proposal(candidates, ProposalFindings(calls=(found.call,)))
            if calls.whole or not isinstance(calls.findings, ProposalFindings):
                return calls
            return replace(calls, findings=replace(found, call=calls.findings.calls[0] or found.call))
        if isinstance(found, ClaimFindings):
            return Refreshed(found, whole=self._claims(session, command, found, who))
        return Refreshed(found)

    def _proposal(self, candidates: Sequence[Candidate], found: ProposalFindings) -> Refreshed:
        gaps: list[Unknown] = []
        calls: list[CallFinding | None] = []
        try:
            for at, candidate in enumerate(candidates):
                finding = found.calls[at] if at < len(found.calls) else None
                is_call = isinstance(candidate, CallCandidate) and finding is not None
                calls.append(self._call(candidate, finding) if is_call else finding)  # type: ignore[arg-type]
                gaps.append(self._unknown if is_call else self._adoption)
        except Doubt as doubt:
            return Refreshed(found, whole=str(doubt))
        if all(new is old for new, old in zip(calls, found.calls, strict=False)):
            return Refreshed(found, tuple(gaps))
        return Refreshed(replace(found, calls=tuple(calls)), tuple(gaps))

    def _is_same(self, tool_id: str) -> bool:
        """Do both policies say the same of a tool?"""
        if tool_id not in self._same:
            both = self._was.tools.get(tool_id), self._now.tools.get(tool_id)
            self._same[tool_id] = self._same_any and both[0] == both[1]
        return self._same[tool_id]

    def _call(self, candidate: CallCandidate, found: CallFinding) -> CallFinding:
        if candidate.upstream is not UNSET:
            if self._is_same(candidate.tool_id) and self._same_pins:
                return found
            raise Doubt(OTHER_TOOL)
        if self._is_same(candidate.tool_id):
            return found
        definition = found.definition
        if definition is None or definition.is_run_by_caller:
            return self._declared_now(candidate, found)
        was, now = (one.tools.get(candidate.tool_id) for one in (self._was, self._now))
        if was == now:
            return found
        if was is not None:
            raise Doubt(OTHER_TOOL)  # a policy tightens: what it tightened cannot be told apart any more
        assert now is not None  # noqa: S101 - they differ
        after = replace(
            tightened(definition, now), timeout_ms=min(definition.timeout_ms, self._now.max_timeout_ms)
        )
        return _with(found, after, _errors(now, candidate.args), definition, candidate.args)

    def _declared_now(self, candidate: CallCandidate, found: CallFinding) -> CallFinding:
        """Of a tool that its caller runs, or that was not known: then it is not registered at a server."""
        tool = self._declared.get(candidate.tool_id, self._registry)
        if tool is None:
            return CallFinding()
        if found.definition is None and candidate.capability_id is not None:
            raise Doubt(UNPROVEN)
        return _declared(tool, found, candidate.args, self._now)

    def _claims(self, session: Session, command: Command, found: ClaimFindings, who: str) -> str:
        if not self._detectors:
            return OTHER_DETECTORS
        if any(
            self._is_other_tool(one.action) for one in _claims(session, command) if one.action is not UNSET
        ):
            return OTHER_TOOL
        if isinstance(command, SubmitClaims):
            if self._was.security.rate_limit <= found.recent < self._now.security.rate_limit:
                return OVER_THE_RATE
            tiers = [
                effective_tiers(command.bundle, who, policy, found.tools or {}).highest
                for policy in (self._was, self._now)
            ]
            if tiers[0] != tiers[1]:
                return OTHER_TIER
        return ""

    def _is_other_tool(self, action: DecidedAction) -> bool:
        """May the recorded tier of a tool come from a policy that says something else of it now?"""
        if action.tool is UNSET or (self._is_same(action.tool) and (self._same_pins or not action.upstream)):
            return False
        said = (policy.tools.get(action.tool, policy.tools.get(ALL)) for policy in (self._was, self._now))
        return bool(action.upstream) or any(one is not None and one.is_run_by_caller for one in said)


def _claims(session: Session, command: Command) -> Sequence[Claim]:
    """The claims that a command brings, or that a person decides about."""
    if isinstance(command, SubmitClaims):
        return command.bundle.claims
    if not isinstance(command, DecideApproval):
        return ()
    if command.claims:
        return command.claims
    approval = session.approvals.by_id.get(command.approval_id)
    bundle = approval.subject.bundle if approval and isinstance(approval.subject, BundleSubject) else None
    return () if bundle is None else bundle.claims


def candidates_of(session: Session, command: Command) -> Sequence[Candidate]:
    """What a command is about, in the order of its outcomes."""
    if isinstance(command, Propose):
        return command.candidates
    if isinstance(command, StartCall) and (call := session.substrate.calls.get(command.call_id)) is not None:
        return (CallCandidate(tool_id=call.tool_id, args=call.args, upstream=call.upstream),)
    if isinstance(command, DecideApproval):
        approval = session.approvals.by_id.get(command.approval_id)
        subject = None if approval is None else approval.subject
        if isinstance(subject, CallSubject) and subject.candidate is not None:
            return (subject.candidate,)
    return ()


def _origin_gap(was: Policy, now: Policy) -> str:
    """Why recorded facts about calls are not those that the other policy would have had found out."""
    if now.context is UNSET:
        return ""
    if was.context is UNSET:
        return NO_ORIGIN
    sizes: dict[str, Any] = {"max_bytes": 1, "max_items": 1}  # how much is kept is no part of them
    alike = replace(was.context, **sizes) == replace(now.context, **sizes)
    return "" if alike and _infos(was, was.context) == _infos(now, now.context) else OTHER_ORIGIN


def _infos(policy: Policy, context: ContextPolicy) -> dict[str, tuple[ToolInfo, Any, Any, Any]]:
    return {
        name: (info_of(name, one, context), one.shell_args, one.workspace_args, one.patch_args)
        for name, one in policy.tools.items()
    }


def _declared(tool: CallerTool, found: CallFinding, args: Any, now: Policy) -> CallFinding:
    definition = replace(
        tool.definition,
        schema={},
        description="",
        timeout_ms=min(tool.definition.timeout_ms, now.max_timeout_ms),
    )
    known = replace(found, tier=definition.tier, begins=True)
    return _with(known, definition, tool.argument_errors(args), found.definition, args)


def _with(
    found: CallFinding,
    definition: ToolDefinition,
    errors: tuple[str, ...],
    was: ToolDefinition | None,
    args: Any,
) -> CallFinding:
    """A finding with another definition. Hosts are read off the arguments; paths were looked up."""
    paths = (definition.fs_read_args, definition.fs_write_args)
    if paths != (() if was is None else was.fs_read_args, () if was is None else was.fs_write_args):
        named = [args.get(name) for some in paths for name in some]
        if any(one is not None for one in named):
            raise Doubt(OTHER_PATHS)
        found = replace(found, files=())
    # INVARIANT: the hash stays the recorded one: that a tool was defined otherwise is no other tool here.
    return replace(found, definition=definition, argument_errors=errors, hosts=hosts_of(definition, args))


def _errors(named: ToolDefinition, args: Any) -> tuple[str, ...]:
    try:
        return Schema(named.schema).errors(args)
    except BadSchema as error:
        return (f"the policy's schema for this tool is none: {error}",)
