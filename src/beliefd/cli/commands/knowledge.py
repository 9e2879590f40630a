"""`beliefd knowledge`: the graph over all ledgers, carried elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import option

from beliefd.cli.options import setting
from beliefd.cli.output import Exit, Reply, replies
from beliefd.cli.progress import progress
from beliefd.cli.target import need_store, store_options, with_store
from beliefd.kernel.errors import BeliefdError, Code, invalid

if TYPE_CHECKING:
    from beliefd.steward.knowledge import Exported
    from beliefd.stores.base import Store


@contextmanager
def _told() -> Iterator[None]:
    from beliefd.knowledge.typedb import GraphUnavailable
    from beliefd.steward.failures import translating

    try:
        with translating():
            yield
    except GraphUnavailable as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)) from None


knowledge = click.Group("knowledge", help="Export the graph of propositions and evidence.")


@replies(
    knowledge,
    option(
        "--to",
        "address",
        required=True,
        metavar="ADDRESS",
        help="typedb://user@host:port/database; `?tls=off` for a server without TLS.",
    ),
    setting("--password", "TYPEDB_PASSWORD", "Better in the environment than here."),
    store_options,
)
def export(address: str, password: str | None, data: Path, store: str | None) -> Reply:
    """Bring a TypeDB database up to the heads of all ledgers; interrupted, it goes on where it was.

    A session that cannot be exported is named with the reason, and the others are exported. Then the command
    exits with 1, or with 5 if a ledger does not verify.
    """
    import asyncio

    from beliefd.knowledge.typedb import TypeDBGraph, parse_address
    from beliefd.steward.knowledge import export as bring_up
    from beliefd.steward.projections.rebuilding import all_sessions

    async def work(opened: "Store") -> "Exported":
        total = sum([row.head.seq async for row in all_sessions(opened)])
        graph = await asyncio.to_thread(TypeDBGraph.open, place, secret)
        try:
            with progress("exporting", total) as report:
                return await bring_up(opened, graph, report)
        finally:
            graph.close()

    with _told():
        name = need_store(data, store)
        try:
            place = parse_address(address)
        except ValueError as error:
            raise invalid(str(error), "--to") from None
        secret = place.password or password or ""
        if not secret:
            raise invalid("a password is needed: set TYPEDB_PASSWORD", "--password")
        answer = with_store(name, work)
    left = answer.failed | answer.broken
    told = f"{answer.sessions} ledgers looked at, {answer.events} new events exported"
    if left:
        told += f", {len(left)} ledgers not exported to their ends"
    exits = Exit.LEDGER_BROKEN if answer.broken else Exit.FAILED if left else Exit.ALLOWED
    return Reply(answer, told, exits, [f"session {name}: {why}" for name, why in sorted(left.items())])
