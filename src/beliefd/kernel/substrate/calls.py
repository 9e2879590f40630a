"""Tool calls: capability, arguments, repeats, then constraints; what passes gets its audited envelope."""

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.approvals.state import CallSubject
from beliefd.kernel.canonical import digest
from beliefd.kernel.substrate.capabilities import (
    Amounts,
    Capability,
    Part,
    ancestors,
    beyond,
    cannot_use,
    exhausted,
    forsaken,
    out_of_scope,
)
from beliefd.kernel.substrate.constraints import Action, Judgement, Reason
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.issuing import held_by_rule, rules_for, withdrawn
from beliefd.kernel.substrate.modes import share, turned_off
from beliefd.kernel.substrate.permits import asked_as, rejected_before, waiting_as, wrong_executor
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.substrate.questions import hash_of, question, with_consent
from beliefd.kernel.substrate.reserving import as_declared, as_spent, need_of, set_aside
from beliefd.kernel.substrate.situation import Situation, allowed, denied, failed, stale
from beliefd.kernel.substrate.state import Basis, ToolCall
from beliefd.kernel.substrate.tiers import beneath, tool_tier, with_person
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings, ToolDefinition
from beliefd.kernel.values import later

GRACE_MS = 5_000
"""What an outcome may be late before nobody expects it any more."""


def judge_call(
    situation: Situation, candidate: CallCandidate, finding: CallFinding, index: int
) -> CandidateResult:
    definition = finding.definition
    if definition is None:
        return denied([Reason(code="UNKNOWN_TOOL", text=f"no tool `{candidate.tool_id}` is registered")])
    misplaced = wrong_executor(situation, candidate.tool_id, definition)
    capability = misplaced or _proven(situation, candidate, finding)
    if isinstance(capability, Reason):
        return denied([capability])
    reasons = _unfit(situation, candidate, finding, definition, capability)
    if reasons:
        return denied(reasons)
    if (first := _first_outcome(situation, candidate)) is not None:
        return first
    reasons = _spent(situation, candidate.tool_id, finding, capability)
    if reasons := reasons + turned_off(situation.mode, situation.facts.policy, finding):
        return denied(reasons)
    rules, state = situation.rules, situation.state
    policy = situation.facts.policy
    tier = tool_tier(policy, candidate.tool_id, finding)
    action = action_of(situation, candidate, finding, definition)
    if situation.stale and (overlap := situation.stale & rules.reads(action)):
        return stale(overlap)
    judgement = state.truths(rules).judge(state, action)
    judgement = with_person(judgement, policy, candidate.tool_id, tier, finding)
    judgement = with_consent(judgement, situation.consent)
    if (result := failed(situation, judgement, action.known(state))) is None:
        return allowed(call=envelope(situation, candidate, finding, definition, capability, index))
    if result.on_fail == "ask":
        return _asked(situation, candidate, finding, result, judgement, index)
    return result


def action_of(
    situation: Situation, candidate: CallCandidate, finding: CallFinding, definition: ToolDefinition
) -> Action:
    """The call as constraints read it."""
    tier = tool_tier(situation.facts.policy, candidate.tool_id, finding)
    context = situation.context(tier=tier, mutates=definition.mutates)
    facts = situation.call_facts(finding)
    return Action(candidate.tool_id, definition.capabilities, candidate.args, context, facts)


def _asked(
    situation: Situation,
    candidate: CallCandidate,
    finding: CallFinding,
    result: CandidateResult,
    judgement: Judgement,
    index: int,
) -> CandidateResult:
    """The verdict with its question to a person. What its caller runs and has asked about waits already.

    INVARIANT: whom a person has told no cannot tire them out with the same call.
    """
    definition, who = finding.definition, situation.facts.principal.id
    asks: str | UnsetType = UNSET
    if definition is not None and definition.is_run_by_caller:
        waits = waiting_as(situation.session, candidate, who)
        if waits is not UNSET and _still_asks(situation, waits, judgement):
            return replace(result, waits=waits)
        no = rejected_before(situation.session, candidate, who) if _no_stands(situation) else None
        if no is not None:
            return denied([no, *result.reasons])
        asks = asked_as(candidate, who)
    approval = question(situation, candidate, finding, result, judgement.failures, index)
    return replace(result, approval=approval, asks=asks)


def _still_asks(situation: Situation, approval_id: str, judgement: Judgement) -> bool:
    """Would a yes to what waits answer what is asked now? A rule that has changed since asks anew."""
    found = situation.facts.findings
    if not isinstance(found, ProposalFindings) or found.asks_anew is not True:
        return True  # it was decided before there was this rule
    subject = situation.session.approvals.by_id[approval_id].subject
    asking = [one.constraint for one in judgement.failures if one.constraint.on_fail == "ask"]
    return isinstance(subject, CallSubject) and all(
        subject.asked.get(one.key) == hash_of(one) for one in asking
    )


def _no_stands(situation: Situation) -> bool:
    found = situation.facts.findings
    return isinstance(found, ProposalFindings) and found.no_stands is True


def envelope(
    situation: Situation,
    candidate: CallCandidate,
    finding: CallFinding,
    definition: ToolDefinition,
    capability: Capability,
    index: int,
) -> ToolCall:
    facts = situation.facts
    call = ToolCall(
        call_id=f"call-{facts.event_id}-{index}",
        tool_id=candidate.tool_id,
        args=candidate.args,
        args_hash=digest(candidate.args),
        definition_hash=finding.definition_hash,
        agent_id=facts.principal.id,
        state_snapshot_id=situation.session.substrate.state_snapshot_id,
        policy_hash=facts.policy_hash,
        scheduled_at=facts.now,
        deadline=later(facts.now, _patience(situation, definition)),
        files=finding.files,
        capability_id=capability.capability_id,
        idempotency_key=candidate.idempotency_key,
        basis=basis_of(situation, candidate, finding) if finding.begins else UNSET,
        executor=definition.executor,
        join_key=candidate.join_key,
        upstream=candidate.upstream,
        provenance=situation.provenance
        if definition.is_run_by_caller or facts.policy.arbitration.whole
        else UNSET,
        qos=situation.qos,
    )
    if situation.execute != "caller" or situation.behind:
        return call
    # INVARIANT: what its caller runs begins with the event that lets it through. That event is the permit.
    aside = reservation(situation, call, finding, takes_rest=True)
    return replace(call, status="running", reserved=aside)


def _patience(situation: Situation, definition: ToolDefinition) -> float:
    """For how many seconds an outcome is waited for; for how many a caller is, who is to begin it."""
    waits = situation.execute is None or situation.behind
    if definition.is_run_by_caller and waits and not situation.starting:
        return situation.facts.policy.begin_within_seconds
    # Calls of one proposal run one after the other: what may come before it is part of its time.
    return (situation.waiting_ms + definition.timeout_ms + GRACE_MS) / 1000


def reservation(situation: Situation, call: ToolCall, finding: CallFinding, *, takes_rest: bool) -> Amounts:
    """What is set aside for a call that begins."""
    held, definition = situation.session.substrate, finding.definition
    if call.capability_id is None or definition is None:
        return Amounts()
    capability = held.capabilities[call.capability_id]
    lineage = (capability, *ancestors(held.capabilities, capability))
    need = need_of(held, call.tool_id, definition)
    if takes_rest:
        need = as_declared(need, definition)
    return set_aside(lineage, need, part_of(situation))


def basis_of(situation: Situation, candidate: CallCandidate, finding: CallFinding) -> Basis:
    return Basis(
        proposer=situation.facts.principal,
        narrowed=candidate.narrowed,
        consent=situation.consent,
        nth=UNSET if finding.origin is UNSET else finding.origin.nth,
    )


def _proven(situation: Situation, candidate: CallCandidate, finding: CallFinding) -> Capability | Reason:
    """The capability that the token stands for, if it stands for one that counts."""
    if finding.token_problem is not None:
        return Reason(code="BAD_CAPABILITY", text=finding.token_problem)
    name = finding.capability_id or _own(situation, candidate.tool_id)
    if name is None:
        text = f"calling `{candidate.tool_id}` takes a capability token"
        return Reason(code="NO_CAPABILITY", text=text)
    held = situation.session.substrate.capabilities
    capability = held.get(name)
    if capability is None:
        return Reason(code="BAD_CAPABILITY", text="the capability is not known in this session")
    who, lineage = situation.facts.principal, ancestors(held, capability)
    problem = cannot_use(capability, lineage, who.id, situation.facts.now)
    problem = problem or withdrawn(situation.facts.policy, who, (capability, *lineage))
    problem = problem or forsaken((capability, *lineage), who.id, finding.givers)
    return capability if problem is None else Reason(code="BAD_CAPABILITY", text=problem)


def _own(situation: Situation, tool_id: str) -> str | None:
    """What policy has issued to who calls: it is bound to them, and needs no token.

    One that still counts, if there is one. Otherwise one that does not, which says why.
    """
    who, policy = situation.facts.principal, situation.facts.policy
    found = [
        held
        for rule in rules_for(policy, who)
        if rule.covers_tool(tool_id) and (held := held_by_rule(situation.session, rule, who)) is not None
    ]
    usable = (one for one in found if cannot_use(one, (), who.id, situation.facts.now) is None)
    best = next(usable, found[0] if found else None)
    return None if best is None else best.capability_id


def _unfit(
    situation: Situation,
    candidate: CallCandidate,
    finding: CallFinding,
    definition: ToolDefinition,
    capability: Capability,
) -> list[Reason]:
    """What is wrong with the call itself, whatever the state."""
    who, now = situation.facts.principal.id, situation.facts.now
    tier = tool_tier(situation.facts.policy, candidate.tool_id, finding)
    reasons = beneath(situation.facts.principal, candidate.tool_id, tier, finding)
    reasons += [
        Reason(code="OUT_OF_SCOPE", text=text)
        for text in out_of_scope(capability.scope, candidate.tool_id, finding)
    ]
    reasons += [
        Reason(code="OUT_OF_SCOPE", text=f"the token was narrowed down, and {what} is beyond it")
        for narrowing in candidate.narrowed
        for what in beyond(narrowing, candidate.tool_id, finding, who, now)
    ]
    reasons += [
        Reason(code="BAD_ARGUMENTS", text=text, remedy="arguments that fit the tool's schema")
        for text in finding.argument_errors
    ]
    if definition.mutates and candidate.idempotency_key is None:
        text = f"`{candidate.tool_id}` changes things: it needs an `idempotency_key`"
        reasons.append(Reason(code="NO_IDEMPOTENCY_KEY", text=text))
    return reasons


def _spent(situation: Situation, tool_id: str, finding: CallFinding, capability: Capability) -> list[Reason]:
    """Budgets that are used up, its own or of what it came out of, as far as the mode leaves them.

    What is set aside for calls under way may come back; only who begins right now cannot wait for that.
    """
    held, definition = situation.session.substrate, finding.definition
    need = need_of(held, tool_id, definition) if finding.begins and definition is not None else {}
    lineage = (capability, *ancestors(held.capabilities, capability))
    if situation.starting or situation.execute == "caller":
        lineage = tuple(as_spent(one) for one in lineage)
    return [
        Reason(code="BUDGET_EXHAUSTED", text=problem)
        for one in lineage
        if (problem := exhausted(one, part_of(situation), need)) is not None
    ]


def part_of(situation: Situation) -> Part:
    return lambda limit: share(limit, situation.mode, situation.facts.policy)


def _first_outcome(situation: Situation, candidate: CallCandidate) -> CandidateResult | None:
    """INVARIANT: a key runs once. The same call under it is answered again, another one refused."""
    if candidate.idempotency_key is None:
        return None
    call_id = situation.session.substrate.call_keys.get(f"{candidate.tool_id}\n{candidate.idempotency_key}")
    if call_id is None:
        return None
    first = situation.session.substrate.calls[call_id]
    same = (
        first.args_hash == digest(candidate.args)
        and first.agent_id == situation.facts.principal.id
        and candidate.capability_id in (None, first.capability_id)
    )
    if not same:
        text = f"`idempotency_key` was used for another call of `{candidate.tool_id}`"
        return denied([Reason(code="REPEATED_KEY", text=text)])
    return CandidateResult(verdict="allow", reason_code="REPEATED", repeats=call_id)
