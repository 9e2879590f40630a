"""`beliefd hook`: in front of the tools of agents that people already use.

`beliefd hook CLIENT`, which clients start before each tool, is not here: it imports none of this.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import argument, option

from beliefd.cli.options import setting, together
from beliefd.cli.output import Exit, Reply, replies
from beliefd.hooks.clients import CLIENTS
from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    from beliefd.hooks.installing.writing import Installation

hook = click.Group(
    "hook",
    help="Put beliefd in front of an agent's tools. What the agent's client starts is `beliefd hook CLIENT`.",
)
CLIENT = argument("client", type=click.Choice(sorted(CLIENTS)))
PROJECT = option(
    "--project",
    is_flag=True,
    help="In the folder one is in, for everybody who works there, instead of for this user.",
)
SETTINGS = together(
    setting("--url", "BELIEFD_URL", "Where the server is, if not on this machine.", metavar="URL"),
    option("--token-file", metavar="FILE", help="Where the hook finds its token."),
    option("--gated", metavar="NAMES", help="MCP servers, by commas, whose calls a gateway judges already."),
)


@replies(
    hook,
    CLIENT,
    PROJECT,
    option("--print", "only_print", is_flag=True, help="Show what would be written, and write nothing."),
    SETTINGS,
)
def install(
    client: str, project: bool, only_print: bool, url: str | None, token_file: str | None, gated: str | None
) -> Reply:
    """Write the client's configuration, so that nothing runs without a verdict."""
    from beliefd.hooks.installing import INSTALLATIONS
    from beliefd.hooks.installing.writing import NotInstalled, Settings, apply

    place, one = Path.cwd() if project else None, INSTALLATIONS[client]
    token = None if token_file is None else str(Path(token_file).expanduser().resolve())
    try:
        changes = one.installed(place, Settings(url=url, token_file=token, gated=gated))
        if only_print:
            shown = {str(change.path): change.text for change in changes}
            return Reply(shown, "\n".join(f"{path}:\n{text}" for path, text in shown.items()))
        written = [str(path) for path in apply(changes)]
    except NotInstalled as error:
        raise invalid(str(error), client) from None
    words = [f"wrote {path}" for path in written] or ["nothing to change"]
    words += [one.advice] if one.advice else []
    if token is not None and not Path(token).is_file():
        words.append(f"there is no file {token}: without its token the hook may be refused, which blocks")
    return Reply({"written": written}, "\n".join([*words, f"try it: beliefd hook doctor {client}"]))


@replies(hook, CLIENT, PROJECT)
def uninstall(client: str, project: bool) -> Reply:
    """Take beliefd's hooks out of the client's configuration, and leave the rest of it."""
    from beliefd.hooks.installing import INSTALLATIONS
    from beliefd.hooks.installing.writing import NotInstalled, apply

    try:
        written = [
            str(path) for path in apply(INSTALLATIONS[client].uninstalled(Path.cwd() if project else None))
        ]
    except NotInstalled as error:
        raise invalid(str(error), client) from None
    words = [f"changed {path}" for path in written] or ["nothing to change"]
    words += _left(INSTALLATIONS[client], client, project)
    return Reply({"written": written}, "\n".join(words))


def _left(one: "Installation", client: str, project: bool) -> Iterator[str]:
    """What there is in the other of the two places: whoever forgot it is still asked for verdicts."""
    from beliefd.hooks.installing.writing import NotInstalled

    try:
        found = one.found(None if project else Path.cwd())
    except NotInstalled:
        return
    if found is not None and found.commands:
        flag = "" if project else " --project"
        yield f"there is one in {found.path}, too: beliefd hook uninstall {client}{flag}"


@replies(hook, argument("client", type=click.Choice(sorted(CLIENTS)), required=False))
def doctor(client: str | None) -> Reply:
    """Fire a test event through the configured hook; it fails when none arrives at the server."""
    from beliefd.hooks.installing.doctoring import examine

    findings = list(examine(client, Path.cwd()))
    wrong = any(finding.level == "wrong" for finding in findings)
    words = "\n".join(f"{one.level:5} {one.client}: {one.message}" for one in findings)
    return Reply({"ok": not wrong, "findings": findings}, words, Exit.FAILED if wrong else Exit.ALLOWED)
