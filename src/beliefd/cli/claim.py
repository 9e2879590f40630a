"""`beliefd claim`: bundles before the gates, with a server or (check) without one."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from beliefd.cli.output import Exit, errors_exit, print_json
from beliefd.cli.reading import read_object
from beliefd.cli.session import SESSION, conditions
from beliefd.cli.target import Target, target_options
from beliefd.kernel.values import Tier

if TYPE_CHECKING:
    from beliefd.protocol.claims import JudgedBundle

EXITS = {
    "PUBLISH": Exit.ALLOWED,
    "DEFER": Exit.DEFERRED,
    "ESCALATE": Exit.DEFERRED,
    "REFUSE": Exit.REFUSED,
}
A_BUNDLE = "a bundle is an object with `origin_agent` and `claims`"
BUNDLE_FILE = click.argument("path", metavar="FILE")


@click.group()
def claim() -> None:
    """Put claims before the gates, and see what became of them."""


@claim.command()
@SESSION
@BUNDLE_FILE
@conditions
@target_options
def submit(target: Target, session_id: str, path: str, **conditions: Any) -> None:
    """Submit the bundle in FILE (JSON or YAML; `-` is stdin). Exits 0 published, 3 waits, 4 refused."""
    from beliefd.cli import claim_views

    bundle = read_object(path, A_BUNDLE)
    answer = target.ask(lambda calls: calls.submit_claims(session_id, bundle, **conditions))
    target.show(answer, claim_views.bundle)
    sys.exit(EXITS[answer.decision])


@claim.command()
@BUNDLE_FILE
@click.option(
    "--policy", "policy_file", type=click.Path(dir_okay=False, path_type=Path), help="YAML or JSON."
)
@click.option(
    "--tier",
    type=click.Choice([tier.name for tier in Tier]),
    default=Tier.PRIVILEGE.name,
    show_default=True,
    help="Tier of the principal who would submit it.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def check(path: str, policy_file: Path | None, tier: str, as_json: bool) -> None:
    """What the gates would say of FILE. Needs no server and records nothing."""
    from beliefd.cli import claim_views
    from beliefd.cli.output import console

    with errors_exit(as_json):
        answer = _checked(read_object(path, A_BUNDLE), policy_file, tier)
    if as_json:
        print_json(answer)
    else:
        console().print(claim_views.bundle(answer))
    sys.exit(EXITS[answer.decision])


@claim.command()
@SESSION
@click.argument("bundle_id", metavar="[BUNDLE]", required=False)
@target_options
def show(target: Target, session_id: str, bundle_id: str | None) -> None:
    """One bundle as it was last judged, or all of a session."""
    from beliefd.cli import claim_views

    if bundle_id is not None:
        found = target.ask(lambda calls: calls.show_claims(session_id, bundle_id))
        target.show(found, claim_views.bundle)
    else:
        target.show(target.ask(lambda calls: calls.list_claims(session_id)), claim_views.bundles)


def _checked(document: Any, policy_file: Path | None, tier: str) -> "JudgedBundle":
    import beliefd
    from beliefd.kernel.values import Principal, Role
    from beliefd.policy.files import load_policy

    principal = Principal(id="agent://local", role=Role.AGENT, tier=tier)
    policy = None if policy_file is None else load_policy(policy_file)
    with beliefd.open(":memory:", principal=principal, policy=policy) as embedded:
        return embedded.check_claims(document)
