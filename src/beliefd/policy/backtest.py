"""What a policy would have said of recorded runs: every call is judged on what was told before it."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.context.policy import ContextPolicy
from beliefd.kernel.context.tools import as_operator_says
from beliefd.kernel.errors import invalid
from beliefd.kernel.origin import CallFacts, ContextItem, ToolInfo
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.explaining import Question, explain_call
from beliefd.ledger.chain import policy_hash
from beliefd.policy.chat_runs import ChatRun, Judge, read_runs, replay
from beliefd.policy.lexicons import shipped_lexicon

Verdict = Literal["allow", "ask", "deny"]
MAX_KIND: Final = 32


class CallVerdict(Struct, frozen=True, kw_only=True):
    """What would have become of one call, and by which rule."""

    run: str
    call_id: str
    tool_id: str
    verdict: Verdict
    rule: str
    why: str


class RunVerdict(Struct, frozen=True, kw_only=True):
    """What would have become of a run. `kind` is what its label calls it, if it has one."""

    run: str
    kind: str
    calls: list[CallVerdict]


class Tally(Struct, kw_only=True):
    """Runs of one kind, counted: a run is unattended if all of its calls were allowed."""

    kind: str
    runs: int = 0
    unattended: int = 0
    calls: int = 0
    allowed: int = 0
    asked: int = 0
    denied: int = 0
    rules: dict[str, int] = {}

    def add(self, run: RunVerdict) -> None:
        said = Counter(one.verdict for one in run.calls)
        self.runs += 1
        self.calls += len(run.calls)
        self.allowed += said["allow"]
        self.asked += said["ask"]
        self.denied += said["deny"]
        self.unattended += said["allow"] == len(run.calls)
        for one in run.calls:
            if one.verdict != "allow":
                self.rules[one.rule] = self.rules.get(one.rule, 0) + 1


def judge_by(policy: Policy) -> Judge:
    """The verdict of a policy on facts about a call. INVARIANT: what arbitrates proposals judges here."""
    name = policy_hash(policy)

    def judge(facts: CallFacts) -> tuple[Verdict, str, str]:
        found = explain_call(policy, name, {}, Question(tool_id=facts.tool_id, facts=facts))
        if found.verdict == "allow":
            return "allow", "", ""
        first = found.reasons[0]
        verdict: Verdict = "ask" if found.on_fail == "ask" else "deny"
        return verdict, first.constraint or first.code, first.words

    return judge


def backtest(
    policy: Policy, path: Path, report: Callable[[int], None] = lambda _: None
) -> Iterator[RunVerdict]:
    """The runs of a file one after the other; `report` is told how many there have been."""
    if policy.context is UNSET:
        raise invalid("the policy has no `context`: it does not ask where values came from", "$.context")
    lexicon, judge = shipped_lexicon(policy.context.lexicon), judge_by(policy)
    number = 0
    for number, run in enumerate(read_runs(path), 1):
        judged = replay(_as_told(run, policy.context), judge, lexicon)
        yield RunVerdict(
            run=run.run_id,
            kind=str(run.label.get("kind", "run"))[:MAX_KIND],
            calls=[
                CallVerdict(**{name: getattr(one, name) for name in CallVerdict.__struct_fields__})
                for one in judged
            ],
        )
        report(number)
    if not number:
        raise invalid(f"`{path}` holds no runs", "$")


def _as_told(run: ChatRun, policy: ContextPolicy) -> ChatRun:
    """The run with what the operator says: own addresses, and what tools do, listed in it or not."""
    own = tuple(ContextItem(kind="own_address", text=one) for one in policy.own_addresses)
    used = {step.tool_id for step in run.steps if step.tool_id and policy.kind_of(step.tool_id)}
    known = {name: ToolInfo(tool_id=name) for name in sorted(used)} | run.tools
    tools = {name: as_operator_says(info, policy) for name, info in known.items()}
    return replace(run, tools=tools, steps=(*own, *run.steps))
