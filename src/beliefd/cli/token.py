"""`beliefd token`: who may speak to a server."""

from pathlib import Path

import click

from beliefd.cli.output import console, errors_exit, print_json, visible
from beliefd.cli.target import need_store, prepare_data, store_name, store_options, with_store
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import Role, Tier
from beliefd.stores.base import Token

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")


@click.group()
def token() -> None:
    """Make, list and revoke tokens."""


@token.command()
@click.option("--name", required=True, help="Whom it is for; it stands in every event.")
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]))
@click.option("--tier", type=click.Choice([tier.name for tier in Tier]), help="Highest risk it may propose.")
@AS_JSON
@store_options
def create(name: str, role: str, tier: str | None, as_json: bool, data: Path, store: str | None) -> None:
    """Make a token and print it, this once, alone on the last line."""
    from beliefd.steward.tokens import create_token

    with errors_exit(as_json):
        if store is None:
            prepare_data(data)
        secret = with_store(
            store_name(data, store),
            lambda opened: create_token(opened, name, Role(role), None if tier is None else Tier[tier]),
        )
    if as_json:
        print_json({"token": secret})
    else:
        click.echo(secret)


@token.command("list")
@AS_JSON
@store_options
def list_(as_json: bool, data: Path, store: str | None) -> None:
    """Show who has a token; secrets are not stored and cannot be shown."""
    with errors_exit(as_json):
        tokens = with_store(need_store(data, store), lambda opened: opened.tokens())
        tokens.sort(key=lambda item: item.created_at)
    if as_json:
        shown = [name for name in Token.__struct_fields__ if name != "secret_hash"]
        print_json({"tokens": [{name: getattr(item, name) for name in shown} for item in tokens]})
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("id", "name", "role", "tier", "created", "revoked", box=None, pad_edge=False)
    for item in tokens:
        cells = (item.token_id, item.name, item.role, item.tier, item.created_at, item.revoked_at or "-")
        table.add_row(*(Text(visible(cell)) for cell in cells))
    console().print(table if tokens else "no tokens: only this machine's own programs are let in")


@token.command()
@click.argument("token_id", metavar="ID")
@AS_JSON
@store_options
def revoke(token_id: str, as_json: bool, data: Path, store: str | None) -> None:
    """Turn a token off; running servers notice within a second."""
    from beliefd.steward.environment import now

    with errors_exit(as_json):
        if not with_store(need_store(data, store), lambda opened: opened.revoke_token(token_id, now())):
            raise invalid(f"no token `{token_id}` that is still valid", "ID")
    if as_json:
        print_json({"revoked": token_id})
    else:
        click.echo(f"revoked {token_id}")
