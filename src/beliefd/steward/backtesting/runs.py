"""What a policy would have said of the calls of recorded runs, each on what was told before it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace
from rpds import HashTrieMap

from beliefd.kernel.adopted import Adopted
from beliefd.kernel.context.tools import as_operator_says
from beliefd.kernel.facts import Facts
from beliefd.kernel.names import ALL
from beliefd.kernel.origin import CallFacts, ContextItem, ToolInfo
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.arbitration import judge
from beliefd.kernel.substrate.calls import action_of
from beliefd.kernel.substrate.constraints import Action, Reason
from beliefd.kernel.substrate.events import CandidateResult
from beliefd.kernel.substrate.explaining import ANYTHING, EPOCH, NOWHERE
from beliefd.kernel.substrate.guarantees import ModeName
from beliefd.kernel.substrate.predicates import paths_read
from beliefd.kernel.substrate.proposals import CallCandidate
from beliefd.kernel.substrate.renewing import renewed
from beliefd.kernel.substrate.rulebook import reads_policy, rule_set, rulebook
from beliefd.kernel.substrate.shell import ShellFacts
from beliefd.kernel.substrate.situation import Situation
from beliefd.kernel.substrate.state import NORMAL_MODE, Substrate
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.kernel.substrate.tools import CallFinding, ProposalFindings, ToolDefinition, could_reach
from beliefd.kernel.values import Principal, Role, TierName
from beliefd.ledger.chain import policy_hash
from beliefd.policy.backtesting.steps import Began, Called, Damaged, Missing, Step
from beliefd.policy.backtesting.unknowns import ADOPTION, Undecided, Unknown, settled, spread, undecided
from beliefd.policy.lexicons import shipped_lexicon
from beliefd.steward.backtesting.remembering import Remembered, session_of
from beliefd.steward.facts.call_facts import hosts_of
from beliefd.steward.facts.caller_tools import CallerTool, DeclaredTools, caller_tool
from beliefd.steward.facts.shells import shell_facts
from beliefd.tools.registry import Registry

Verdict = Literal["allow", "ask", "deny", "undecidable"]
NO_STATE: Final = "the trace does not carry the symbolic state; give one with `--state`"
NO_CALLER: Final = "the trace does not say who called; give it with `--role`, `--agent-tier` or `--agent-id`"
NO_MODE: Final = "the trace does not say in which mode; give one with `--mode`"
NO_TIME: Final = "the trace does not say when it was"
NOT_CARRIED: Final = {
    **{f"call.{name}": NO_CALLER for name in ("agent_id", "role", "agent_tier")},
    **dict.fromkeys(("call.mode", "policy.mode"), NO_MODE),
    "call.now": NO_TIME,
    **ADOPTION,
}
NO_TOOL: Final = "the policy declares no such tool: what it does is not known"
UNDECLARED: Final = ToolDefinition(executor="caller")
UNDECIDABLE: Final = "UNDECIDABLE"
MOST_TOOLS: Final = 10_000
MOST: Final[TierName] = "PRIVILEGE"


class Given(Struct, frozen=True, kw_only=True):
    """What a trace does not carry, and who asks says. What they do not say is not known to constraints and
    rules; gates take it for what lets most through."""

    state: Mapping[str, Any] | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    role: Role | UnsetType = UNSET
    agent_tier: TierName | UnsetType = UNSET
    agent_id: str | UnsetType = UNSET

    @property
    def unknown(self) -> Unknown:
        """What is still not known."""
        said = {
            name for name in ("role", "agent_tier", "agent_id", "mode") if getattr(self, name) is not UNSET
        }
        paths = {path: why for path, why in NOT_CARRIED.items() if path.partition(".")[2] not in said}
        return Unknown(paths=paths, state=NO_STATE if self.state is UNSET else "")

    @property
    def assumed(self) -> list[str]:
        """What gates go by."""
        tier = [] if self.agent_tier else [f"an agent of tier {MOST} (`--agent-tier`)"]
        mode = [] if self.mode else [f"mode {NORMAL_MODE} (`--mode`)"]
        return [*tier, *mode, "a capability for every call, without a budget"]


NOTHING_GIVEN: Final = Given()


class Why(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reason: the constraint that speaks against a call, or what is not known."""

    code: str
    text: str
    constraint: str | None = None


class CallVerdict(Struct, frozen=True, kw_only=True):
    """What would have become of one call. The first reason is the one that decides."""

    run: str
    call_id: str
    tool: str
    verdict: Verdict
    reasons: list[Why]


class RunsTrial:
    """Judges calls of recorded runs. INVARIANT: what arbitrates proposals judges here.

    Open loop: the recorded model does not react. What was refused did not happen, so what the record says of
    it counts as a text from anywhere.
    """

    def __init__(self, policy: Policy, given: Given = NOTHING_GIVEN) -> None:
        self.policy, self.name = policy, policy_hash(policy)
        self.rules = rulebook(policy, self.name)
        self._by_key = {one.key: one for one in self.rules.constraints}
        self._tools = DeclaredTools(policy)
        self._registry = Registry()
        self._remembered = Remembered()
        self._infos: dict[str, tuple[ToolInfo, ToolInfo]] = {}
        self._findings: dict[str, tuple[CallFinding, CallerTool | None]] = {}
        self._watched: dict[tuple[str, tuple[str, ...]], bool] = {}
        self._unknown = spread(rule_set(policy, self.name), given.unknown)
        who = Principal(
            id=given.agent_id or ANYTHING.agent_id,
            role=given.role or Role.AGENT,
            tier=given.agent_tier or MOST,
        )
        mode = given.mode or NORMAL_MODE
        held = HashTrieMap({ANYTHING.capability_id: replace(ANYTHING, agent_id=who.id)})
        substrate = Substrate(symbolic_state=SymbolicState(given.state or {}), capabilities=held)
        facts = Facts(
            now=EPOCH,
            event_id=NOWHERE.session_id,
            principal=who,
            policy=policy,
            policy_hash=self.name,
            findings=ProposalFindings(in_force=Adopted() if reads_policy(policy, self.name) else UNSET),
        )
        known = renewed(replace(NOWHERE, substrate=substrate), facts, mode)
        self.situation = Situation(known.session, facts, mode, underivable=known.problem)
        self._state = self.situation.state

    def verdicts(self, steps: Iterable[Step]) -> Iterator[Began | CallVerdict | Damaged]:
        run = self._run(Began("run"))
        for step in steps:
            if isinstance(step, Called):
                yield self._judged(run, step)
            elif isinstance(step, ContextItem):
                run.tell(step)
            elif isinstance(step, Missing):
                run.missing = run.missing or step.why
            else:
                run = self._run(step) if isinstance(step, Began) else run
                yield step

    def _run(self, began: Began) -> "_Run":
        if len(self._infos) >= MOST_TOOLS:
            self._infos.clear()
        return _Run(self.policy, began, self._remembered, self._infos)

    def result(self, call: Called, facts: CallFacts) -> CandidateResult:
        """What arbitration says of a call of which these facts are known."""
        finding, _ = self._finding(call.tool_id)
        return judge(self.situation, _candidate(call), replace(finding, origin=facts), 0)

    def _judged(self, run: "_Run", call: Called) -> CallVerdict:
        finding, tool = self._finding(call.tool_id)
        unknown = self._unknown
        paths: dict[str, str] = {}
        gate = ""
        if tool is None:
            gate = NO_TOOL
            paths |= {"call.tier": NO_TOOL, "call.mutates": NO_TOOL}
        elif not (tool.definition.schema or self.situation.mode != NORMAL_MODE):
            pass  # no gate looks at the arguments
        elif call.problem:
            gate = call.problem
        else:
            hosts = hosts_of(tool.definition, call.args)
            finding = replace(
                finding,
                argument_errors=tool.argument_errors(call.args),
                hosts=hosts,
                network=could_reach(tool.definition, hosts),
            )
        facts: CallFacts | None = None
        if self.policy.context is not UNSET:
            shell = self._shell(finding, call)
            facts = run.facts(call, shell)
            finding = replace(finding, origin=facts, shell=UNSET if shell is None else shell)
            if run.missing:
                paths["fact.call"] = run.missing
        if call.problem:
            paths |= {"call.args": call.problem, "fact.call": call.problem}
        if paths:
            unknown = replace(unknown, paths={**unknown.paths, **paths})
        verdict, reasons = self._verdict(call, finding, unknown, gate)
        if facts is not None:
            run.learn(call.call_id, facts, verdict)
        return CallVerdict(
            run=run.name, call_id=call.call_id, tool=call.tool_id, verdict=verdict, reasons=reasons
        )

    def _finding(self, tool_id: str) -> tuple[CallFinding, CallerTool | None]:
        """What is declared about a tool; the same for all of its calls."""
        found = self._findings.get(tool_id)
        if found is None:
            tool = self._tools.get(tool_id, self._registry) or self._run_by_server(tool_id)
            definition = UNDECLARED if tool is None else replace(tool.definition, schema={}, description="")
            found = (
                CallFinding(
                    definition=definition, capability_id=ANYTHING.capability_id, tier=definition.tier
                ),
                tool,
            )
            if len(self._findings) >= MOST_TOOLS:
                self._findings.clear()
            self._findings[tool_id] = found
        return found

    def _run_by_server(self, tool_id: str) -> CallerTool | None:
        definition = self.policy.tools.get(tool_id) if tool_id != ALL else None
        return None if definition is None else caller_tool(tool_id, definition)

    def _shell(self, finding: CallFinding, call: Called) -> ShellFacts | None:
        return (
            None if finding.definition is None else shell_facts(finding.definition, call.args, call.workspace)
        )

    def _verdict(
        self, call: Called, finding: CallFinding, unknown: Unknown, gate: str
    ) -> tuple[Verdict, list[Why]]:
        """`gate` is what a gate would look at, and the trace does not carry."""
        candidate = _candidate(call)
        result = judge(self.situation, candidate, finding, 0)
        open_ = self._open(candidate, finding, unknown)
        if gate:
            open_.append(Undecided("", gate))
        if not settled(result, open_, self._by_key):
            return "undecidable", [
                Why(code=UNDECIDABLE, text=one.why, constraint=one.constraint or None) for one in open_
            ]
        return verdict_of(result), [why(one) for one in result.reasons]

    def _open(self, candidate: CallCandidate, finding: CallFinding, unknown: Unknown) -> list[Undecided]:
        if not self._reads(candidate.tool_id, finding, unknown):
            return []
        action = action_of(self.situation, candidate, finding, finding.definition or UNDECLARED)
        return undecided(self.rules, action, self._state, unknown)

    def _reads(self, tool_id: str, finding: CallFinding, unknown: Unknown) -> bool:
        """Does any constraint about the tool look at what is not known? Found out once per tool and gap."""
        key = tool_id, (*unknown.paths,)
        found = self._watched.get(key)
        if found is None:
            definition = finding.definition or UNDECLARED
            action = Action(tool_id, definition.capabilities)
            found = any(
                unknown.why(path)
                for one in self.rules.constraints
                if one.when is not None and one.names(action)
                for path in paths_read(one.when)
            )
            if len(self._watched) >= MOST_TOOLS:
                self._watched.clear()
            self._watched[key] = found
        return found


class _Run:
    """What is known of a run so far: the index of what was told, where policy asks for that. `infos` are
    tools of other runs, each as it was told and as it is known."""

    def __init__(
        self,
        policy: Policy,
        began: Began,
        remembered: Remembered,
        infos: dict[str, tuple[ToolInfo, ToolInfo]],
    ) -> None:
        self.name = began.run
        self.missing = ""
        self._context = policy.context
        self._named = policy.tools
        if self._context is UNSET:
            return
        self._index = session_of(shipped_lexicon(self._context.lexicon), remembered)
        self._refused: set[str] = set()
        self._tools: dict[str, ToolInfo] = {}
        self._infos = infos
        for info in began.tools.values():
            self._known(info.tool_id, info)
        for address in self._context.own_addresses:
            self._index.tell(ContextItem(kind="own_address", text=address))

    def _known(self, tool_id: str, info: ToolInfo | None = None) -> ToolInfo:
        """What the trace says of a tool, and what the operator does, which counts more."""
        found = self._tools.get(tool_id)
        if found is None or info is not None:
            told = info or ToolInfo(tool_id=tool_id)
            before = self._infos.get(tool_id)
            if before is None or before[0] != told:
                before = self._infos[tool_id] = (told, self._as_policy_says(told))
            found = self._tools[tool_id] = before[1]
        return found

    def _as_policy_says(self, info: ToolInfo) -> ToolInfo:
        named = self._named.get(info.tool_id)
        if named is not None and (named.tier != "READ_ONLY" or named.mutates):
            return replace(info, tier="write")
        return info if self._context is UNSET else as_operator_says(info, self._context)

    def tell(self, item: ContextItem) -> None:
        if self._context is UNSET:
            return
        # What was refused did not happen: what the record says of it is a text.
        told = replace(item, error=True) if item.call_id in self._refused else item
        self._index.tell(told, self._known(item.tool_id) if item.tool_id else None)

    def facts(self, call: Called, shell: ShellFacts | None) -> CallFacts:
        tool = self._known(call.tool_id)
        if shell is not None and self._context is not UNSET:
            harmless = self._context.harmless
            tool = replace(tool, tier="read" if shell.reach in harmless else "write", examined=True)
        return self._index.facts(tool, call.args, self._tools)

    def learn(self, call_id: str, facts: CallFacts, verdict: Verdict) -> None:
        if verdict == "allow":
            self._index.allowed(facts)
        else:
            self._index.refused(facts)
            self._refused.add(call_id)


def _candidate(call: Called) -> CallCandidate:
    return CallCandidate(
        tool_id=call.tool_id,
        args=call.args,
        capability_id=ANYTHING.capability_id,
        idempotency_key=call.call_id,
    )


def verdict_of(result: CandidateResult) -> Verdict:
    if result.verdict == "allow":
        return "allow"
    return "ask" if result.on_fail == "ask" else "deny"


def why(reason: Reason) -> Why:
    return Why(code=reason.code, text=reason.words, constraint=reason.constraint)
