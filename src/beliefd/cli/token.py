"""`beliefd token`: who may speak to a server."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import click

from beliefd.cli.output import Exit, console, errors_exit, fail, print_json, visible
from beliefd.cli.target import prepare_data, store_name, store_options
from beliefd.kernel.values import Role, Tier
from beliefd.stores.base import Store

T = TypeVar("T")


@click.group()
def token() -> None:
    """Make, list and revoke tokens."""


@token.command()
@click.option("--name", required=True, help="Whom it is for; it stands in every event.")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]))
@click.option("--tier", type=click.Choice([tier.name for tier in Tier]), help="Highest risk it may propose.")
@store_options
def create(name: str, role: str, tier: str | None, data: Path, store: str | None) -> None:
    """Make a token and print it, this once, alone on the last line."""
    from beliefd.steward.tokens import create_token

    if store is None:
        prepare_data(data)
    secret = _with_store(
        store_name(data, store),
        lambda opened: create_token(opened, name, Role(role), None if tier is None else Tier[tier]),
    )
    click.echo(secret)


@token.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@store_options
def list_(as_json: bool, data: Path, store: str | None) -> None:
    """Show who has a token; secrets are not stored and cannot be shown."""
    tokens = _with_store(store_name(data, store), lambda opened: opened.tokens())
    if as_json:
        hidden = ("secret_hash",)
        print_json(
            {
                "tokens": [
                    {name: getattr(item, name) for name in item.__struct_fields__ if name not in hidden}
                    for item in tokens
                ]
            }
        )
        return
    from rich.table import Table

    table = Table("id", "name", "role", "tier", "created", "revoked", box=None, pad_edge=False)
    for item in tokens:
        cells = (item.token_id, item.name, item.role, item.tier, item.created_at, item.revoked_at or "-")
        table.add_row(*(visible(cell) for cell in cells))
    console().print(table if tokens else "no tokens: only this machine's own programs are let in")


@token.command()
@click.argument("token_id")
@store_options
def revoke(token_id: str, data: Path, store: str | None) -> None:
    """Turn a token off; running servers notice within a second."""
    from beliefd.steward.outside import now

    if not _with_store(store_name(data, store), lambda opened: opened.revoke_token(token_id, now())):
        fail(f"no token `{token_id}` that is still valid", Exit.BAD_INPUT)
    click.echo(f"revoked {token_id}")


def _with_store(target: str, work: Callable[[Store], Awaitable[T]]) -> T:
    from beliefd.kernel.errors import BeliefdError, Code
    from beliefd.stores.base import StorageUnavailable
    from beliefd.stores.opening import open_store

    async def run() -> T:
        store = await open_store(target)
        try:
            return await work(store)
        finally:
            await store.close()

    with errors_exit():
        try:
            return asyncio.run(run())
        except StorageUnavailable as error:
            raise BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)) from None
