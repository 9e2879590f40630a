"""`beliefd claim`: bundles judged by the gates, with a server or (check) without one."""

from pathlib import Path
from typing import Any

import click
from click import argument, option

from beliefd.cli.files import read_object
from beliefd.cli.options import AT, CONDITIONS, FILE, POLICY, SESSION
from beliefd.cli.output import DECISION_EXITS, Reply, replies
from beliefd.cli.target import Question, asks
from beliefd.kernel.values import Principal, Role, Tier

A_BUNDLE = "a bundle is an object with `claims`"
LOCAL = "agent://local"
claim = click.Group("claim", help="Submit claims to the gates, and see what was decided.")


@asks(claim, SESSION, FILE, CONDITIONS, exits=lambda answer: DECISION_EXITS[answer.decision])
def submit(session_id: str, path: str, **conditions: Any) -> Question:
    """Submit the bundle in FILE (JSON or YAML; `-` is stdin). Exits 0 published, 3 waits, 4 refused."""
    bundle = read_object(path, A_BUNDLE)
    return lambda calls: calls.submit_claims(session_id, bundle, **conditions)


@replies(
    claim,
    FILE,
    POLICY,
    option(
        "--tier",
        type=click.Choice([tier.name for tier in Tier]),
        default=Tier.PRIVILEGE.name,
        show_default=True,
        help="Tier of the principal who would submit it.",
    ),
    option(
        "--principal",
        default=LOCAL,
        show_default=True,
        help="Id of the principal who would submit it.",
    ),
    option("--tools", "modules", multiple=True, metavar="MODULE", help="Import it: it registers tools."),
)
def check(path: str, policy_file: Path | None, tier: str, principal: str, modules: tuple[str, ...]) -> Reply:
    """What the gates would say of FILE. Needs no server and records nothing."""
    import beliefd
    from beliefd.cli.server import import_tools
    from beliefd.policy.files import load_policy

    bundle = read_object(path, A_BUNDLE)
    for name in modules:
        import_tools(name)
    speaker = Principal(id=principal, role=Role.AGENT, tier=tier)
    policy = None if policy_file is None else load_policy(policy_file)
    with beliefd.open(":memory:", principal=speaker, policy=policy) as embedded:
        answer = embedded.check_claims(bundle)
    return Reply(answer, exit=DECISION_EXITS[answer.decision])


@asks(claim, SESSION, argument("bundle_id", metavar="[BUNDLE]", required=False), AT)
def show(session_id: str, bundle_id: str | None, at: int | None) -> Question:
    """One bundle as it was last judged and what became of it, or all of a session."""
    if bundle_id is None:
        return lambda calls: calls.list_claims(session_id, at=at)
    return lambda calls: calls.show_claims(session_id, bundle_id, at=at)


@asks(
    claim,
    SESSION,
    argument("bundle_id", metavar="BUNDLE"),
    option("--claim", "claim_ids", multiple=True, metavar="ID", help="Only this one; may be repeated."),
    option("--reason", required=True, metavar="TEXT", help="Shown with the claims from then on."),
    CONDITIONS,
)
def retract(session_id: str, bundle_id: str, **said: Any) -> Question:
    """Take back what was published. To correct it, submit a bundle that says what it `corrects`."""
    return lambda calls: calls.retract_claims(session_id, bundle_id, **said)
