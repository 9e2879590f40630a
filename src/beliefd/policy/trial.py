"""Trying a policy out on files: explain one call, or run a file of calls against their verdicts."""

from pathlib import Path
from typing import Any

from msgspec import Struct

from beliefd.documents import read_document
from beliefd.kernel.errors import invalid
from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.capabilities import Capability
from beliefd.kernel.substrate.explaining import Explanation, Question, explain_call
from beliefd.kernel.substrate.schemas import BadSchema, Schema
from beliefd.kernel.values import Value
from beliefd.ledger.chain import policy_hash
from beliefd.protocol.wire import convert


class Expected(Value, frozen=True):
    verdict: str
    reason_code: str | None = None


class Case(Value, frozen=True):
    """One call and what should become of it; `state` is laid over the file's."""

    call: Question
    expect: Expected
    name: str = ""
    state: dict[str, Any] = {}


class Cases(Value, frozen=True):
    cases: tuple[Case, ...]
    state: dict[str, Any] = {}


class Tried(Struct, frozen=True):
    name: str
    ok: bool
    expected: Expected
    explanation: Explanation


def explain_files(
    policy: Policy, state_file: Path, call_file: Path, token_file: Path | None, now: str
) -> Explanation:
    question = convert(read_document(call_file), Question)
    capability = None if token_file is None else _capability(_object(token_file))
    return _explained(policy, _object(state_file), question, capability, now)


def try_cases(policy: Policy, path: Path, now: str) -> list[Tried]:
    cases = convert(read_document(path), Cases)
    tried = []
    for number, case in enumerate(cases.cases, 1):
        explanation = _explained(policy, {**cases.state, **case.state}, case.call, None, now)
        code = case.expect.reason_code
        ok = explanation.verdict == case.expect.verdict and code in (None, explanation.reason_code)
        tried.append(Tried(case.name or f"case {number}", ok, case.expect, explanation))
    return tried


def _explained(
    policy: Policy, state: dict[str, Any], question: Question, capability: Capability | None, now: str
) -> Explanation:
    tool = policy.tools.get(question.tool_id)
    errors: tuple[str, ...] = ()
    if tool is not None:
        try:
            errors = Schema(tool.schema).errors(question.args)
        except BadSchema as error:
            raise invalid(f"the schema of `{question.tool_id}` is none: {error}", "$.tools") from None
    return explain_call(policy, policy_hash(policy), state, question, errors, capability, now)


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
