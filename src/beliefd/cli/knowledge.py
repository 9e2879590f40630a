"""`beliefd knowledge`: the graph over all ledgers, built anew or carried elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from beliefd.cli.audit import progress
from beliefd.cli.output import errors_exit, print_json
from beliefd.cli.target import need_store, store_options, with_store

if TYPE_CHECKING:
    from beliefd.steward.knowledge import Rebuilt
    from beliefd.stores.base import Store

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")


@contextmanager
def _ledgers_hold() -> Iterator[None]:
    from beliefd.ledger.chain import LedgerBroken
    from beliefd.steward.handle import ledger_broken

    try:
        yield
    except LedgerBroken as error:
        raise ledger_broken(error) from None


@click.group()
def knowledge() -> None:
    """Rebuild the graph of propositions and evidence, or export it."""


@knowledge.command()
@AS_JSON
@store_options
def rebuild(as_json: bool, data: Path, store: str | None) -> None:
    """Fold all ledgers again, and replace what the graph has otherwise."""
    from beliefd.steward.knowledge import all_sessions
    from beliefd.steward.knowledge import rebuild as build_anew

    async def work(opened: "Store") -> "Rebuilt":
        total = sum([row.head.seq async for row in all_sessions(opened)])
        with progress("folding", total) as report:
            return await build_anew(opened, report)

    with errors_exit(as_json), _ledgers_hold():
        answer = with_store(need_store(data, store), work)
    if as_json:
        print_json(answer)
    else:
        click.echo(f"{answer.sessions} ledgers folded, the graph of {answer.changed} was replaced")
