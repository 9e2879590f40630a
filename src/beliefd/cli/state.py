"""`beliefd state`, `capability` and `tool`: the symbolic state, what may change it, and who may do what."""

import sys
from pathlib import Path
from typing import Any

import click

from beliefd.cli.output import Exit
from beliefd.cli.policy import EXITS
from beliefd.cli.session import SESSION, conditions
from beliefd.cli.target import Target, target_options
from beliefd.kernel.errors import invalid


@click.group()
def state() -> None:
    """Read the symbolic state, and propose changes and tool calls."""


@state.command()
@SESSION
@click.option("--at", metavar="SNAPSHOT", help="A past `state_snapshot_id`.")
@target_options
def show(target: Target, session_id: str, at: str | None) -> None:
    """F_sparse now, or at a past snapshot."""
    from beliefd.cli import substrate_views

    target.show(target.ask(lambda calls: calls.show_state(session_id, at=at)), substrate_views.state)


@state.command()
@SESSION
@click.argument("path", metavar="FILE")
@click.option("--source", default="agent", show_default=True, help="observer, encoder, tool or agent.")
@click.option("--snapshot", metavar="SNAPSHOT", help="The snapshot the proposal was made on.")
@conditions
@target_options
def propose(
    target: Target, session_id: str, path: str, source: str, snapshot: str | None, **conditions: Any
) -> None:
    """Put the candidates in FILE (a list, or an object with `candidates`; `-` is stdin) to arbitration.

    Exits 0 if all are allowed, 3 if one waits, 4 if one is denied.
    """
    from beliefd.cli import substrate_views

    candidates = _candidates(path)
    answer = target.ask(
        lambda calls: calls.propose(
            session_id, candidates, source=source, state_snapshot_id=snapshot, **conditions
        )
    )
    target.show(answer, substrate_views.proposal)
    sys.exit(max((EXITS[result.verdict] for result in answer.results), default=Exit.ALLOWED))


@click.group()
def capability() -> None:
    """Give agents capabilities, look at them, take them back."""


@capability.command()
@SESSION
@click.option("--agent", "agent_id", required=True, metavar="ID", help="Who may use it.")
@click.option("--tool", "tools", multiple=True, required=True, metavar="ID", help="A tool, or `*` for all.")
@click.option("--read", "fs_read_roots", multiple=True, metavar="DIR", help="May read below this directory.")
@click.option(
    "--write", "fs_write_roots", multiple=True, metavar="DIR", help="May write below this directory."
)
@click.option("--host", "net_allowlist", multiple=True, metavar="HOST", help="May connect to this host.")
@click.option("--calls", type=click.IntRange(min=0), help="At most so many calls.")
@click.option("--expires-in", type=click.IntRange(min=1), default=3600, show_default=True, help="Seconds.")
@click.option("--parent", metavar="TOKEN", help="Narrow this token down instead of issuing afresh.")
@click.option("--signed", is_flag=True, help="A token that its holders can narrow down offline.")
@target_options
def issue(
    target: Target, session_id: str, calls: int | None, expires_in: int, parent: str | None, **scope: Any
) -> None:
    """Issue a capability in SESSION; prints the token alone on the last line."""
    from beliefd.cli import substrate_views

    given = {"agent_id": scope.pop("agent_id"), "signed": scope.pop("signed")}
    wanted = {**{name: list(values) for name, values in scope.items()}, "budgets": {"calls": calls}}
    answer = target.ask(
        lambda asked: asked.issue_capability(
            session_id, scope=wanted, expires_in_seconds=expires_in, parent_token=parent, **given
        )
    )
    target.show(answer, lambda issued: substrate_views.capability(issued.capability))
    if not target.as_json:
        click.echo(answer.token)


@capability.command("show")
@SESSION
@click.argument("capability_id", metavar="CAPABILITY")
@target_options
def show_(target: Target, session_id: str, capability_id: str) -> None:
    """What a capability allows and how much of it is used."""
    from beliefd.cli import substrate_views

    found = target.ask(lambda calls: calls.show_capability(session_id, capability_id))
    target.show(found, substrate_views.capability)


@capability.command()
@click.argument("capability_id", metavar="CAPABILITY")
@target_options
def revoke(target: Target, capability_id: str) -> None:
    """End a capability (as `<session>/<capability>`) and all that came out of it."""
    from beliefd.cli import substrate_views

    target.show(target.ask(lambda calls: calls.revoke_capability(capability_id)), substrate_views.capability)


@click.group()
def tool() -> None:
    """See which tools agents can ask for."""


@tool.command("list")
@target_options
def list_(target: Target) -> None:
    """The tools of the server and what they take."""
    from beliefd.cli import substrate_views

    target.show(target.ask(lambda calls: calls.list_tools()), substrate_views.tools)


def _candidates(path: str) -> list[Any]:
    from beliefd.documents import parse_document, read_document

    document = parse_document(sys.stdin.buffer.read(), "stdin") if path == "-" else read_document(Path(path))
    candidates = document.get("candidates") if isinstance(document, dict) else document
    if not isinstance(candidates, list) or not candidates:
        raise invalid("the file needs a list of candidates, or an object with `candidates`", "$.candidates")
    return candidates
