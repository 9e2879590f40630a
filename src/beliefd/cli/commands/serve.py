"""`beliefd serve`: the HTTP server on one store."""

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import option

from beliefd.cli import server
from beliefd.cli.marker import Marker
from beliefd.cli.options import DETECTORS, JUDGES, POLICY, setting
from beliefd.cli.output import errors_exit
from beliefd.cli.target import prepare_data, store_name, store_options

if TYPE_CHECKING:
    import uvicorn

FOR_TRYING_OUT = "for trying out: whoever runs programs as you can use it too"


@click.command()
@option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes any.")
@option(
    "--host", default="127.0.0.1", show_default=True, help="An address other than loopback needs a token."
)
@option(
    "--require-token",
    is_flag=True,
    help="Let nobody in without a token, not even on loopback. Elsewhere that is always so.",
)
@option(
    "--accept-new-store",
    is_flag=True,
    help="Go on with a store that knows less than this folder has seen, once; it is recorded.",
)
@store_options
@POLICY
@option("--tools", "modules", multiple=True, metavar="MODULE", help="Import it: it registers tools.")
@option("--webhook", metavar="URL", help="Gets a signed message about every new approval.")
@setting(
    "--workers",
    "BELIEFD_WORKERS",
    "Processes that run experiments; 0 for none of their own. By default one per core.",
    type=click.IntRange(min=0),
    default=os.cpu_count() or 1,
)
@setting(
    "--ray",
    "BELIEFD_RAY",
    "Run experiments on this Ray cluster instead; `local` starts one here.",
    metavar="ADDRESS",
)
@setting(
    "--sign-in",
    "BELIEFD_SIGN_IN",
    "Identity providers whose people may sign in; needs the extra `signin`.",
    type=click.Path(path_type=Path),
    metavar="FILE",
)
@DETECTORS
@JUDGES
def serve(  # noqa: PLR0913, PLR0917 - one argument per option
    port: int,
    host: str,
    require_token: bool,
    accept_new_store: bool,
    data: Path,
    store: str | None,
    policy_file: Path | None,
    webhook: str | None,
    modules: tuple[str, ...],
    workers: int,
    ray: str | None,
    sign_in: Path | None,
    detector: tuple[str, ...],
    **judges: Any,
) -> None:
    """Run the server until it is told to stop."""
    server.log_adoptions()
    with errors_exit():
        for module in modules:
            server.import_tools(module)
        settings = server.ServerSettings(
            policy_file,
            webhook,
            data / server.WEBHOOK_KEY,
            signing_key=data / server.SIGNING_KEY,
            workers=workers,
            ray=ray,
            sign_in=sign_in,
            detectors=detector,
            judges=judges,
            scrub_place=data / server.SCRUB_PLACE,
            marker=Marker(data, store_name(data, store)),
            require_token=require_token,
            accept_store=accept_new_store,
        )
        listener = server.bind(host, port)
        # Keys, and what was seen of the store, are kept there even if the store is elsewhere.
        prepare_data(data)

        def started(_: "uvicorn.Server", sign_in_path: server.SignInPath) -> None:
            server.tune_interpreter()
            url = server.url_of(listener, host)
            click.echo(f"beliefd is listening on {url}")
            path = sign_in_path(None)
            # Where no token is needed, there is nothing that a program of the same user lacks.
            open_to = "" if path == "/" else f" ({FOR_TRYING_OUT})"
            click.echo(f"look and decide at {url}{path}{open_to}", err=True)

        with asyncio.Runner(loop_factory=server.loop_factory()) as runner:
            runner.run(server.run_server(listener, host, store_name(data, store), settings, started))
