"""`beliefd demo`: the real server, a real incident played through its API, and then it stays up."""

import asyncio
import os
import shlex
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import option

from beliefd.cli.output import errors_exit, fail
from beliefd.cli.server import ServerSettings, SignInPath, bind, loop_factory, run_server, url_of
from beliefd.cli.target import prepare_data, store_name, store_options, with_store
from beliefd.kernel.values import Role, Tier

if TYPE_CHECKING:
    import uvicorn

    from beliefd.cli.demo.run import DemoRun
    from beliefd.stores.base import Store

HOST = "127.0.0.1"
KIT = "sre_incident"
APPROVER = "demo-approver"
PARTICIPANTS: dict[str, tuple[Role, Tier | None]] = {
    "demo-agent": (Role.AGENT, Tier.DELETE),
    APPROVER: (Role.APPROVER, None),
    "demo-admin": (Role.ADMIN, None),
}


@click.command()
@option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes any.")
@store_options
@option("--once", is_flag=True, help="Stop after the story instead of staying up.")
@option("--pace", type=click.FloatRange(0, 60), default=0.7, show_default=True, help="Seconds per step.")
def demo(port: int, data: Path, store: str | None, once: bool, pace: float) -> None:
    """Start the server, play an incident through it, and leave it running to try out."""
    from beliefd.cli.demo.run import StoryBroken

    listener = bind(HOST, port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with errors_exit():
        if store is None:
            prepare_data(data)
        target = store_name(data, store)
        try:
            tokens = with_store(target, make_tokens)
            with serving(listener, target) as (url, sign_in_path):
                told = perform(url, tokens, pace)
                _show_tokens(url, told.session_id, tokens)
                if not once:
                    _hand_over(url, sign_in_path(tokens[APPROVER]), told.waiting, tokens[APPROVER])
        except StoryBroken as error:
            fail(f"the story went wrong: {error}")
        except KeyboardInterrupt:
            click.echo("\nstopped; the ledger is in " + (f"`{data}`" if store is None else "the store"))


async def make_tokens(store: "Store") -> dict[str, str]:
    """New tokens for those who take part; the ones of an earlier demo are turned off."""
    from beliefd.steward.credentials import create_token, revoke_token

    for token in await store.tokens():
        if token.name in PARTICIPANTS and token.revoked_at is None:
            await revoke_token(store, token.token_id)
    return {name: await create_token(store, name, *rights) for name, rights in PARTICIPANTS.items()}


@contextmanager
def serving(listener: socket.socket, target: str) -> Iterator[tuple[str, SignInPath]]:
    """The server that `beliefd serve` runs, in a thread of this process: it cannot outlive the demo."""
    running: list[uvicorn.Server] = []
    links: list[SignInPath] = []
    ready = threading.Event()

    def started(server: "uvicorn.Server", sign_in_path: SignInPath) -> None:
        running.append(server)
        links.append(sign_in_path)
        ready.set()

    def serve() -> None:
        try:
            with asyncio.Runner(loop_factory=loop_factory()) as runner:
                runner.run(run_server(listener, HOST, target, _settings(), started))
        finally:
            ready.set()

    with ThreadPoolExecutor(1, "beliefd-server") as pool:
        served = pool.submit(serve)
        try:
            ready.wait()
            if not running:
                served.result()
            yield url_of(listener, HOST), links[0]
        finally:
            for server in running:
                server.should_exit = True
            served.result()


def _settings() -> ServerSettings:
    """The incident's own rules, and the tools of its database."""
    from beliefd import kits
    from beliefd.cli.demo.database_pool import Pool
    from beliefd.tools.registry import Registry

    registry = Registry()
    Pool().tools(registry)
    return ServerSettings(policy_file=kits.policy_file(KIT), registry=registry, workers=os.cpu_count() or 1)


def perform(url: str, tokens: dict[str, str], pace: float) -> "DemoRun":
    """Play the story over HTTP and return what it leaves behind."""
    from beliefd import kits
    from beliefd.cli.demo.run import DemoRun
    from beliefd.cli.demo.screen import Screen
    from beliefd.cli.demo.story import play
    from beliefd.client import Client

    click.echo(f"beliefd is listening on {url}")
    agent, approver, admin = (Client(url, tokens[name]) for name in PARTICIPANTS)
    with agent, approver, admin, Screen(pace) as screen:
        running = DemoRun(kits.load(KIT), agent, approver, admin, screen)
        play(running)
        return running


def _show_tokens(url: str, session_id: str, tokens: dict[str, str]) -> None:
    click.echo()
    for name, secret in tokens.items():
        click.echo(f"token of {name}: {secret}")
    secret = tokens[next(iter(PARTICIPANTS))]
    click.echo(f"\n  curl -s -H 'Authorization: Bearer {secret}' {url}/v1/sessions/{session_id}\n")


def _program() -> str:
    """How a shell finds this program: `make run` has it in .venv alone, where a shell does not look."""
    if shutil.which("beliefd"):
        return "beliefd"
    started = Path(sys.argv[0])
    return shlex.quote(str(started)) if started.name == "beliefd" else f"{sys.executable} -m beliefd"


def _hand_over(url: str, sign_in_path: str, approval_id: str, secret: str) -> None:
    """Say where the item is that waits, say what became of it, and stay until told to stop."""
    from beliefd.cli.demo.hand_over import decided
    from beliefd.client import Client

    link = f"{url}{sign_in_path}&next=/inbox/{approval_id}"
    click.echo(f"one item waits for you as {APPROVER}; decide in a browser: {link} (opens once)")
    approve = f"{_program()} inbox approve {approval_id} --url {url}"
    click.echo(f"or in a terminal: BELIEFD_TOKEN={secret} {approve}")
    click.echo(f"the server stays up at {url} until Ctrl-C")
    with Client(url, secret) as approver:
        click.echo(decided(approver, approval_id))
    while True:
        signal.pause()
