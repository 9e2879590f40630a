"""`beliefd claim`: bundles judged by the gates, with a server or (check) without one."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import argument, option

from beliefd.cli.files import read_object
from beliefd.cli.options import AT, CONDITIONS, DETECTORS, FILE, POLICY, SESSION
from beliefd.cli.output import DECISION_EXITS, Reply, replies
from beliefd.cli.target import Question, asks
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import Principal, Role, Tier

if TYPE_CHECKING:
    from beliefd.adversarial.compare import Half
    from beliefd.adversarial.evaluate import Item

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
    DETECTORS,
)
def check(
    path: str,
    policy_file: Path | None,
    tier: str,
    principal: str,
    modules: tuple[str, ...],
    detector: tuple[str, ...],
) -> Reply:
    """What the gates would say of FILE. Needs no server and records nothing."""
    import beliefd
    from beliefd.cli.server import import_tools
    from beliefd.policy.files import load_policy
    from beliefd.steward.facts.detectors import named_detectors

    bundle = read_object(path, A_BUNDLE)
    for name in modules:
        import_tools(name)
    speaker = Principal(id=principal, role=Role.AGENT, tier=tier)
    policy = None if policy_file is None else load_policy(policy_file)
    asked = named_detectors(detector) or None
    with beliefd.open(":memory:", principal=speaker, policy=policy, detector=asked) as embedded:
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
    AT,
    option("--limit", type=click.IntRange(1, 500), default=50, show_default=True),
    option("--cursor", metavar="BUNDLE", help="Continue after this one."),
)
def list_(session_id: str, **asked: Any) -> Question:
    """The bundles of a session: what was decided of each, its tier, who proposed it, and why."""
    return lambda calls: calls.list_claims(session_id, **asked)


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


@replies(
    claim,
    argument("sets", metavar="[NAME=FILE]...", nargs=-1),
    DETECTORS,
    option("--half", type=click.Choice(["dev", "held_out"]), default="dev", show_default=True),
    option(
        "--rate",
        type=click.FloatRange(0, 0.5),
        default=0.01,
        show_default=True,
        help="Share of harmless texts that may be flagged, for the hits at that rate.",
    ),
)
def detectors(sets: tuple[str, ...], detector: tuple[str, ...], half: "Half", rate: float) -> Reply:
    """What detectors find in our labelled texts, and in files with `text` and `label` on each line."""
    from beliefd.adversarial.compare import compare
    from beliefd.cli.views.detectors import detectors as drawn
    from beliefd.steward.facts.detectors import named_detectors

    asked = named_detectors(detector or ("builtin",))
    lines = list(compare(dict(map(_labelled, sets)), asked, half, rate))
    return Reply(lines, drawn(lines, rate))


def _labelled(named: str) -> "tuple[str, list[Item]]":
    from beliefd.adversarial.evaluate import BadItem, read_items

    name, equals, path = named.partition("=")
    if not (name and equals):
        raise invalid(f"`{named}` is no NAME=FILE", "$.sets")
    try:
        return name, list(read_items(Path(path).read_text(encoding="utf-8").split("\n")))
    except (OSError, UnicodeDecodeError, BadItem) as error:
        raise invalid(f"cannot read `{path}`: {error}", "$.sets") from None
