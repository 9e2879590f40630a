"""`beliefd inbox`: what waits for a person, and that person's word."""

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from beliefd.cli.claim import EXITS
from beliefd.cli.output import Exit, console, print_json
from beliefd.cli.policy import EXITS as VERDICT_EXITS
from beliefd.cli.target import Target, target_options
from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    from beliefd.protocol.approvals import ApprovalCard, DecidedApproval

APPROVAL = click.argument("approval_id", metavar="APPROVAL")
REASON = click.option("--reason", default="", metavar="TEXT", help="Recorded with the decision.")
HASH = click.option(
    "--hash",
    "content_hash",
    metavar="SHA256",
    help="Decide only if this is still what waits; shown by `show`.",
)
YES = click.option("--yes", is_flag=True, help="Do not show the item and ask first.")
POLL_SECONDS = 1.0
STATUSES = (
    "pending", "approved", "rejected", "modified", "timed_out", "withdrawn", "superseded", "information"
)  # fmt: skip


@click.group()
def inbox() -> None:
    """See what waits for a person, and decide it."""


@inbox.command("list")
@click.option("--status", type=click.Choice(STATUSES), default="pending", show_default=True)
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True)
@click.option("--cursor", metavar="APPROVAL", help="Go on after this one.")
@target_options
def list_(target: Target, **asked: Any) -> None:
    """What waits, oldest first, over all sessions."""
    from beliefd.cli import claim_views

    target.show(target.ask(lambda calls: calls.list_approvals(**asked)), claim_views.inbox)


@inbox.command()
@APPROVAL
@target_options
def show(target: Target, approval_id: str) -> None:
    """One item with all that is needed to decide it."""
    from beliefd.cli import claim_views

    target.show(target.ask(lambda calls: calls.show_approval(approval_id)), claim_views.card)


@inbox.command()
@APPROVAL
@REASON
@HASH
@YES
@target_options
def approve(target: Target, **given: Any) -> None:
    """Let it out, if no gate refuses it now."""
    _decide(target, "APPROVED", **given)


@inbox.command()
@APPROVAL
@REASON
@HASH
@YES
@target_options
def reject(target: Target, **given: Any) -> None:
    """Refuse it for good."""
    _decide(target, "REJECTED", **given)


@inbox.command()
@APPROVAL
@click.argument("path", metavar="FILE")
@REASON
@HASH
@YES
@target_options
def modify(target: Target, path: str, **given: Any) -> None:
    """Replace its claims by those in FILE: a new proposal that another person must approve."""
    from beliefd.documents import parse_document, read_document

    document = parse_document(sys.stdin.buffer.read(), "stdin") if path == "-" else read_document(Path(path))
    claims = document.get("claims") if isinstance(document, dict) else document
    if not isinstance(claims, list) or not claims:
        raise invalid("the file needs a list of claims, or an object with `claims`", "$.claims")
    _decide(target, "MODIFIED", claims=claims, **given)


@inbox.command()
@APPROVAL
@click.option("--to", "to_status", required=True, help="The weaker status.")
@REASON
@HASH
@YES
@target_options
def downgrade(target: Target, to_status: str, **given: Any) -> None:
    """Let a write intent reach a weaker status only: a new intent that another person may have to approve."""
    _decide(target, "MODIFIED", to_status=to_status, **given)


@inbox.command()
@APPROVAL
@REASON
@HASH
@YES
@target_options
def defer(target: Target, **given: Any) -> None:
    """Ask for more evidence: the write intent ends here, and a later one may supersede it."""
    _decide(target, "DEFERRED", **given)


@inbox.command()
@APPROVAL
@REASON
@target_options
def withdraw(target: Target, approval_id: str, reason: str) -> None:
    """Take back what you proposed yourself."""
    from beliefd.cli import claim_views

    answer = target.ask(lambda calls: calls.withdraw_approval(approval_id, reason=reason))
    target.show(answer, claim_views.card)


@inbox.command()
@click.option("--every", type=click.FloatRange(min=0.1), default=POLL_SECONDS, help="Seconds between looks.")
@target_options
def watch(target: Target, every: float) -> None:
    """Print each item as it comes in, until Ctrl-C."""
    from beliefd.cli import claim_views

    cursor: str | None = None
    with suppress(KeyboardInterrupt), target.calls() as calls:
        while True:
            page = calls.list_approvals(cursor=cursor)
            for card in page.approvals:
                cursor = card.approval_id
                if target.as_json:
                    print_json(card)
                else:
                    console().print(claim_views.row(card), soft_wrap=True)
            if page.next is None:
                time.sleep(every)


def _decide(
    target: Target,
    decision: str,
    approval_id: str,
    reason: str,
    content_hash: str | None,
    yes: bool,
    **edit: Any,
) -> None:
    """INVARIANT: what is sent is the hash of what was shown (or named), never of whatever waits by then."""
    from beliefd.cli import claim_views

    with target.calls() as calls:
        if content_hash is None:
            card = calls.show_approval(approval_id)
            content_hash = card.content_hash
            if not yes:
                _confirm(card, decision)
        answer = calls.decide_approval(
            approval_id, decision, content_hash=content_hash, reason=reason, **edit
        )
    target.show(answer, claim_views.decided)
    if decision == "APPROVED":
        sys.exit(_exit(answer))


def _exit(answer: "DecidedApproval") -> Exit:
    if answer.call is not None:
        return VERDICT_EXITS[answer.call.verdict]
    if answer.intent is not None:
        return Exit.ALLOWED if answer.intent.state == "executed" else Exit.REFUSED
    return EXITS[answer.outcome] if answer.outcome else Exit.DEFERRED


def _confirm(card: "ApprovalCard", decision: str) -> None:
    from beliefd.cli import claim_views

    console(stderr=True).print(claim_views.card(card))
    click.confirm(f"{decision.lower()} this?", abort=True, err=True)
