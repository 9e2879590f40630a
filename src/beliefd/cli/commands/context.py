"""`beliefd context`: what an agent was told, and what its tools gave back."""

from typing import Any, get_args

import click
from click import argument, option

from beliefd.cli.options import CONDITIONS, SESSION, json_object
from beliefd.cli.target import Question, asks
from beliefd.kernel.context.commands import ContextKind

context = click.Group("context", help="Tell what an agent was told and what its tools gave back.")


@asks(
    context,
    SESSION,
    argument("kind", type=click.Choice(get_args(ContextKind))),
    argument("text", required=False),
    option("--file", "path", metavar="FILE", help="Take the text from here (`-` is stdin)."),
    option("--tool", "tool_id", metavar="ID", help="The tool that gave a result back."),
    option("--args", type=json_object, metavar="JSON", help="What that tool was asked."),
    option("--call", "call_id", metavar="ID", help="The call that a result came of."),
    option("--join-key", metavar="KEY", help="The key by which a call is found again elsewhere."),
    option("--error", is_flag=True, default=None, help="The result is an error."),
    CONDITIONS,
)
def add(session_id: str, kind: str, text: str | None, path: str | None, **told: Any) -> Question:
    """Tell SESSION what its agent was told: the TEXT of the user or the system, or of a tool's result."""
    from beliefd.cli.files import read_bytes
    from beliefd.kernel.errors import invalid

    if path is not None:
        if text is not None:
            raise invalid("give TEXT or `--file`, not both", "TEXT")
        try:
            text = read_bytes(path).decode()
        except UnicodeDecodeError:
            raise invalid(f"`{path}` is not UTF-8", "--file") from None
    return lambda calls: calls.add_context(session_id, kind, text, **told)


@asks(context, SESSION, option("--cursor", metavar="NUMBER", help="Continue after this one."))
def show(session_id: str, **asked: Any) -> Question:
    """What SESSION was told, by digest, and who told it."""
    return lambda calls: calls.list_context(session_id, **asked)


@asks(
    context,
    SESSION,
    option("--reason", required=True, metavar="TEXT", help="Why. It stays: do not repeat what is erased."),
)
def erase(session_id: str, reason: str) -> Question:
    """Erase the texts that SESSION was told, for good. What stood in them counts as untrusted then.

    It is `beliefd audit erase SESSION --context`.
    """
    return lambda calls: calls.erase(session_id, reason, context=True)
