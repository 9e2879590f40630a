"""`beliefd serve`: the HTTP server on one store."""

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import option

from beliefd.cli import server
from beliefd.cli.checkpoints import LOG, log_settings
from beliefd.cli.logs import Format, begin_logging, log_options
from beliefd.cli.marker import Marker
from beliefd.cli.options import DETECTORS, JUDGES, POLICY, setting
from beliefd.cli.output import errors_exit
from beliefd.cli.processes import Processes
from beliefd.cli.target import prepare_data, store_name, store_options
from beliefd.cli.traces import OTLP, traced
from beliefd.http.siblings import Siblings, own_place
from beliefd.stores.opening import is_shared

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
    help="Go on with a store that knows less than this folder has seen or signed, once; it is recorded.",
)
@store_options
@setting(
    "--feed-store",
    "BELIEFD_FEED_STORE",
    "Where PostgreSQL itself is, if `--store` leads to a pooler such as PgBouncer.",
    metavar="ADDRESS",
)
@POLICY
@option("--tools", "modules", multiple=True, metavar="MODULE", help="Import it: it registers tools.")
@option("--webhook", metavar="URL", help="Gets signed messages: approvals pending, decided, expired.")
@option(
    "--new-webhook-secret",
    is_flag=True,
    help="Make a new secret for the webhook; all servers on a PostgreSQL store go over to it.",
)
@setting(
    "--processes",
    "BELIEFD_PROCESSES",
    "So many server processes behind one address; needs PostgreSQL. SIGHUP starts them anew, one by one.",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
)
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
@setting(
    "--drain-seconds",
    "BELIEFD_DRAIN_SECONDS",
    "When told to stop, finish what runs for so long at most; meanwhile new requests are refused.",
    type=click.FloatRange(0, 3600),
    default=server.DRAIN_SECONDS,
    show_default=True,
)
@log_options()
@OTLP
@LOG
@DETECTORS
@JUDGES
def serve(  # noqa: PLR0913, PLR0917 - one argument per option
    port: int,
    host: str,
    require_token: bool,
    accept_new_store: bool,
    data: Path,
    store: str | None,
    feed_store: str | None,
    policy_file: Path | None,
    webhook: str | None,
    new_webhook_secret: bool,
    modules: tuple[str, ...],
    processes: int,
    workers: int,
    ray: str | None,
    sign_in: Path | None,
    drain_seconds: float,
    log_format: Format,
    log_level: str,
    otlp: str | None,
    detector: tuple[str, ...],
    log_key: Path | None,
    log_origin: str | None,
    checkpoint_every: float,
    log_witness: tuple[str, ...],
    log_witness_url: tuple[str, ...],
    log_anchor: tuple[str, ...],
    **judges: Any,
) -> None:
    """Run the server until it is told to stop."""
    begin_logging(log_format, log_level)
    with errors_exit():
        server.check_feed_address(feed_store, store_name(data, store))
        place = own_place()
        if processes > 1 and place is None:
            server.need_shared_store(store_name(data, store))
            sys.exit(Processes(server.bind(host, port), processes, drain_seconds).run())
        for module in modules:
            server.import_tools(module)
        settings = server.ServerSettings(
            policy_file,
            webhook,
            data / server.WEBHOOK_KEY,
            signing_key=data / server.SIGNING_KEY,
            workers=workers if place is None else max(1, workers // processes) if workers else 0,
            siblings=None if place is None else Siblings(place),
            ray=ray,
            sign_in=sign_in,
            detectors=detector,
            judges=judges,
            scrub_place=data / server.SCRUB_PLACE,
            marker=Marker(data, store_name(data, store), log_key),
            require_token=require_token,
            accept_store=accept_new_store,
            shared_store=is_shared(store_name(data, store)),
            new_secret=new_webhook_secret,
            feed_store=feed_store,
            drain_seconds=drain_seconds,
            log=log_settings(
                data, log_key, log_origin, checkpoint_every, log_witness, log_witness_url, log_anchor
            ),
        )
        listener = server.bind(host, port) if place is None else socket.socket(fileno=place.listener)
        # Keys, and what was seen of the store, are kept there even if the store is elsewhere.
        prepare_data(data)

        def started(_: "uvicorn.Server", sign_in_path: server.SignInPath) -> None:
            server.tune_interpreter()
            if place is not None and place.number > 1:
                return  # the first one has said it
            url = server.url_of(listener, host)
            click.echo(f"beliefd is listening on {url}")
            path = sign_in_path(None)
            # Where no token is needed, there is nothing that a program of the same user lacks.
            open_to = "" if path == "/" else f" ({FOR_TRYING_OUT})"
            click.echo(f"look and decide at {url}{path}{open_to}", err=True)

        with traced(otlp), asyncio.Runner(loop_factory=server.loop_factory()) as runner:
            runner.run(server.run_server(listener, host, store_name(data, store), settings, started))
