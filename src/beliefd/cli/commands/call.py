"""`beliefd call`: tool calls that were let through, and those that you run yourself."""

from typing import Any

import click
from click import argument, option

from beliefd.cli.files import read_value
from beliefd.cli.options import CONDITIONS, SESSION
from beliefd.cli.output import Exit, exit_of_call
from beliefd.cli.target import Question, asks

CALL = argument("call_id", metavar="CALL")
call = click.Group("call", help="See tool calls, begin those that you run yourself, and report on them.")


@asks(call, SESSION, CALL)
def show(session_id: str, call_id: str) -> Question:
    """A call: what its permit binds, and what came of it."""
    return lambda calls: calls.show_call(session_id, call_id)


def exit_of_permit(answer: Any) -> Exit:
    """0 is for who may run it now. A call that was begun before is not to be run again."""
    return Exit.ALLOWED if answer.permit is not None else exit_of_call(answer.verdict, answer.status)


@asks(call, SESSION, CALL, CONDITIONS, exits=exit_of_permit)
def begin(session_id: str, call_id: str, **conditions: Any) -> Question:
    """Begin a call that was approved and that you run yourself. Exits 0 if you may run it now, once."""
    return lambda calls: calls.begin_call(session_id, call_id, **conditions)


@asks(
    call,
    SESSION,
    CALL,
    argument("status", type=click.Choice(["ok", "error", "unknown"])),
    option("--result", metavar="TEXT", help="What it returned, as text."),
    option("--json-file", metavar="FILE", help="What it returned, as JSON in a file; `-` is stdin."),
    option("--error", metavar="TEXT", help="What went wrong."),
    option("--tokens", type=click.IntRange(min=0), help="Tokens that it used."),
    option("--cpu-ms", type=click.IntRange(min=0), help="Milliseconds of processor time that it used."),
    option("--disk-bytes", type=click.IntRange(min=0), help="Bytes on disk that it used."),
    CONDITIONS,
)
def report(session_id: str, call_id: str, status: str, json_file: str | None, **told: Any) -> Question:
    """Report what came of a call that you ran; once, by who began it."""
    if json_file is not None:
        if told["result"] is not None:
            raise click.UsageError("--result and --json-file exclude each other.")
        told["result"] = read_value(json_file)
    return lambda calls: calls.report_outcome(session_id, call_id, status, **told)
