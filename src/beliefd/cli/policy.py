"""`beliefd policy`: policy files, before they are in force."""

from pathlib import Path

import click

from beliefd.cli.output import errors_exit, print_json


@click.group()
def policy() -> None:
    """Check the rules that decisions are made under."""


@policy.command()
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the whole policy as JSON, defaults filled in.")
def check(path: Path, as_json: bool) -> None:
    """Say whether FILE can be adopted, and if not, which line is wrong."""
    from beliefd.ledger.chain import policy_hash
    from beliefd.policy.files import load_policy
    from beliefd.protocol.claim_answers import PolicyAnswer

    with errors_exit(as_json):
        found = load_policy(path)
    if as_json:
        print_json(PolicyAnswer(policy_hash=policy_hash(found), policy=found))
    else:
        click.echo(f"ok: policy {policy_hash(found)}")
