"""`beliefd mcp`: a gateway in front of tool servers, and beliefd's own verbs as tools."""

from pathlib import Path
from typing import Any

import click
from click import argument, option

from beliefd.cli.options import FILE_PATH, together
from beliefd.cli.output import errors_exit, show
from beliefd.cli.target import Target, target_options
from beliefd.cli.traces import OTLP, traced

mcp = click.Group("mcp", help="The Model Context Protocol: a gateway, and beliefd's verbs as tools.")
COMMAND = argument("command", nargs=-1, metavar="-- COMMAND...", type=click.UNPROCESSED)
OVER_HTTP = together(
    option(
        "--http",
        "port",
        type=click.IntRange(0, 65535),
        metavar="PORT",
        help="Serve on this port of loopback instead of the standard streams; 0 takes any.",
    ),
    option(
        "--http-token",
        multiple=True,
        envvar="BELIEFD_MCP_TOKEN",
        show_envvar=True,
        help="What a client shows to be let in over HTTP. Can be repeated, one per user; in the variable, "
        "with blanks between. Without it, one is made and printed.",
    ),
)


@mcp.command()
@OVER_HTTP
@option("--only", multiple=True, metavar="TAG", help="Offer the verbs of this vocabulary. Can be repeated.")
@option("--all", "every", is_flag=True, help="Offer the verbs of all vocabularies.")
@option("--output-schemas", "schemas", is_flag=True, help="Say of each tool what its answers are made of.")
@target_options
def serve(
    target: Target, port: int | None, http_token: tuple[str, ...], only: tuple[str, ...], **how: bool
) -> None:
    """Offer the verbs of an agent as tools, and snapshot, audit and inbox as resources.

    Without --only and --all: those of beliefs and claims, and what reads the substrate.
    """
    from beliefd.cli.gateways import serve_verbs

    if only and how["every"]:
        raise click.UsageError("give `--only` or `--all`, and not both")
    serve_verbs(target, port, http_token, frozenset(only), **how)


@mcp.command()
@COMMAND
@option("--config", "config_file", type=FILE_PATH, help="Upstreams, routes, what is opened, limits.")
@option("--name", metavar="NAME", help="The name of the gateway; otherwise that of the program.")
@option(
    "--hold",
    type=click.FloatRange(0, 3600),
    metavar="SECONDS",
    help="Hold a call that waits for a person for so long, before it is answered.",
)
@option("--resources", is_flag=True, help="Open the resources of the upstream.")
@option("--prompts", is_flag=True, help="Open the prompts of the upstream.")
@option("--env", "environment", multiple=True, metavar="NAME", help="Give the command this variable.")
@OVER_HTTP
@OTLP
@target_options
def gateway(
    target: Target, port: int | None, http_token: tuple[str, ...], otlp: str | None, **given: Any
) -> None:
    """Stand between a client and the tool server COMMAND (or its http:// address): every call is judged."""
    from beliefd.cli.gateways import config_of, serve_gateway

    with errors_exit(), traced(otlp):
        serve_gateway(target, config_of(**given), port, http_token)


@mcp.command("policy-init")
@COMMAND
@option("--config", "config_file", type=FILE_PATH, help="As for `beliefd mcp gateway`.")
@option("--name", metavar="NAME", help="As for `beliefd mcp gateway`.")
@option("--env", "environment", multiple=True, metavar="NAME", help="Give the command this variable.")
@option("--out", type=FILE_PATH, help="Write it to this file instead of standard output.")
@option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def policy_init(out: Path | None, as_json: bool, **given: Any) -> None:
    """Write a policy to start from: default deny, one commented entry per tool of COMMAND."""
    from beliefd.cli.gateways import config_of, write_policy

    with errors_exit(as_json):
        show(write_policy(config_of(**given), out), as_json)
