"""`beliefd policy`: policy files, tried out before they are in force, and brought into force."""

from pathlib import Path
from typing import Any

import click
from click import argument, option

from beliefd.cli.output import DECISION_EXITS, Reply, passed, replies
from beliefd.cli.target import Question, asks

PATH = click.Path(path_type=Path)
FILE = argument("path", metavar="FILE", type=PATH)
POLICY = option("--policy", "policy_file", type=PATH, required=True, help="The policy, YAML or JSON.")
policy = click.Group("policy", help="Check, try out and adopt the rules that decisions are made under.")


@replies(policy, FILE, json_help="Print the whole policy as JSON, defaults filled in.")
def check(path: Path) -> Reply:
    """Say whether FILE can be adopted, and if not, which line is wrong."""
    from beliefd.ledger.chain import policy_hash
    from beliefd.policy.files import load_policy
    from beliefd.protocol.policy import PolicyAnswer

    found = load_policy(path)
    answer = PolicyAnswer(policy_hash=policy_hash(found), policy=found, source="file")
    return Reply(answer, f"ok: policy {answer.policy_hash}")


@asks(policy)
def show() -> Question:
    """Which policy is in force, and where it comes from."""
    return lambda calls: calls.show_policy()


@asks(policy, FILE, create=True)
def adopt(path: Path) -> Question:
    """Decide by FILE from now on, on every server of the store; it holds until another is adopted."""
    from beliefd.policy.files import load_policy

    found = load_policy(path)
    return lambda calls: calls.adopt_policy(found)


@replies(
    policy,
    POLICY,
    option("--state", "state_file", type=PATH, required=True, help="F_sparse: an object of keys and values."),
    option("--call", "call_file", type=PATH, required=True, help='`{"tool_id": ..., "args": {...}}`.'),
    option(
        "--token",
        "token_file",
        type=PATH,
        help="A capability, as `beliefd capability show --json` prints it.",
    ),
    json_help="Print the explanation as JSON.",
)
def explain(policy_file: Path, **files: Any) -> Reply:
    """Say what arbitration would decide about a call, and why. Needs no server and records nothing."""
    from beliefd.policy.files import load_policy
    from beliefd.policy.trial import explain_files
    from beliefd.steward.environment import now

    answer = explain_files(load_policy(policy_file), **files, now=now())
    return Reply(answer, exit=DECISION_EXITS[answer.verdict])


@replies(policy, argument("path", metavar="CASES", type=PATH), POLICY, json_help="Print every case as JSON.")
def test(path: Path, policy_file: Path) -> Reply:
    """Run a file of calls and compare with the verdicts they should get."""
    from beliefd.cli.views.policy import cases
    from beliefd.policy.files import load_policy
    from beliefd.policy.trial import try_cases
    from beliefd.steward.environment import now

    tried = try_cases(load_policy(policy_file), path, now())
    failed = sum(not case.ok for case in tried)
    answer = {"passed": len(tried) - failed, "failed": failed, "cases": tried}
    return Reply(answer, cases(tried), passed(not failed))
