"""`beliefd serve`: the HTTP server on one store."""

import asyncio
import contextlib
import gc
import importlib
import ipaddress
import os
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from beliefd.cli.judging import judge_options
from beliefd.cli.output import Exit, errors_exit, fail
from beliefd.cli.target import prepare_data, store_name, store_options

if TYPE_CHECKING:
    import uvicorn

    from beliefd.kernel.policy import Policy
    from beliefd.steward.handle import Steward
    from beliefd.tools.registry import Registry

SHUTDOWN_SECONDS = 2
"""How long answers under way may take to finish; live feeds are ended at once."""
BACKLOG = 2048
GARBAGE = 20_000
HANDOVER_SECONDS = 0.0001
WEBHOOK_KEY = "webhook.key"
SIGNING_KEY = "capability.key"


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=8642, show_default=True, help="0 takes any.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Other than loopback needs a token.")
@store_options
@click.option(
    "--policy", "policy_file", type=click.Path(dir_okay=False, path_type=Path), help="YAML or JSON."
)
@click.option("--tools", "modules", multiple=True, metavar="MODULE", help="Import it: it registers tools.")
@click.option("--webhook", metavar="URL", help="Told, signed, of every new approval.")
@click.option(
    "--workers",
    type=click.IntRange(min=0),
    default=os.cpu_count() or 1,
    envvar="BELIEFD_WORKERS",
    show_envvar=True,
    help="Processes that run experiments; 0 for none of their own. By default one a core.",
)
@click.option(
    "--ray",
    metavar="ADDRESS",
    envvar="BELIEFD_RAY",
    show_envvar=True,
    help="Run experiments on this Ray cluster instead; `local` starts one here.",
)
@judge_options
def serve(  # noqa: PLR0913, PLR0917 - one argument an option
    port: int,
    host: str,
    data: Path,
    store: str | None,
    policy_file: Path | None,
    webhook: str | None,
    modules: tuple[str, ...],
    workers: int,
    ray: str | None,
    **judges: Any,
) -> None:
    """Run the server until it is told to stop."""
    with errors_exit():
        for module in modules:
            import_tools(module)
        house = House(
            policy_file,
            webhook,
            data / WEBHOOK_KEY,
            signing_key=data / SIGNING_KEY,
            workers=workers,
            ray=ray,
            judges=judges,
        )
        listener = bind(host, port)
        if store is None or webhook is not None:  # the key that webhooks are signed with is kept there too
            prepare_data(data)

        def started(_: "uvicorn.Server") -> None:
            tune_interpreter()
            click.echo(f"beliefd is listening on {url_of(listener, host)}")

        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(run_server(listener, host, store_name(data, store), house, started))


def tune_interpreter() -> None:
    """Requests leave next to no cycles behind: look for them less often, and never among the modules.

    The store's writing thread needs the interpreter for moments only, but for each it would wait 5 ms.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE)
    sys.setswitchinterval(HANDOVER_SECONDS)


def import_tools(name: str) -> None:
    """Import a module of the operator's own; what it decorates with `@beliefd.tools.tool` can be called."""
    sys.path.insert(0, str(Path.cwd()))
    try:
        importlib.import_module(name)
    except Exception as error:
        fail(f"cannot import tools from `{name}`: {error}", Exit.BAD_INPUT)
    finally:
        sys.path.pop(0)


class House(Struct, frozen=True):
    """What a server runs under besides its store: a policy file, and whom to tell of new approvals."""

    policy_file: Path | None = None
    webhook: str | None = None
    secret_file: Path = Path(WEBHOOK_KEY)
    registry: "Registry | None" = None
    signing_key: Path = Path(SIGNING_KEY)
    workers: int = 0
    ray: str | None = None
    judges: Mapping[str, Any] = {}

    def policy(self) -> "Policy | None":
        from beliefd.policy.files import load_policy

        return None if self.policy_file is None else load_policy(self.policy_file)

    def chores(self, steward: "Steward") -> list[Callable[[], Awaitable[None]]]:
        """What goes on beside answering requests, for as long as the server is up."""
        from beliefd.policy.watch import watch_policy
        from beliefd.steward.expiry import expire_for_ever
        from beliefd.steward.policies import FROM_FILE, follow
        from beliefd.steward.webhook import Webhook, secret_from

        chores: list[Callable[[], Awaitable[None]]] = [lambda: expire_for_ever(steward)]
        if (file := self.policy_file) is not None:
            chores.append(lambda: watch_policy(file, lambda policy: steward.adopt(policy, FROM_FILE)))
        else:
            chores.append(lambda: follow(steward))
        if self.webhook is not None:
            chores.append(Webhook(steward, self.webhook, secret_from(self.secret_file)).run)
        return chores


def bind(host: str, port: int) -> socket.socket:
    """A listening socket of our own: its port is known before the server starts, and so is any failure."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        fail(f"cannot listen on `{host}`: {error.strerror or error}", Exit.BAD_INPUT)
    if sys.platform != "win32":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        fail(f"cannot listen on `{host}:{port}`: {error.strerror}; choose another with --port")
    listener.set_inheritable(True)
    return listener


def is_loopback(listener: socket.socket) -> bool:
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def url_of(listener: socket.socket, host: str) -> str:
    port = listener.getsockname()[1]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def loop_factory() -> type[asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ModuleNotFoundError:  # not made for every platform
        return None
    return uvloop.Loop


Started = Callable[["uvicorn.Server"], None]


async def run_server(listener: socket.socket, host: str, target: str, house: House, started: Started) -> None:
    """Serve the store on the socket until told to stop; `started` is called once requests are answered."""
    from beliefd.kernel.errors import BeliefdError, Code
    from beliefd.steward.handle import Steward
    from beliefd.steward.policies import FROM_FILE, recall
    from beliefd.steward.runner import Runner
    from beliefd.steward.tokens import Authenticator
    from beliefd.stores.base import StorageUnavailable
    from beliefd.stores.opening import open_store
    from beliefd.tools.biscuit import Signer
    from beliefd.uncertainty.equivalence.judges import Judges, JudgeSettings

    policy = house.policy()
    try:
        store = await open_store(target)
    except StorageUnavailable as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)) from None
    if not is_loopback(listener) and not await Authenticator(store).configured():
        await store.close()
        fail(
            f"refusing to listen on `{host}`: there is no token, so everybody who reaches it could write; "
            "make one with `beliefd token create --name me --role admin` on the same store",
            Exit.BAD_INPUT,
        )
    steward = Steward(
        store,
        policy,
        registry=house.registry,
        signer=Signer(house.signing_key),
        runner=Runner(house.workers, house.ray),
        judges=Judges(JudgeSettings(**house.judges)),
    )
    if policy is not None:
        steward.adopt(policy, FROM_FILE)
    else:
        try:
            await recall(steward)
        except BeliefdError:
            await steward.close()
            raise
    await _server(steward, house.chores(steward), started).serve(sockets=[listener])


def _server(
    steward: "Steward", chores: list[Callable[[], Awaitable[None]]], started: Started
) -> "uvicorn.Server":
    import uvicorn

    from beliefd.http.app import create_app

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started(self)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            steward.end_feeds()
            await super().shutdown(sockets)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            # uvicorn raises the signal again after its shutdown; being told to stop is not a failure here.
            if threading.current_thread() is threading.main_thread():
                loop = asyncio.get_running_loop()
                for number in (signal.SIGINT, signal.SIGTERM):
                    loop.add_signal_handler(number, self.handle_exit, number, None)
            yield

    return Server(uvicorn.Config(create_app(steward, chores), **uvicorn_settings()))


def uvicorn_settings() -> dict[str, Any]:
    from beliefd.http.protocol_choice import choose_protocol

    return {
        "http": choose_protocol(),
        "ws": "none",
        "proxy_headers": False,
        "access_log": False,
        "log_level": "error",
        "server_header": False,
        "lifespan": "on",
        "timeout_graceful_shutdown": SHUTDOWN_SECONDS,
    }
