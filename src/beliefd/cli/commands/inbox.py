"""`beliefd inbox`: what waits for a person, and that person's decision."""

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, get_args

import click
from click import argument, option

from beliefd.cli import output
from beliefd.cli.files import read_list
from beliefd.cli.options import AT, FILE, NOTES, page_options, setting, together
from beliefd.cli.output import DECISION_EXITS, Exit, console, exit_of_call, passed
from beliefd.cli.target import Question, Target, asks, target_options
from beliefd.kernel.approvals.state import OPEN, ApprovalStatus, SubjectKind
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Tier

if TYPE_CHECKING:
    from beliefd.protocol.approvals import ApprovalCard, DecidedApproval

APPROVAL = argument("approval_id", metavar="APPROVAL")
REASON = option("--reason", default="", metavar="TEXT", help="Recorded with the decision.")
DECISION = together(
    REASON,
    option(
        "--hash",
        "content_hash",
        metavar="SHA256",
        help="Decide only if this is still what waits; shown by `show`.",
    ),
    option("--yes", is_flag=True, help="Do not show the item and ask first."),
    NOTES,
    target_options,
)
POLL_SECONDS = 1.0
inbox = click.Group("inbox", help="See what waits for a person, and decide about it.")


NARROWED = together(
    option("--tier", type=click.Choice([tier.name for tier in Tier]), help="Only what has this tier."),
    option("--agent", metavar="ID", help="Only what this principal proposed."),
    option("--session", "session_id", metavar="SESSION", help="Only what waits in this session."),
    option("--kind", type=click.Choice(get_args(SubjectKind)), help="Only what is about this."),
)
"""The same as in the console."""


@asks(
    inbox,
    option("--status", type=click.Choice(get_args(ApprovalStatus)), default="pending", show_default=True),
    NARROWED,
    page_options("APPROVAL"),
)
def list_(**asked: Any) -> Question:
    """What waits across all sessions, the riskiest first, then the oldest.

    Pages go by time, and so does --json; a page is put in order by itself.
    """
    from beliefd.cli.reviewing import filled

    return lambda calls: filled(calls, **asked)


@inbox.command()
@NARROWED
@option("--in", "space", metavar="SPACE", help="Only those of this space.")
@target_options
def review(target: Target, **asked: Any) -> None:
    """Go through what waits, the riskiest first: approve, reject, edit or leave each. Exits 3 if any is left.

    Without a terminal, answers are read from stdin, one per line.
    """
    from beliefd.cli.reviewing import review as reviewed

    sys.exit(reviewed(target, **asked))


@asks(inbox, APPROVAL, AT)
def show(approval_id: str, at: int | None) -> Question:
    """One item with all that is needed to decide it."""
    return lambda calls: calls.show_approval(approval_id, at=at)


def _decided(answer: Any) -> Exit:
    return {"pending": Exit.DEFERRED, "rejected": Exit.REFUSED}.get(answer.status, Exit.ALLOWED)


@asks(
    inbox,
    APPROVAL,
    option("--seconds", type=click.FloatRange(min=0), default=60, show_default=True, help="At most so long."),
    exits=_decided,
)
def wait(approval_id: str, seconds: float) -> Question:
    """Wait until it is decided. Exits 3 if it still waits, 4 if it was rejected."""
    return lambda calls: calls.wait_for_approval(approval_id, seconds)


@inbox.command()
@APPROVAL
@DECISION
def approve(target: Target, **given: Any) -> None:
    """Approve it; it takes effect if no gate refuses it now."""
    sys.exit(_exit(_decide(target, "APPROVED", **given)))


@inbox.command()
@APPROVAL
@DECISION
def reject(target: Target, **given: Any) -> None:
    """Reject it; this is final."""
    _decide(target, "REJECTED", **given)


@inbox.command()
@APPROVAL
@FILE
@DECISION
def modify(target: Target, path: str, **given: Any) -> None:
    """Replace its claims by those in FILE: a new proposal that another person must approve."""
    sys.exit(_exit(_decide(target, "MODIFIED", claims=read_list(path, "claims"), **given)))


@inbox.command()
@APPROVAL
@option("--to", "to_status", required=True, help="The weaker status.")
@DECISION
def downgrade(target: Target, **given: Any) -> None:
    """Let a write intent reach a weaker status only: a new intent that another person may have to approve."""
    sys.exit(_exit(_decide(target, "MODIFIED", **given)))


@inbox.command()
@APPROVAL
@DECISION
def defer(target: Target, **given: Any) -> None:
    """Ask for more evidence: the write intent ends here, and a later one may supersede it."""
    _decide(target, "DEFERRED", **given)


@inbox.command()
@APPROVAL
@DECISION
def seen(target: Target, **given: Any) -> None:
    """Take what is there for information off the list."""
    _decide(target, "SEEN", **given)


@asks(inbox, APPROVAL, REASON, NOTES)
def withdraw(approval_id: str, **given: Any) -> Question:
    """Take back what you proposed yourself."""
    return lambda calls: calls.withdraw_approval(approval_id, **given)


@inbox.command()
@option("--every", type=click.FloatRange(min=0.1), default=POLL_SECONDS, help="Seconds between looks.")
@target_options
def watch(target: Target, every: float) -> None:
    """Print each item as it comes in, until Ctrl-C."""
    from beliefd.cli.views.approvals import row

    cursor: str | None = None
    with suppress(KeyboardInterrupt), target.calls() as calls:
        while True:
            page = calls.list_approvals(cursor=cursor)
            for card in page.approvals:
                cursor = card.approval_id
                if target.as_json:
                    output.print_json(card)
                else:
                    console().print(row(card), soft_wrap=True)
            if page.next is None:
                time.sleep(every)


@inbox.command()
@option("--chat", metavar="URL", help="An incoming webhook of Slack, Mattermost or the like.")
@setting(
    "--mail", "BELIEFD_SMTP", "A mail server: smtp://user:password@host:port, or smtps://.", metavar="URL"
)
@option("--to", "receivers", multiple=True, metavar="ADDRESS", help="Who gets the mails; may be repeated.")
@option("--from", "sender", default="beliefd@localhost", show_default=True, metavar="ADDRESS")
@option("--console", "place", metavar="URL", help="Where people open the console; links lead there.")
@option("--waiting", is_flag=True, help="First tell what waits already.")
@option("--count", type=click.IntRange(1), metavar="N", help="End after so many messages.")
@option("--in", "space", metavar="SPACE", help="Only those of this space.")
@target_options
def tell(target: Target, **asked: Any) -> None:
    """Send each change of the inbox to a chat or as mail, until Ctrl-C. No text of an agent is sent."""
    from beliefd.cli.telling import tell_changes

    with suppress(KeyboardInterrupt):
        tell_changes(target, **asked)


def _decide(
    target: Target, decision: str, approval_id: str, content_hash: str | None, yes: bool, **given: Any
) -> "DecidedApproval":
    """INVARIANT: what is sent is the hash of what was shown (or named), never of whatever waits by then."""
    with target.calls() as calls:
        if content_hash is None:
            card = calls.show_approval(approval_id)
            content_hash = card.content_hash
            if not yes:
                _still_open(card)
                _confirm(card, decision)
        try:
            answer = calls.decide_approval(approval_id, decision, content_hash=content_hash, **given)
        except BeliefdError as error:
            raise _with_hint(error, target) from None
    output.show(answer, target.as_json)
    return answer


def _still_open(card: "ApprovalCard") -> None:
    """Nobody is asked about what is settled: who settled it, and when."""
    if card.status not in OPEN:
        by = f", by `{output.visible(card.decided_by)}`" if card.decided_by else ""
        at = f", at {card.decided_at}" if card.decided_at else ""
        told = f"approval `{card.approval_id}` is {card.status} already{by}{at}"
        raise BeliefdError(Code.CONFLICT, told, {"path": "$.approval_id", "status": card.status})


def _with_hint(error: BeliefdError, target: Target) -> BeliefdError:
    """What whoever tries it out on a server without tokens, or beside one, can do about it."""
    hint = None
    if error.code is Code.FORBIDDEN and target.token is None and not target.is_embedded:
        hint = "decide by the link that `beliefd serve` printed, or as somebody else with `--token`"
    elif error.code is Code.CONFLICT and target.is_embedded and "registered in this process" in error.message:
        hint = "if it is in the file of a server's `--policy`, `beliefd policy adopt` makes it known here"
    return error if hint is None else BeliefdError(error.code, f"{error.message}; {hint}", error.details)


def _exit(answer: "DecidedApproval") -> Exit:
    """INVARIANT: what still waits for somebody ends with 3, however it was decided."""
    if answer.call is not None:
        if answer.call.status == "scheduled" and _is_run_by_caller(answer.approval):
            return Exit.ALLOWED  # nobody else has to decide: it waits for the program that asked for it
        return exit_of_call(answer.call.verdict, answer.call.status)
    if answer.intent is not None and answer.intent.state != "awaiting_approval":
        return passed(answer.intent.state == "executed")
    return DECISION_EXITS[answer.outcome] if answer.outcome else Exit.DEFERRED


def _is_run_by_caller(card: "ApprovalCard") -> bool:
    return bool(getattr(card.subject, "is_run_by_caller", False))


_ASKED: Final = {
    "APPROVED": "approve this?",
    "REJECTED": "reject this?",
    "MODIFIED": "edit this?",
    "DEFERRED": "ask for more evidence?",
    "SEEN": "mark this as seen?",
}


def _confirm(card: "ApprovalCard", decision: str) -> None:
    from beliefd.cli.views.drawing import view

    console(stderr=True).print(view(card))
    try:
        click.confirm(_ASKED[decision], abort=True, err=True)
    except click.Abort:
        click.echo("nothing was decided; to decide without being asked, add `--yes`", err=True)
        raise
