"""Going through the inbox: one item after the other, shown whole, decided by one letter.

Answers are read from the terminal, or line by line from whatever stdin is.
"""

import os
import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args

import click
import msgspec
from msgspec.structs import replace

from beliefd.cli import output
from beliefd.cli.files import read_list_in, read_object_in
from beliefd.cli.output import Exit, complain, console
from beliefd.cli.progress import progress, waiting
from beliefd.kernel.errors import BeliefdError, invalid

if TYPE_CHECKING:
    from beliefd.cli.target import Target
    from beliefd.client.synchronous import Calls
    from beliefd.protocol.approvals import ApprovalCard, Inbox

MOST: Final = 2_000
"""So many items are read before they are sorted."""
PAGE: Final = 500
DECISIONS: Final = {"approve": "APPROVED", "reject": "REJECTED", "edit": "MODIFIED", "defer": "DEFERRED"}
FILTERS: Final = ("tier", "agent", "session_id", "kind")
NO_DECISION: Final = ("next", "skip", "quit")
"""`next` comes back to it at the end, `skip` leaves it to somebody else."""
Edit = dict[str, Any]


class Stopped(Exception):
    """The reviewer has no more to say."""


def listed(calls: "Calls", **asked: Any) -> "Iterator[ApprovalCard]":
    """The items of the inbox that fit, page by page; which ledgers cannot be read is said."""
    cursor: str | None = None
    while True:
        page = calls.list_approvals(cursor=cursor, limit=PAGE, **asked)
        yield from page.approvals
        for one in page.broken:
            complain(f"session {one.session_id} is broken: what waits there is not shown: {one.reason}")
        cursor = page.next
        if cursor is None:
            return


def filled(calls: "Calls", limit: int, cursor: str | None = None, **asked: Any) -> "Inbox":
    """One page as long as was asked for: narrowed down, the server's own may be shorter or empty."""
    page = calls.list_approvals(cursor=cursor, limit=limit, **asked)
    while page.next is not None and len(page.approvals) < limit and any(map(asked.get, FILTERS)):
        more = calls.list_approvals(cursor=page.next, limit=limit - len(page.approvals), **asked)
        both = [*page.approvals, *more.approvals]
        page = replace(more, approvals=both, broken=[*page.broken, *more.broken])
    return page


def review(target: "Target", **asked: Any) -> Exit:
    """Exits with 3 if something that was shown still waits."""
    from beliefd.protocol.approvals import riskiest_first

    with target.calls() as calls:
        with progress("reading the inbox", None) as report:
            found = []
            for card in islice(listed(calls, **asked), MOST):
                found.append(card)
                report(len(found))
        queue = deque(card.approval_id for card in riskiest_first(found))
        if not queue:
            output.show(output.Reply({"left": 0}, "nothing waits"), target.as_json)
            return Exit.ALLOWED
        return _Review(target, calls, queue).run()


class _Answer(NamedTuple):
    decision: str
    said: Edit


class _Review:
    """One pass through the inbox. INVARIANT: what is decided is what was shown, by its hash."""

    def __init__(self, target: "Target", calls: "Calls", queue: "deque[str]") -> None:
        self._target = target
        self._calls = calls
        self._queue = queue
        self._left = 0
        self._terminal = sys.stdin.isatty()

    def run(self) -> Exit:
        try:
            while self._queue:
                self._one(self._queue.popleft())
        except Stopped:
            pass
        left = self._left + len(self._queue)
        output.show(
            output.Reply({"left": left}, f"{left} left waiting" if left else "done"), self._target.as_json
        )
        return Exit.DEFERRED if left else Exit.ALLOWED

    def _one(self, approval_id: str) -> None:
        with waiting("asking the server"):
            card = self._calls.show_approval(approval_id)
        if card.status != "pending":
            by = f" by {card.decided_by}" if card.decided_by else ""
            self._tell(f"{approval_id} is {card.status}{by} by now")
            return
        self._show(card)
        try:
            answer = self._asked(card)
        except Stopped:
            self._left += 1
            raise
        if answer is None:
            return
        try:
            with waiting("deciding"):
                came = self._calls.decide_approval(
                    approval_id, answer.decision, content_hash=card.content_hash, **answer.said
                )
        except BeliefdError as error:
            # Somebody else was faster, or the edit does not do: it is shown again as it is by now.
            complain(f"nothing was decided: {error.code}: {error.message}")
            self._again(approval_id)
            return
        output.show(came, self._target.as_json)

    def _again(self, approval_id: str) -> None:
        if self._calls.show_approval(approval_id).status == "pending":
            self._queue.append(approval_id)

    def _show(self, card: "ApprovalCard") -> None:
        if self._target.as_json:
            output.print_json(card)
            return
        from beliefd.cli.views.drawing import view

        shown = console()
        drawn = view(card)
        if shown.is_terminal and self._terminal:
            lines = len(shown.render_lines(drawn, pad=False))
            if lines > shown.height - 3:
                os.environ.setdefault("LESS", "-R")  # or it shows colours as control characters
                with shown.pager(styles=True):
                    shown.print(drawn)
                return
        shown.print(drawn)

    def _asked(self, card: "ApprovalCard") -> _Answer | None:
        """What the reviewer says; None leaves it as it is."""
        ways = _ways(card)
        offered = " ".join(f"({way[0]}){way[1:]}" for way in ways)
        while True:
            word = self._line(f"{len(self._queue)} more. {offered}? ").strip().lower()
            chosen = [way for way in ways if word and way.startswith(word)]
            if len(chosen) != 1:
                complain(f"`{word}` is none of {', '.join(ways)}")
                continue
            if chosen[0] == "quit":
                raise Stopped
            if chosen[0] == "skip":
                self._left += 1
                return None
            if chosen[0] == "next":
                self._queue.append(card.approval_id)
                return None
            try:
                return self._decision(card, chosen[0])
            except BeliefdError as error:
                complain(error.message)

    def _decision(self, card: "ApprovalCard", way: str) -> _Answer:
        if way == "edit" and (args := _arguments(card)) is not None:
            return self._instead(args)
        if way == "edit":
            said = self._edited(card)
            return _Answer(DECISIONS[way], {**said, "reason": self._line("reason (may be empty): ").strip()})
        if way == "approve":
            self._retyped(card)
        return _Answer(DECISIONS[way], {"reason": self._line("reason (may be empty): ").strip()})

    def _retyped(self, card: "ApprovalCard") -> None:
        """INVARIANT: what cannot be undone is never let through by one letter."""
        from beliefd.kernel.policy import HUMAN_ALWAYS

        if card.tier in HUMAN_ALWAYS and self._line(f"type {card.tier} to approve it: ").strip() != card.tier:
            raise invalid(f"not approved: `{card.tier}` was not typed")

    def _edited(self, card: "ApprovalCard") -> Edit:
        """Another content in its place: claims in an editor, or a weaker status."""
        if card.claims:
            claims = msgspec.to_builtins(card.claims)
            return {"claims": read_list_in(self._in_editor({"claims": claims}, "claims"), "claims")}
        from beliefd.kernel.intents.state import EpistemicStatus

        statuses = get_args(EpistemicStatus)
        status = self._line(f"weaker status ({', '.join(statuses)}): ").strip()
        if status not in statuses:
            raise invalid(f"`{status}` is none of {', '.join(statuses)}")
        return {"to_status": status}

    def _instead(self, args: Edit) -> _Answer:
        """Who runs a call proposes it as it is to run: an edit is a no that says what would be asked for."""
        from beliefd.protocol.asked import with_instead

        wanted = read_object_in(self._in_editor(args, "arguments"), "arguments")
        said = self._line("rejected with these arguments for its agent to propose. reason (may be empty): ")
        return _Answer("REJECTED", {"reason": with_instead(said.strip(), wanted)})

    def _in_editor(self, value: Edit, what: str) -> bytes:
        if not self._terminal:
            raise invalid(f"{what} are edited in a terminal; or use `beliefd inbox modify` and `reject`")
        written = msgspec.json.format(msgspec.json.encode(value)).decode()
        edited = click.edit(written, extension=".json")
        if edited is None or edited == written:
            raise invalid("nothing was edited")
        return edited.encode()

    def _line(self, question: str) -> str:
        """One answer. INVARIANT: where answers end, nothing more is decided."""
        click.echo(question, nl=False, err=True)
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            click.echo(err=True)
            raise Stopped
        if not self._terminal:
            click.echo(err=True)
        return line

    def _tell(self, words: str) -> None:
        if not self._target.as_json:
            click.echo(output.visible(words))


def _ways(card: "ApprovalCard") -> list[str]:
    """What can be said of an item; those that decide only if its server would hear them."""
    heard = {way for way, said in DECISIONS.items() if said in card.allowed_decisions}
    if "reject" in heard and _arguments(card) is not None:
        heard.add("edit")
    return [*(way for way in DECISIONS if way in heard), *NO_DECISION]


def _arguments(card: "ApprovalCard") -> Edit | None:
    """The arguments of a call that waits."""
    from beliefd.kernel.approvals.state import CallSubject

    candidate = card.subject.candidate if isinstance(card.subject, CallSubject) else None
    return None if candidate is None else dict(candidate.args)
