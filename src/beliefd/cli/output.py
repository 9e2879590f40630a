"""What the command line prints and how it exits: JSON as answered, or text for people."""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click
from msgspec import Struct

from beliefd.cli.options import Decorator, together
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.protocol.visible import visible as visible  # noqa: PLC0414 - views take it from here
from beliefd.protocol.visible import visible_json, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 160


class Exit(IntEnum):
    """What a script learns from `$?`."""

    ALLOWED = 0
    FAILED = 1
    BAD_INPUT = 2
    DEFERRED = 3
    REFUSED = 4
    LEDGER_BROKEN = 5


_EXITS = {
    Code.LEDGER_BROKEN: Exit.LEDGER_BROKEN,
    Code.CHECKPOINT_FORGED: Exit.LEDGER_BROKEN,
    Code.PROOF_INVALID: Exit.LEDGER_BROKEN,
    Code.SPLIT_VIEW: Exit.LEDGER_BROKEN,
    Code.LOG_ROLLED_BACK: Exit.LEDGER_BROKEN,
    Code.WITNESS_MISSING: Exit.LEDGER_BROKEN,
    Code.ARCHIVE_INVALID: Exit.LEDGER_BROKEN,
    Code.SESSION_TERMINATED: Exit.REFUSED,
    Code.SESSION_SEALED: Exit.REFUSED,
    Code.SESSION_ARCHIVED: Exit.REFUSED,
    Code.CONFLICT: Exit.REFUSED,
    Code.UNAUTHORIZED: Exit.REFUSED,
    Code.FORBIDDEN: Exit.REFUSED,
    Code.SPECULATIVE_EVIDENCE: Exit.REFUSED,
    Code.SPECULATIVE_RESIDUE: Exit.REFUSED,
    Code.SPECULATIVE_PROPOSAL: Exit.REFUSED,
    Code.SPECULATIVE_ASSERTION: Exit.REFUSED,
    Code.HYPOTHESIS_IS_NOT_EVIDENCE: Exit.REFUSED,
    Code.NOT_WARRANTED: Exit.REFUSED,
    Code.QUOTA_EXCEEDED: Exit.REFUSED,
    Code.RATE_LIMITED: Exit.REFUSED,
    Code.CONTENT_DAMAGED: Exit.FAILED,
    Code.INTERNAL: Exit.FAILED,
    Code.STORAGE_UNAVAILABLE: Exit.FAILED,
    Code.TOO_BUSY: Exit.FAILED,
    Code.TIMED_OUT: Exit.FAILED,
}


DECISION_EXITS = {
    "PUBLISH": Exit.ALLOWED,
    "EXECUTE": Exit.ALLOWED,
    "EXPLAIN": Exit.ALLOWED,
    "DEFER": Exit.DEFERRED,
    "ESCALATE": Exit.DEFERRED,
    "REFUSE": Exit.REFUSED,
    "allow": Exit.ALLOWED,
    "defer": Exit.DEFERRED,
    "deny": Exit.REFUSED,
}
"""By what gates and arbitration say; their words do not overlap."""
OPEN = frozenset({"scheduled", "running", "unknown"})
"""Calls that may have done something, of which nobody can say what."""


def exit_of_call(verdict: str, status: str | None) -> Exit:
    """INVARIANT: 0 is for what is known to have ended. What nobody knows the outcome of ends with 3."""
    if status == "stopped":
        return Exit.REFUSED
    return max(DECISION_EXITS[verdict], Exit.DEFERRED if status in OPEN else Exit.ALLOWED)


def passed(allowed: bool) -> Exit:
    return Exit.ALLOWED if allowed else Exit.REFUSED


def exit_of(error: BeliefdError) -> Exit:
    """A refusal that stands in the ledger is a decision; the same code before any decision is bad input."""
    if "audit_event_id" in (error.details or {}):
        return Exit.REFUSED
    return _EXITS.get(error.code, Exit.BAD_INPUT)


_HINTS: Final = {
    Code.UNAUTHORIZED: "give a token that is valid with `--token` or BELIEFD_TOKEN",
    Code.SESSION_NOT_FOUND: "`beliefd session list` lists those there are",
    Code.APPROVAL_NOT_FOUND: "`beliefd inbox list` lists what waits",
}
"""What to do next at the command line, of errors that say it in no other way."""


@contextmanager
def errors_exit(as_json: bool = False) -> Iterator[None]:
    """Turn an error answer into one line (or its JSON) and its exit code."""
    try:
        yield
    except BeliefdError as error:
        if as_json:
            print_json(error.body)
        else:
            path = (error.details or {}).get("path")
            at, hint = f" (at `{path}`)" if path else "", _HINTS.get(error.code)
            complain(f"{error.code}: {error.message}{at}" + (f"; {hint}" if hint else ""))
        sys.exit(exit_of(error))


def fail(message: str, code: Exit = Exit.FAILED) -> NoReturn:
    complain(message)
    sys.exit(code)


def complain(message: str) -> None:
    click.echo(f"beliefd: {visible(message)}", err=True)


def print_json(answer: Any) -> None:
    """Exactly the answer, in one line; what a terminal would obey or hide is written by its number."""
    click.echo(visible_json(answer))


class Reply(Struct, frozen=True):
    """An answer with what people are told in its place (text, or something drawn), and how to exit."""

    answer: Any
    words: Any = None
    exit: Exit = Exit.ALLOWED
    complaints: Iterable[str] = ()


def show(answer: Any, as_json: bool) -> None:
    """The answer as it came, or drawn for people."""
    reply = answer if isinstance(answer, Reply) else Reply(answer)
    if as_json:
        print_json(reply.answer)
        return
    for message in reply.complaints:
        complain(message)
    if isinstance(reply.words, str):
        click.echo(visible_lines(reply.words))
    else:
        from beliefd.cli.views.drawing import view

        console().print(reply.words or view(reply.answer))


def replies(
    group: click.Group, *parameters: Decorator, json_help: str = "Print the answer as JSON."
) -> Callable[[Callable[..., Reply]], click.Command]:
    """A command of `group` that finds its answer without asking a server."""

    def decorated(command: Callable[..., Reply]) -> click.Command:
        @click.option("--json", "as_json", is_flag=True, help=json_help)
        @functools.wraps(command)
        def run(as_json: bool, **given: Any) -> None:
            with errors_exit(as_json):
                reply = command(**given)
            show(reply, as_json)
            sys.exit(reply.exit)

        return group.command(command.__name__.rstrip("_"))(together(*parameters)(run))

    return decorated


def console(*, stderr: bool = False) -> "Console":
    """INVARIANT: markup and emoji codes are off, so `[red]` in a hypothesis id is just these five letters."""
    from rich.console import Console

    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not made.is_terminal:
        made.width = PIPE_WIDTH
    return made
