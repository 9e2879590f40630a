"""Something that is judged as often as one likes: as it is, and with some of its values changed."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.decide import decide
from beliefd.kernel.errors import invalid
from beliefd.kernel.event import Refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import findings_of, judge
from beliefd.kernel.substrate.calls import action_of
from beliefd.kernel.substrate.capabilities import Capability
from beliefd.kernel.substrate.commands import Propose
from beliefd.kernel.substrate.constraint_index import ConstraintIndex
from beliefd.kernel.substrate.constraints import Action, Reason
from beliefd.kernel.substrate.events import Arbitrated, CandidateResult
from beliefd.kernel.substrate.explaining import NOWHERE, situated
from beliefd.kernel.substrate.modes import mode_at
from beliefd.kernel.substrate.namespaces import write_capability
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate, DeltaCandidate, Patch
from beliefd.kernel.substrate.provenance import Provenance, source_of
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.renewing import renewed
from beliefd.kernel.substrate.rulebook import reads_policy, rulebook
from beliefd.kernel.substrate.schemas import BadSchema, Schema
from beliefd.kernel.substrate.situation import Situation
from beliefd.kernel.substrate.state import NORMAL_MODE, SetModeRecord, Substrate
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings, ToolDefinition
from beliefd.kernel.values import Principal, Role, TierName, shown
from beliefd.ledger.chain import policy_hash

Judge = Callable[[SymbolicState, Candidate], CandidateResult]
Refind = Callable[[CallCandidate], CallFinding]
AGAIN: Final = "again"
"""The name of no rules: what is said to be derived under them is derived anew."""
ORIGINS: Final = "where the values of the call came from"


class Trial(Struct, frozen=True, kw_only=True):
    """A candidate on a state under a policy. INVARIANT: `judge` is what judges proposals, and nothing else.

    `seen` is the state with what rules derive and what can be read of the policy, and `action` the candidate
    as constraints read it. `left_out` and `assumed` are as in the answer.
    """

    policy: Policy
    policy_hash: str
    now: str
    state: SymbolicState
    seen: Mapping[str, Any]
    candidate: Candidate
    action: Action
    judge: Judge
    left_out: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def rules(self) -> ConstraintIndex:
        return rulebook(self.policy, self.policy_hash)

    @property
    def known(self) -> Mapping[str, Any]:
        """What is seen, with the call in it."""
        return self.action.known(self.seen)

    def ruling(self) -> CandidateResult:
        return self.judge(self.state, self.candidate)


def call_trial(
    policy: Policy,
    state: Mapping[str, Any],
    question: Question,
    capability: Capability | None = None,
    now: str = "",
) -> Trial:
    """A call on a state that is given, in a session that holds nothing else."""
    name = policy_hash(policy)

    def judged(changed: SymbolicState, candidate: Candidate) -> CandidateResult:
        assert isinstance(candidate, CallCandidate)  # noqa: S101 - it was one
        asked = replace(question, args=candidate.args)
        setting = situated(policy, name, changed, asked, argument_errors(policy, asked), capability, now)
        return judge(setting.situation, setting.candidate, setting.finding, 0)

    setting = situated(policy, name, state, question, (), capability, now)
    origins = policy.context is not UNSET
    left_out = ["capability" if capability is None else "paths and hosts of the capability's scope"]
    left_out += [ORIGINS] if origins and question.facts is UNSET else []
    left_out += _no_such_tool(policy, question.tool_id)
    return Trial(
        policy=policy,
        policy_hash=name,
        now=setting.situation.facts.now,
        state=SymbolicState(state),
        seen=setting.situation.state,
        candidate=setting.candidate,
        action=setting.action,
        judge=judged,
        left_out=tuple(left_out),
        assumed=(ORIGINS,) if origins and question.facts is not UNSET else (),
    )


def _no_such_tool(policy: Policy, tool_id: str) -> list[str]:
    """A policy need not declare all tools of a server; where it declares some, a name may be misspelt."""
    if tool_id in policy.tools or not policy.tools:
        return []
    near = get_close_matches(tool_id, policy.tools, 1)
    meant = f" (did you mean `{near[0]}`?)" if near else ""
    return [f"whether there is a tool `{shown(tool_id)}`{meant}"]


def argument_errors(policy: Policy, question: Question) -> tuple[str, ...]:
    tool = policy.tools.get(question.tool_id)
    if tool is None:
        return ()
    try:
        return Schema(tool.schema).errors(question.args)
    except BadSchema as error:
        raise invalid(f"the schema of `{question.tool_id}` is none: {error}", "$.tools") from None


def somebody(role: Role, tier: TierName = "PRIVILEGE", agent_id: str | UnsetType = UNSET) -> Principal:
    """Who would make a change that nobody has made."""
    return Principal(id=agent_id or f"{role.value}://explained", role=role, tier=tier)


def delta_trial(
    policy: Policy,
    state: Mapping[str, Any],
    patch: Patch,
    who: Principal,
    now: str = "",
    mode: str = NORMAL_MODE,
) -> Trial:
    """A change of a state that is given, in a mode that somebody has set."""
    held = SetModeRecord(mode=mode, by="", reason="", since=now)
    substrate = Substrate(symbolic_state=SymbolicState(state), set_mode=held)
    session = replace(NOWHERE, substrate=substrate)
    facts = Facts(
        now=now,
        event_id=NOWHERE.session_id,
        principal=who,
        policy=policy,
        policy_hash=policy_hash(policy),
        findings=ProposalFindings(calls=(None,)),
    )
    return session_trial(session, proposed(DeltaCandidate(patch=patch), who.role), facts)


def proposed(candidate: Candidate, role: Role) -> Propose:
    return Propose(provenance=Provenance(source=source_of(role)), candidates=(candidate,))


def session_trial(
    session: Session,
    command: Propose,
    facts: Facts,
    index: int = 0,
    left_out: tuple[str, ...] = (),
    refind: Refind | None = None,
) -> Trial:
    """One candidate of a proposal in a session, under facts that are on record or were found out just now.

    `refind` finds out about a call with other arguments; without it, only the policy's schemas are known.
    """
    facts = _with_policy_keys(facts)
    mode = mode_at(session, facts.policy, facts.now)
    situation = Situation(renewed(session, facts, mode).session, facts, mode)
    candidates = command.candidates[:index]
    findings = findings_of(facts)
    finding = findings[index] if index < len(findings) else CallFinding()
    candidate = command.candidates[index]

    def judged(changed: SymbolicState, other: Candidate) -> CandidateResult:
        held = session
        if changed is not session.substrate.symbolic_state:
            # What rules derive is derived anew.
            under = AGAIN if facts.policy.rules else session.substrate.derived_under
            substrate = replace(session.substrate, symbolic_state=changed, derived_under=under)
            held = replace(session, substrate=substrate)
        known = facts if other is candidate else _refound(facts, finding, other, index, refind)
        return _ruled(decide(held, replace(command, candidates=(*candidates, other)), known), index)

    asked = isinstance(candidate, CallCandidate)
    return Trial(
        policy=facts.policy,
        policy_hash=facts.policy_hash,
        now=facts.now,
        state=session.substrate.symbolic_state,
        seen=situation.state,
        candidate=candidate,
        action=action_on(situation, candidate, finding),
        judge=judged,
        left_out=left_out,
        assumed=(ORIGINS,) if asked and facts.policy.context is not UNSET else (),
    )


def _with_policy_keys(facts: Facts) -> Facts:
    """Facts of a decision under a policy that read nothing of itself do for one that does."""
    found = facts.findings
    if not isinstance(found, ProposalFindings) or found.in_force is not UNSET:
        return facts
    if not reads_policy(facts.policy, facts.policy_hash):
        return facts
    return replace(facts, findings=replace(found, in_force=Adopted()))


def _refound(
    facts: Facts, finding: CallFinding, candidate: Candidate, index: int, refind: Refind | None
) -> Facts:
    """The facts with what depends on the arguments of a call; where its values came from stays as it is."""
    if not isinstance(candidate, CallCandidate) or not isinstance(facts.findings, ProposalFindings):
        return facts
    if refind is None:
        asked = Question(tool_id=candidate.tool_id, args=candidate.args)
        found = replace(finding, argument_errors=argument_errors(facts.policy, asked))
    else:
        new = refind(candidate)
        files = new.files if finding.files else ()
        found = replace(
            finding, argument_errors=new.argument_errors, hosts=new.hosts, files=files, network=new.network
        )
    calls = facts.findings.calls
    changed = (*calls[:index], found, *calls[index + 1 :])
    return replace(facts, findings=replace(facts.findings, calls=changed))


def _ruled(event: object, index: int) -> CandidateResult:
    if isinstance(event, Arbitrated):
        return event.results[index]
    assert isinstance(event, Refused)  # noqa: S101 - a proposal is arbitrated or refused
    reason = Reason(code=event.code, text=event.message)
    return CandidateResult(verdict="deny", reason_code=event.code, on_fail="block", reasons=(reason,))


def action_on(situation: Situation, candidate: Candidate, finding: CallFinding) -> Action:
    """A call or a write as constraints read it."""
    if isinstance(candidate, CallCandidate):
        return action_of(situation, candidate, finding, finding.definition or ToolDefinition())
    needed = {write_capability(key) for key in (*candidate.patch.set, *candidate.patch.remove)}
    return Action(None, tuple(sorted(needed)), None, situation.context(), situation.call_facts())
