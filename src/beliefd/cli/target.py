"""Which store or server a command talks to."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

DATABASE = "beliefd.db"
DEFAULT_DATA = ".beliefd"
DEFAULT_URL = "http://127.0.0.1:8642"


def store_options(command: F) -> F:
    """`--data` and `--store`, for commands that open the store themselves."""
    data = click.option(
        "--data",
        type=click.Path(file_okay=False, path_type=Path),
        default=DEFAULT_DATA,
        envvar="BELIEFD_DATA",
        show_default=True,
        show_envvar=True,
        help="Directory of the embedded store.",
    )
    store = click.option(
        "--store",
        envvar="BELIEFD_STORE",
        show_envvar=True,
        help="A postgresql:// address instead of the embedded store.",
    )
    return data(store(command))


def store_name(data: Path, store: str | None) -> str:
    return store or str(data / DATABASE)


def prepare_data(data: Path) -> None:
    """Make the directory, for its owner only."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise click.ClickException(f"cannot make `{data}`: {os.strerror(error.errno or 0).lower()}") from None
