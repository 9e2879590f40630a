"""Which server or store a command talks to."""

import functools
import sys
from collections.abc import Awaitable, Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from beliefd.cli.options import DIRECTORY, Decorator, setting, together
from beliefd.cli.output import Exit, errors_exit, show
from beliefd.cli.progress import waiting
from beliefd.cli.short_ids import resolved, shortened
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls
    from beliefd.embedded import Embedded
    from beliefd.stores.base import Store

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")
Question = Callable[["Calls"], Any]

DATABASE = "beliefd.db"
DEFAULT_DATA = ".beliefd"
DEFAULT_URL = "http://127.0.0.1:8642"


store_options = together(
    setting(
        "--data",
        "BELIEFD_DATA",
        "Directory of the embedded store.",
        type=DIRECTORY,
        default=DEFAULT_DATA,
        show_default=True,
    ),
    setting("--store", "BELIEFD_STORE", "A postgresql:// address instead of the embedded store."),
)
"""For commands that open the store themselves."""


def store_name(data: Path, store: str | None) -> str:
    return store or str(data / DATABASE)


def prepare_data(data: Path) -> None:
    """Make the directory, for its owner only."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, f"cannot make `{data}`: {error.strerror}") from None


def need_store(data: Path, store: str | None) -> str:
    """The store's name, if it is there: a typing error in `--data` must not make an empty one."""
    name = store_name(data, store)
    if store is None and not Path(name).exists():
        raise BeliefdError(
            Code.STORAGE_UNAVAILABLE, f"no store in `{data}`; `beliefd serve --data {data}` makes one"
        )
    return name


def with_store(
    name: str,
    work: "Callable[[Store], Awaitable[T]]",
    opened: "Callable[[str], Awaitable[Store]] | None" = None,
) -> T:
    """Do a piece of work on a store that is opened for it, by `opened` if it is not to be as usual."""
    import asyncio

    from beliefd.stores.base import StorageUnavailable
    from beliefd.stores.opening import open_store

    async def run() -> T:
        store = await (opened or open_store)(name)
        try:
            return await work(store)
        finally:
            await store.close()

    try:
        return asyncio.run(run())
    except StorageUnavailable as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)) from None


class Target(Struct, frozen=True):
    """A server by its address, or a store opened in this process."""

    url: str
    token: str | None
    data: Path | None
    store: str | None
    as_json: bool

    @property
    def is_embedded(self) -> bool:
        return self.data is not None or self.store is not None

    @contextmanager
    def calls(self, create: bool = False) -> Iterator["Calls"]:
        if self.is_embedded:
            with self.embedded(create) as embedded:
                yield embedded
            return
        from beliefd.client import Client

        with Client(self.url, self.token) as client:
            yield client

    @contextmanager
    def embedded(self, create: bool = False) -> Iterator["Embedded"]:
        import beliefd
        from beliefd.cli.checkpoints import log_settings
        from beliefd.steward.directory import LOCAL_OPERATOR

        data = self.data or Path(DEFAULT_DATA)
        if create and self.store is None:
            prepare_data(data)
        name = store_name(data, self.store) if create else need_store(data, self.store)
        with beliefd.open(name, principal=LOCAL_OPERATOR, log=log_settings(data)) as embedded:
            yield embedded

    def ask(
        self, question: Callable[["Calls"], T], *, create: bool = False, what: str = "asking the server"
    ) -> T:
        """The answer; `what` is told to people who wait for it."""
        with waiting(what), self.calls(create) as calls:
            return question(calls)

    def whole(self, given: dict[str, Any], arguments: Container[str]) -> dict[str, Any]:
        """What was given, with shortened ids written out; without any, nobody is asked."""
        names = shortened(given, arguments)
        return self.ask(lambda calls: resolved(calls, given, names)) if names else given


def target_options(command: F) -> F:
    """The options that every question to a server shares; the command gets them as `target`."""

    @setting("--url", "BELIEFD_URL", default=DEFAULT_URL, show_default=True)
    @setting("--token", "BELIEFD_TOKEN", "As `beliefd token create` printed it.")
    @click.option("--data", type=DIRECTORY, help="Open the store in this directory, without a server.")
    @click.option("--store", help="Open the store at this postgresql:// address, without a server.")
    @click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
    @click.pass_context
    @functools.wraps(command)
    def wrapped(context: click.Context, /, **given: Any) -> Any:
        fields = {name: given.pop(name) for name in Target.__struct_fields__}
        target = Target(**fields)
        explicit = context.get_parameter_source("url") is click.core.ParameterSource.COMMANDLINE
        if target.is_embedded and explicit:
            raise click.UsageError("give `--url` or `--data`/`--store`, not both")
        with errors_exit(target.as_json):
            if target.token is not None and not (target.token.isascii() and target.token.isprintable()):
                raise invalid("a token is one line of plain letters and digits", "--token")
            return command(target, **target.whole(given, _arguments(context)))

    return wrapped  # type: ignore[return-value]  # `wraps` gives it a type of its own


def _arguments(context: click.Context) -> set[str]:
    return {one.name for one in context.command.params if isinstance(one, click.Argument) and one.name}


def asks(
    group: click.Group,
    *parameters: Decorator,
    create: bool = False,
    exits: Callable[[Any], Exit] | None = None,
) -> Callable[[Callable[..., Question]], click.Command]:
    """A command of `group` that makes one question of its arguments, whose answer is shown.

    With `create`, a store that is not there yet is made. `exits` says how to end, by the answer.
    """

    def decorated(command: Callable[..., Question]) -> click.Command:
        name = command.__name__.rstrip("_")

        @target_options
        @functools.wraps(command)
        def run(target: Target, **given: Any) -> None:
            answer = target.ask(command(**given), create=create, what=f"{group.name} {name}")
            show(answer, target.as_json)
            sys.exit(Exit.ALLOWED if exits is None else exits(answer))

        return group.command(name)(together(*parameters)(run))

    return decorated
