"""`beliefd hook`: in front of the tools of agents that people already use."""

import sys
from pathlib import Path

import click
from click import argument, option

from beliefd.cli.options import setting, together
from beliefd.cli.output import Exit, fail, print_json
from beliefd.hooks.clients import CLIENTS

hook = click.Group("hook", help="Put beliefd in front of an agent's tools.")
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


def _run(client: str) -> click.Command:
    @click.command(client, hidden=True)
    def run() -> None:
        """What the client starts: one event in, one verdict out."""
        from beliefd.hooks.entry import main

        main([client])

    return run


for _client in CLIENTS:
    hook.add_command(_run(_client))


@hook.command()
@CLIENT
@PROJECT
@option("--print", "only_print", is_flag=True, help="Show what would be written, and write nothing.")
@SETTINGS
def install(
    client: str, project: bool, only_print: bool, url: str | None, token_file: str | None, gated: str | None
) -> None:
    """Write the client's configuration, so that nothing runs without a verdict."""
    from beliefd.hooks.installing import INSTALLATIONS
    from beliefd.hooks.installing.writing import NotInstalled, Settings, apply

    place, one = Path.cwd() if project else None, INSTALLATIONS[client]
    token = None if token_file is None else str(Path(token_file).expanduser().resolve())
    try:
        changes = one.installed(place, Settings(url=url, token_file=token, gated=gated))
        if only_print:
            for change in changes:
                click.echo(f"{change.path}:\n{change.text or ''}")
            return
        written = apply(changes)
    except NotInstalled as error:
        fail(str(error), Exit.BAD_INPUT)
    for path in written:
        click.echo(f"wrote {path}")
    if not written:
        click.echo("nothing to change")
    if one.advice:
        click.echo(one.advice)
    click.echo(f"try it: beliefd hook doctor {client}")


@hook.command()
@CLIENT
@PROJECT
def uninstall(client: str, project: bool) -> None:
    """Take beliefd's hooks out of the client's configuration, and leave the rest of it."""
    from beliefd.hooks.installing import INSTALLATIONS
    from beliefd.hooks.installing.writing import NotInstalled, apply

    try:
        written = apply(INSTALLATIONS[client].uninstalled(Path.cwd() if project else None))
    except NotInstalled as error:
        fail(str(error), Exit.BAD_INPUT)
    for path in written:
        click.echo(f"changed {path}")
    if not written:
        click.echo("nothing to change")


@hook.command()
@argument("client", type=click.Choice(sorted(CLIENTS)), required=False)
@option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(client: str | None, as_json: bool) -> None:
    """Fire a test event through the configured hook; it fails when none arrives at the server."""
    from beliefd.hooks.installing.doctoring import examine

    findings = list(examine(client, Path.cwd()))
    wrong = any(finding.level == "wrong" for finding in findings)
    if as_json:
        print_json({"ok": not wrong, "findings": findings})
    else:
        for one in findings:
            click.echo(f"{one.level:5} {one.client}: {one.message}")
    sys.exit(Exit.FAILED if wrong else Exit.ALLOWED)
