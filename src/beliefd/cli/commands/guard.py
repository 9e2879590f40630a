"""`beliefd guard`: a tool server behind a gateway with a store and rules of its own, in one line."""

from pathlib import Path
from typing import Any

import click
from click import option

from beliefd.cli.commands.mcp import COMMAND, OVER_HTTP
from beliefd.cli.options import DIRECTORY, FILE_PATH, setting
from beliefd.cli.output import errors_exit
from beliefd.cli.traces import OTLP, traced

HOLD_SECONDS = 30.0


@click.command()
@COMMAND
@option("--name", metavar="NAME", help="The name of the gateway; otherwise that of the program.")
@setting(
    "--data",
    "BELIEFD_GUARD_DATA",
    "Directory of the store and of the rules. By default ~/.beliefd/guard.",
    type=DIRECTORY,
)
@option("--policy", "policy_file", type=FILE_PATH, help="Other rules than guard.yaml in that directory.")
@option(
    "--hold",
    type=click.FloatRange(0, 3600),
    default=HOLD_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Hold a call that waits for a person for so long, before it is answered.",
)
@option("--env", "environment", multiple=True, metavar="NAME", help="Give the command this variable.")
@OVER_HTTP
@OTLP
def guard(data: Path | None, policy_file: Path | None, otlp: str | None, **given: Any) -> None:
    """Put the tool server COMMAND (or its http:// address) behind beliefd, and say where to approve."""
    from beliefd.cli.gateways import serve_guard

    with errors_exit(), traced(otlp):
        serve_guard(data or Path.home() / ".beliefd" / "guard", policy_file, **given)
