"""`beliefd capability`: what agents may do with tools."""

from typing import Any

import click
from click import argument, option

from beliefd.cli import output
from beliefd.cli.options import NOTES, SESSION
from beliefd.cli.target import Question, Target, asks, target_options
from beliefd.kernel.substrate.capabilities import Budgets

CAPABILITY = argument("capability_id", metavar="CAPABILITY")
capability = click.Group("capability", help="Issue, list, show and revoke capabilities of agents.")


@capability.command()
@SESSION
@option("--agent", "agent_id", metavar="ID", help="Who may use it; without it, who asks.")
@option("--tool", "tools", multiple=True, metavar="ID", help="A tool, or `*` for all.")
@option("--read", "fs_read_roots", multiple=True, metavar="DIR", help="May read below this directory.")
@option("--write", "fs_write_roots", multiple=True, metavar="DIR", help="May write below this directory.")
@option("--host", "net_allowlist", multiple=True, metavar="HOST", help="May connect to this host.")
@option("--calls", type=click.IntRange(min=0), help="At most so many calls.")
@option("--tokens", type=click.IntRange(min=0), help="At most so many tokens, as tools report them.")
@option("--cpu-ms", type=click.IntRange(min=0), help="At most so many milliseconds of processor time.")
@option("--disk-bytes", type=click.IntRange(min=0), help="At most so many bytes on disk.")
@option("--expires-in", type=click.IntRange(min=1), default=3600, show_default=True, help="Seconds.")
@option("--parent", metavar="TOKEN", help="Restrict this token further instead of issuing a new one.")
@option("--signed", is_flag=True, help="A token that its holders can restrict offline.")
@NOTES
@target_options
def issue(target: Target, session_id: str, expires_in: int, parent: str | None, **scope: Any) -> None:
    """Issue a capability in SESSION; prints the token alone on the last line.

    Without `--tool`, it is all that policy issues to who asks, which takes no admin.
    """
    given = {name: scope.pop(name) for name in ("agent_id", "signed", "notes")}
    budgets = {name: scope.pop(name) for name in Budgets.__struct_fields__}
    roots = {name: list(values) for name, values in scope.items()}
    wanted: dict[str, Any] | None = {**roots, "budgets": budgets}
    if not scope["tools"]:
        if any(scope.values()) or any(limit is not None for limit in budgets.values()):
            raise click.UsageError("--tool says which tools these limits are for.")
        wanted = None
    answer = target.ask(
        lambda asked: asked.issue_capability(
            session_id, scope=wanted, expires_in_seconds=expires_in, parent_token=parent, **given
        )
    )
    output.show(answer, target.as_json)
    if not target.as_json:
        click.echo(answer.token)


@asks(capability, SESSION, option("--cursor", metavar="ID", help="Continue after this one."))
def list_(session_id: str, **asked: Any) -> Question:
    """The capabilities of a session: who has them, where they come from, and what is left."""
    return lambda calls: calls.list_capabilities(session_id, **asked)


@asks(capability, SESSION, CAPABILITY)
def show(session_id: str, capability_id: str) -> Question:
    """What a capability allows and how much of it is used."""
    return lambda calls: calls.show_capability(session_id, capability_id)


@asks(capability, CAPABILITY, NOTES)
def revoke(capability_id: str, notes: str | None) -> Question:
    """End a capability (as `<session>/<capability>`) and all that came out of it.

    Says which others its agent still has: what policy issued to it is a capability of its own.
    """
    return lambda calls: calls.revoke_capability(capability_id, notes=notes)
