"""Trying a policy out on files: explain one call or change, or run a file of them against their verdicts."""

from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import fields, replace

from beliefd.documents import read_document
from beliefd.kernel.errors import invalid
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.capabilities import Capability
from beliefd.kernel.substrate.events import Verdict
from beliefd.kernel.substrate.explaining import Explanation
from beliefd.kernel.substrate.guarantees import ModeName
from beliefd.kernel.substrate.proposals import Patch
from beliefd.kernel.substrate.question import Question
from beliefd.kernel.substrate.state import NORMAL_MODE
from beliefd.kernel.values import Id, Role, TierName, Value
from beliefd.policy.coverage import fired_by
from beliefd.policy.explaining.answering import explained, under
from beliefd.policy.explaining.trials import Trial, call_trial, delta_trial, somebody
from beliefd.protocol.explaining import PolicyExplanation
from beliefd.protocol.wire import convert


class Expected(Value, frozen=True):
    verdict: Verdict
    reason_code: str | None = None


class Case(Value, frozen=True):
    """One call, or one change of the state, and what should become of it: by somebody of a `role`, with a
    tier and an id, in a `mode`; a call may say each of these itself. `state` is laid over the file's."""

    expect: Expected
    call: Question | UnsetType = UNSET
    delta: Patch | UnsetType = UNSET
    role: Role = Role.AGENT
    mode: ModeName = NORMAL_MODE
    agent_tier: TierName = "PRIVILEGE"
    agent_id: Id | UnsetType = UNSET
    name: str = ""
    state: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if (self.call is UNSET) is (self.delta is UNSET):
            raise ValueError("a case has a `call` or a `delta`")

    def trial(self, policy: Policy, state: dict[str, Any], now: str) -> Trial:
        if self.delta is not UNSET:
            who = somebody(self.role, self.agent_tier, self.agent_id)
            return delta_trial(policy, state, self.delta, who, now, self.mode)
        assert self.call is not UNSET  # noqa: S101 - one of them is there
        return call_trial(policy, state, by(self, self.call), None, now)


class Cases(Value, frozen=True):
    cases: tuple[Case, ...]
    state: dict[str, Any] = {}


class Tried(Struct, frozen=True):
    """A case, what became of it, and the constraints that had a say in it."""

    name: str
    ok: bool
    expected: Expected
    explanation: Explanation
    fired: list[str]


class Files(Struct, frozen=True, kw_only=True):
    """What is to be explained: a call or a change, by somebody, on a state, perhaps under a capability."""

    state_file: Path | None = None
    call_file: Path | None = None
    delta_file: Path | None = None
    capability_file: Path | None = None
    role: Role = Role.AGENT
    mode: ModeName = NORMAL_MODE
    agent_tier: TierName = "PRIVILEGE"
    agent_id: Id | UnsetType = UNSET


def by(told: Case | Files, call: Question) -> Question:
    """The call with what is told of its caller beside it, where it says nothing else itself."""
    beside = {"role": told.role, "tier": told.agent_tier, "agent_id": told.agent_id, "mode": told.mode}
    silent = {field.name for field in fields(Question) if getattr(call, field.name) == field.default}
    return replace(call, **{name: value for name, value in beside.items() if name in silent})


def explain_files(policy: Policy, files: Files, now: str, against: Policy | None = None) -> PolicyExplanation:
    """Explain what files say; `against` is another policy to compare with."""
    state = {} if files.state_file is None else _object(files.state_file)
    held = files.capability_file
    capability = None if held is None else _capability(_object(held))
    patch = None if files.delta_file is None else convert(read_document(files.delta_file), Patch)
    question = None
    if files.call_file is not None:
        question = by(files, convert(_object(files.call_file), Question))

    def trial(under_policy: Policy) -> Trial:
        if patch is not None:
            who = somebody(files.role, files.agent_tier, files.agent_id)
            return delta_trial(under_policy, state, patch, who, now, files.mode)
        assert question is not None  # noqa: S101 - one of them is given
        return call_trial(under_policy, state, question, capability, now)

    others = [] if against is None else [under("against", trial(against))]
    return explained(trial(policy), others)


def try_cases(policy: Policy, path: Path, now: str) -> list[Tried]:
    cases = convert(read_document(path), Cases)
    return [
        _tried(case, case.name or f"case {number}", case.trial(policy, {**cases.state, **case.state}, now))
        for number, case in enumerate(cases.cases, 1)
    ]


def _tried(case: Case, name: str, trial: Trial) -> Tried:
    ruling, code = trial.ruling(), case.expect.reason_code
    told = Explanation(
        verdict=ruling.verdict,
        reason_code=ruling.reason_code,
        on_fail=ruling.on_fail,
        reasons=list(ruling.reasons),
        allowed_by=trial.rules.allowing(trial.seen, trial.action),
        left_out=list(trial.left_out),
    )
    ok = ruling.verdict == case.expect.verdict and code in (None, ruling.reason_code)
    return Tried(name, ok, case.expect, told, fired_by(trial, ruling))


def _object(path: Path) -> dict[str, Any]:
    value = read_document(path)
    if not isinstance(value, dict):
        raise invalid(f"`{path}` needs an object of keys and their values", "$")
    return value


def _capability(shown: dict[str, Any]) -> Capability:
    """A capability as `beliefd capability show --json` prints it: with its session, without its secret."""
    return convert(
        {**{name: shown[name] for name in shown if name != "session_id"}, "secret_hash": ""}, Capability
    )
