"""`beliefd token`: who may speak to a server."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import argument, option

from beliefd.cli.output import Reply, replies, visible
from beliefd.cli.target import need_store, prepare_data, store_name, store_options, with_store
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import Role, Tier

if TYPE_CHECKING:
    from rich.table import Table

    from beliefd.stores.base import Store, Token

token = click.Group("token", help="Make, list and revoke tokens.")


@replies(
    token,
    option("--name", required=True, help="Who it is for; recorded in every event."),
    option("--role", required=True, type=click.Choice([role.value for role in Role])),
    option("--tier", type=click.Choice([tier.name for tier in Tier]), help="Highest risk it may propose."),
    option("--owner", help="Whose it is, if not of whom it names. Nobody approves their own."),
    option(
        "--space",
        "spaces",
        multiple=True,
        metavar="SPACE=RIGHTS",
        help="What it may there: `read`, `propose`, `approve`, `admin`, by commas. `*` is every space."
        " Can be repeated. Without it, what its role may.",
    ),
    store_options,
)
def create(
    name: str,
    role: str,
    tier: str | None,
    owner: str | None,
    spaces: tuple[str, ...],
    data: Path,
    store: str | None,
) -> Reply:
    """Make a token and print it alone on the last line; it is not shown again."""
    from beliefd.steward.credentials import create_token

    _refuse_elsewhere()
    if store is None:
        prepare_data(data)
    place, highest = store_name(data, store), None if tier is None else Tier[tier]

    async def make(opened: "Store") -> str:
        await _look(data, place, opened)
        made = await create_token(opened, name, Role(role), highest, owner, spaces=spaces)
        await _remember(data, place, opened)
        return made

    secret = with_store(place, make)
    return Reply({"token": secret}, secret)


@replies(token, store_options)
def list_(data: Path, store: str | None) -> Reply:
    """Show who has a token; secrets are not stored and cannot be shown."""
    _refuse_elsewhere()
    tokens = with_store(need_store(data, store), lambda opened: opened.tokens())
    tokens.sort(key=lambda item: item.created_at)
    listed = [
        {name: getattr(item, name) for name in item.__struct_fields__ if name != "secret_hash"}
        for item in tokens
    ]
    nobody = "no tokens: only this machine's own programs are let in"
    return Reply({"tokens": listed}, _table(tokens) if tokens else nobody)


def _table(tokens: "list[Token]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    from beliefd.steward.directory import principal_of

    told = any(item.spaces for item in tokens)  # nobody is bothered with spaces who has none
    columns = ("id", "name", "owner", "role", "tier", "created", "revoked", *(["may"] if told else []))
    table = Table(*columns, box=None, pad_edge=False)
    for item in tokens:
        owner = principal_of(item).person
        dates = (item.created_at, item.revoked_at or "-")
        may = (item.spaces or "-",) if told else ()
        cells = (item.token_id, item.name, owner, item.role, item.tier, *dates, *may)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    return table


@replies(token, argument("token_id", metavar="ID"), store_options)
def revoke(token_id: str, data: Path, store: str | None) -> Reply:
    """Revoke a token; running servers notice within a second."""
    from beliefd.cli.short_ids import may_be_short, only
    from beliefd.steward.credentials import revoke_token

    _refuse_elsewhere()
    place = need_store(data, store)

    async def end(opened: "Store") -> str | None:
        await _look(data, place, opened)
        ids = [one.token_id for one in await opened.tokens()]
        whole = only(token_id, ids, "ID") if may_be_short(token_id) else token_id
        revoked = await revoke_token(opened, whole)
        await _remember(data, place, opened)
        return whole if revoked else None

    whole = with_store(place, end)
    if whole is None:
        raise invalid(f"no token `{token_id}` that is still valid", "ID")
    return Reply({"revoked": whole}, f"revoked {whole}")


def _refuse_elsewhere() -> None:
    """Whoever has named a server and no store means the tokens of that server, not of a folder here."""
    context, default = click.get_current_context(), click.core.ParameterSource.DEFAULT
    named = (context.get_parameter_source(name) for name in ("data", "store"))
    if (url := os.environ.get("BELIEFD_URL")) and all(source is default for source in named):
        told = (
            f"tokens are kept in a store, and BELIEFD_URL names a server (`{url}`): say which store with"
            " `--data` or `--store` where that server runs, or ask it with `Client.create_token`"
        )
        raise invalid(told, "--data")


async def _look(data: Path, place: str, store: "Store") -> None:
    """Fail if this is not the store that was here: it may not know which tokens were revoked since."""
    from beliefd.cli.marker import Marker

    await Marker(data, place).refuse_other(store)


async def _remember(data: Path, place: str, store: "Store") -> None:
    """The next server in this folder knows that there are tokens, whatever becomes of the store meanwhile."""
    from beliefd.cli.marker import Marker

    marker = Marker(data, place)
    if marker.has_folder:
        await marker.keep_up(store)
