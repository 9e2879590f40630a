"""The HTTP server on one store, for `beliefd serve` and `beliefd demo`."""

import asyncio
import contextlib
import gc
import importlib
import ipaddress
import signal
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import UNSET, Struct

from beliefd.cli.output import Exit, fail
from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    import uvicorn
    from starlette.routing import BaseRoute

    from beliefd.cli.marker import Marker
    from beliefd.http.siblings import Siblings
    from beliefd.kernel.policy import Policy
    from beliefd.steward.bootstrap import Runtime
    from beliefd.steward.effects.checkpoints import LogSettings
    from beliefd.stores.base import Store
    from beliefd.tools.registry import Registry

DRAIN_SECONDS = 5.0
"""How long answers under way may take to finish, if nothing else is said; live feeds are ended at once."""
UNSENT_BYTES = 64 * 1024
"""So much the system takes of an answer beyond what is on its way. It would take megabytes, also for callers
that never read: measured, 790 of them held it up for 5 seconds of its time."""
BACKLOG = 2048
LAST_SECONDS = {"timeout_graceful_shutdown": 1}
"""What was under way has had its time when uvicorn is asked to stop."""
GARBAGE = 20_000
HANDOVER_SECONDS = 0.0001
WEBHOOK_KEY = "webhook.key"
SIGNING_KEY = "capability.key"
SCRUB_PLACE = "scrub.json"


def tune_interpreter() -> None:
    """Requests leave almost no reference cycles: look for them less often, and never among the modules.

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


class ServerSettings(Struct, frozen=True):
    """What a server runs under besides its store."""

    policy_file: Path | None = None
    webhook: str | None = None
    secret_file: Path = Path(WEBHOOK_KEY)
    registry: "Registry | None" = None
    signing_key: Path = Path(SIGNING_KEY)
    workers: int = 0
    ray: str | None = None
    judges: Mapping[str, Any] = {}
    detectors: tuple[str, ...] = ()
    sign_in: Path | None = None
    scrub_place: Path | None = None
    marker: "Marker | None" = None
    require_token: bool = False
    accept_store: bool = False
    log: "LogSettings | None" = None
    siblings: "Siblings | None" = None
    """Other processes behind the same address."""
    shared_store: bool = False
    """Servers on other machines may work on it."""
    new_secret: bool = False
    drain_seconds: float = DRAIN_SECONDS
    feed_store: str | None = None
    """Where it hears of what other servers append, if the store's own address leads to a pooler."""

    def files(self, store: str) -> tuple[Path, ...]:
        """What it lives by on this machine, apart from the program itself."""
        from beliefd.stores.opening import is_shared

        said = [getattr(self, name) for name in self.__struct_fields__]
        said += [] if self.log is None else [self.log.key]
        kept = [] if is_shared(store) else [store, *(f"{store}-{end}" for end in ("wal", "shm", "journal"))]
        return (*(one for one in said if isinstance(one, Path)), *map(Path, kept))

    async def agree_on_secret(self, store: "Store") -> None:
        from beliefd.steward.effects.webhook_secret import agree

        if self.webhook is not None and (self.shared_store or self.new_secret):
            await agree(store, self.secret_file, anew=self.new_secret)

    def policy(self) -> "Policy | None":
        from beliefd.policy.files import load_policy

        return None if self.policy_file is None else load_policy(self.policy_file)

    def chores(self, runtime: "Runtime") -> list[Callable[[], Awaitable[None]]]:
        """What goes on beside answering requests, for as long as the server is up."""
        from beliefd.cli.beginning import keep_looking
        from beliefd.cli.logs import inbox_lines
        from beliefd.http.heap import keep_returning
        from beliefd.policy.watch import watch_policy
        from beliefd.steward.effects.scrub import Scrub
        from beliefd.steward.effects.webhook import Webhook
        from beliefd.steward.effects.webhook_secret import secret_from

        steward = runtime.steward
        in_force = steward.in_force
        signed = None if self.log is None else self.log.last
        scrub = Scrub(steward.positions.chains, self.scrub_place, signed)
        chores: list[Callable[[], Awaitable[None]]] = [runtime.expiry.run, keep_returning]
        if self.siblings is None or self.siblings.place.slot == 0:  # one of them is enough
            chores.append(scrub.run)
        chores += inbox_lines(runtime)
        chores.append(lambda: keep_looking(runtime, self))
        if (file := self.policy_file) is not None:
            chores.append(lambda: watch_policy(file, lambda policy: in_force.take_file(policy, file)))
        else:
            chores.append(in_force.follow)
        chores += [runtime.sequencer.run, runtime.buckets.run]
        if self.log is not None:
            chores.append(runtime.checkpoints.run)
        if self.webhook is not None:
            key = secret_from(self.secret_file)
            told = self.secret_file if self.shared_store else None
            chores.append(Webhook(steward.store, steward.positions, self.webhook, key, told).run)
        return chores


def check_feed_address(feed_store: str | None, store: str) -> None:
    """Refuse what cannot be the address of a feed, before anything is opened."""
    from beliefd.stores.opening import is_shared

    if feed_store is None:
        return
    if not is_shared(feed_store):
        raise invalid("an address of PostgreSQL begins with postgresql://", "--feed-store")
    if not is_shared(store):
        raise invalid("only a PostgreSQL store has a feed elsewhere; give its address, too", "--store")


def need_shared_store(store: str) -> None:
    """Several processes need a store that tells each of them what the others append."""
    from beliefd.stores.opening import is_shared

    if not is_shared(store):
        raise invalid(
            f"several processes need PostgreSQL, and `{store}` is a file, which one process writes at a time;"
            " give `--store postgresql://...`, or leave `--processes` at 1",
            "--processes",
        )


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
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # connections take it over from the socket that they came to
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
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


SignInPath = Callable[[str | None], str]
"""A path that signs one person in, once: the holder of a token, or whoever sits at this machine."""
Started = Callable[["uvicorn.Server", SignInPath], None]


def _say_who_comes_in(policy: "Policy", new: bool) -> None:
    """Without tokens. That whoever comes in may speak for the user is said of a new store, too."""
    from beliefd.steward.directory import LOCAL_AGENT

    if not new:
        click.echo("there is no token in this store: every program of this machine is let in", err=True)
    if policy.context is not UNSET and policy.context.may_tell(LOCAL_AGENT):
        named = f"policy names `{LOCAL_AGENT.id}` in `context.tellers`"
        click.echo(
            f"without tokens, every program of this machine may say what the user said: {named}", err=True
        )


async def run_server(
    listener: socket.socket, host: str, target: str, settings: ServerSettings, started: Started
) -> None:
    """Serve the store on the socket until told to stop; `started` is called once requests are answered."""
    import beliefd.adversarial.assessing  # noqa: F401 - or the first who brings a text waits for it
    from beliefd.cli.beginning import begin, refuse_to_open
    from beliefd.http.heap import return_large_pieces
    from beliefd.steward.bootstrap import start
    from beliefd.steward.effects.runner import Runner
    from beliefd.steward.facts.detectors import named_detectors
    from beliefd.steward.failures import translating
    from beliefd.steward.signin.verifier import Verifier
    from beliefd.stores.opening import open_store
    from beliefd.tools.biscuit import Signer
    from beliefd.uncertainty.equivalence.judges import Judges, JudgeSettings

    return_large_pieces()
    judges = Judges(JudgeSettings(**settings.judges))
    judges.prepare()
    policy = settings.policy()
    sign_in = None if settings.sign_in is None else Verifier(settings.sign_in)
    detectors = named_detectors(settings.detectors) or None  # what one lacks is said before all else
    with translating():
        store = await open_store(target, settings.feed_store, must_hear=True)
    required = settings.require_token or not is_loopback(listener)
    try:
        back = await refuse_to_open(store, settings, host if required and sign_in is None else None)
    except BaseException:
        await store.close()
        raise
    runtime = await start(
        store,
        policy,
        settings.policy_file,
        detector=detectors,
        registry=settings.registry,
        signer=Signer(settings.signing_key),
        runner=Runner(settings.workers, settings.ray),
        judges=judges,
        sign_in=sign_in,
        log=settings.log,
        files=settings.files(target),
    )
    runtime.directory.closed = required
    try:
        with translating():
            await settings.agree_on_secret(store)
        chores = settings.chores(runtime)
        with translating():
            await begin(runtime, settings, back)
        await runtime.directory.refresh()  # until then it does not know whether there are tokens
        if not (runtime.directory.closed or sign_in):
            _say_who_comes_in(runtime.steward.in_force.policy, new=back is None)
    except BaseException:
        await runtime.close()
        raise
    await _server(runtime, chores, started, settings).serve(sockets=[listener])


def _server(
    runtime: "Runtime",
    chores: list[Callable[[], Awaitable[None]]],
    started: Started,
    settings: ServerSettings,
) -> "uvicorn.Server":
    import uvicorn

    from beliefd.console.app import Console
    from beliefd.console.pages import PAGES
    from beliefd.http.app import create_app
    from beliefd.http.draining import close_after_answer, is_busy
    from beliefd.http.siblings import pass_on
    from beliefd.http.surface import Surface

    consoles: list[Console] = []
    arriving: set[asyncio.Task[Any]] = set()

    def console(surface: Surface) -> "list[BaseRoute]":
        consoles.append(Console(surface))
        return consoles[0].routes(PAGES)

    siblings = settings.siblings
    application = create_app(runtime, chores, console=console, siblings=siblings)

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if siblings is not None:
                siblings.open(self._take_over, application.metrics)
                asyncio.get_running_loop().add_reader(siblings.place.alive, self._orphaned)
            needs_token = await consoles[0].visits.need_tokens()

            def sign_in_path(token: str | None) -> str:
                # Where tokens are needed, nobody is let in without one of their own.
                keyless = token is None and needs_token
                return "/" if keyless else f"/sign-in?key={consoles[0].visits.link(token)}"

            started(self, sign_in_path)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if siblings is not None:
                self._leave_to(siblings)
            runtime.feeds.end()
            await application.surface.draining.finish(self._leaving, settings.drain_seconds)
            await super().shutdown(sockets)

        def _leave_to(self, siblings: "Siblings") -> None:
            """What comes from now on is for the others."""
            siblings.leave()
            if siblings.others():
                for server in self.servers:
                    server.close()

        def _take_over(self, came: socket.socket, brought: bytes) -> None:
            loop = asyncio.get_running_loop()
            made: Any = self.config.http_protocol_class(  # type: ignore[call-arg]
                config=self.config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
            )
            made.brought = brought
            task = loop.create_task(loop.connect_accepted_socket(lambda: made, came))
            arriving.add(task)
            task.add_done_callback(arriving.discard)

        def _orphaned(self) -> None:
            """The process that started this one is gone: nobody would stop it any more."""
            asyncio.get_running_loop().remove_reader(siblings.place.alive if siblings else 0)
            self.should_exit = True

        def _leaving(self) -> bool:
            """Is a request under way, or a connection to give away? Those that rest go to other processes; if
            there are none, whoever is answered from now on is told that the connection is closed."""
            connections = list(self.server_state.connections)
            busy = [one for one in connections if is_busy(one)]
            if siblings is not None and siblings.others():
                return pass_on(connections, siblings) or bool(busy)
            for one in busy:
                close_after_answer(one)
            return bool(busy)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            # uvicorn raises the signal again after its shutdown; being told to stop is not a failure here.
            if threading.current_thread() is threading.main_thread():
                loop = asyncio.get_running_loop()
                for number in (signal.SIGINT, signal.SIGTERM):
                    loop.add_signal_handler(number, self.handle_exit, number, None)
            yield

    return Server(uvicorn.Config(application, **{**uvicorn_settings(), **LAST_SECONDS}))


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
        "timeout_graceful_shutdown": 2,
    }
