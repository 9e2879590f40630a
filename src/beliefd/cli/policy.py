"""`beliefd policy`: policy files, tried out before they are in force, and brought into force."""

import sys
from pathlib import Path
from typing import Any

import click

from beliefd.cli.output import Exit, console, errors_exit, print_json
from beliefd.cli.target import Target, target_options

FILE = click.Path(path_type=Path)
EXITS = {"allow": Exit.ALLOWED, "defer": Exit.DEFERRED, "deny": Exit.REFUSED}


@click.group()
def policy() -> None:
    """Check, try out and adopt the rules that decisions are made under."""


@policy.command()
@click.argument("path", metavar="FILE", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print the whole policy as JSON, defaults filled in.")
def check(path: Path, as_json: bool) -> None:
    """Say whether FILE can be adopted, and if not, which line is wrong."""
    from beliefd.ledger.chain import policy_hash
    from beliefd.policy.files import load_policy
    from beliefd.protocol.policy import PolicyAnswer

    with errors_exit(as_json):
        found = load_policy(path)
    if as_json:
        print_json(PolicyAnswer(policy_hash=policy_hash(found), policy=found, source="file"))
    else:
        click.echo(f"ok: policy {policy_hash(found)}")


@policy.command()
@target_options
def show(target: Target) -> None:
    """Which policy is in force, and where it comes from."""
    from beliefd.cli.claim_views import policy_in_force

    target.show(target.ask(lambda calls: calls.show_policy()), policy_in_force)


@policy.command()
@click.argument("path", metavar="FILE", type=FILE)
@target_options
def adopt(target: Target, path: Path) -> None:
    """Decide by FILE from now on, on every server of the store; it holds until another is adopted."""
    from beliefd.cli.claim_views import policy_in_force
    from beliefd.policy.files import load_policy

    found = load_policy(path)
    target.show(target.ask(lambda calls: calls.adopt_policy(found), create=True), policy_in_force)


@policy.command()
@click.option("--policy", "policy_file", type=FILE, required=True, help="The policy, YAML or JSON.")
@click.option(
    "--state", "state_file", type=FILE, required=True, help="F_sparse: an object of keys and values."
)
@click.option("--call", "call_file", type=FILE, required=True, help='`{"tool_id": ..., "args": {...}}`.')
@click.option(
    "--token", "token_file", type=FILE, help="A capability, as `beliefd capability show --json` prints it."
)
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(as_json: bool, policy_file: Path, **files: Any) -> None:
    """Say what arbitration would make of a call, and why. Needs no server and records nothing."""
    from beliefd.policy.files import load_policy
    from beliefd.policy.trying import explain_files
    from beliefd.steward.outside import now

    with errors_exit(as_json):
        answer = explain_files(load_policy(policy_file), **files, now=now())
    if as_json:
        print_json(answer)
    else:
        from beliefd.cli.substrate_views import explanation

        console().print(explanation(answer))
    sys.exit(EXITS[answer.verdict])


@policy.command()
@click.argument("path", metavar="CASES", type=FILE)
@click.option("--policy", "policy_file", type=FILE, required=True, help="The policy, YAML or JSON.")
@click.option("--json", "as_json", is_flag=True, help="Print every case as JSON.")
def test(path: Path, policy_file: Path, as_json: bool) -> None:
    """Run a file of calls and compare with the verdicts they should get."""
    from beliefd.policy.files import load_policy
    from beliefd.policy.trying import try_cases
    from beliefd.steward.outside import now

    with errors_exit(as_json):
        tried = try_cases(load_policy(policy_file), path, now())
    failed = sum(not case.ok for case in tried)
    if as_json:
        print_json({"passed": len(tried) - failed, "failed": failed, "cases": tried})
    else:
        from beliefd.cli.substrate_views import cases

        console().print(cases(tried))
        click.echo(f"{len(tried) - failed} passed, {failed} failed")
    sys.exit(Exit.REFUSED if failed else Exit.ALLOWED)
