"""`beliefd projection`: what is derived from all ledgers, compared with them and built anew."""

import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct
from msgspec.structs import asdict

from beliefd.cli.ledgers import progress
from beliefd.cli.output import Exit, complain, errors_exit, print_json, visible
from beliefd.cli.target import need_store, store_options, with_store
from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    from beliefd.steward.projections import Projection
    from beliefd.steward.projections.rebuilding import Difference, Progress
    from beliefd.stores.base import Store

F = TypeVar("F", bound=Callable[..., Any])
NAMED = 20
"""Rows that are told one by one; JSON has them all."""


def _options(command: F) -> F:
    name = click.argument("name", metavar="[NAME]", required=False)
    session = click.option("--session", "session_id", metavar="ID", help="Only the rows of this session.")
    as_json = click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
    return name(session(as_json(store_options(command))))


@click.group()
def projection() -> None:
    """Compare what is derived from the ledgers with them, or build it anew."""


@projection.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def list_(as_json: bool) -> None:
    """Name the projections and say what is in them."""
    from beliefd.steward.projections import PROJECTIONS

    if as_json:
        print_json({"projections": [{"name": one.name, "about": one.about} for one in PROJECTIONS]})
        return
    for one in PROJECTIONS:
        click.echo(f"{one.name:<8}{one.about}")


@projection.command()
@_options
def check(name: str | None, session_id: str | None, as_json: bool, data: Path, store: str | None) -> None:
    """Fold all ledgers again, and name every row that is otherwise. Exits with 5 if there is one."""
    from beliefd.steward.projections import rebuilding

    found: list[Difference] = []
    with errors_exit(as_json):
        projections = _projections(name)

        async def look(opened: "Store", one: str, report: "Progress") -> None:
            found.extend(await rebuilding.differences(opened, one, projections, report))

        async def look_beside(opened: "Store") -> None:
            found.extend(await rebuilding.stray_differences(opened, projections))

        walked = _walk(need_store(data, store), session_id, "comparing", look, look_beside)
    ok = not (found or walked.broken)
    if as_json:
        print_json({"ok": ok, **asdict(walked), "differences": found})
    else:
        walked.complain()
        for line in _lines(found):
            click.echo(visible(line))
        verdict = f"{len(found)} rows otherwise; `beliefd projection rebuild` mends them"
        click.echo(f"{walked.sessions} ledgers folded: {verdict if found else 'all rows are as they say'}")
    sys.exit(Exit.ALLOWED if ok else Exit.LEDGER_BROKEN)


@projection.command()
@_options
def rebuild(name: str | None, session_id: str | None, as_json: bool, data: Path, store: str | None) -> None:
    """Fold all ledgers again, and replace the rows that are otherwise. Servers may go on meanwhile."""
    from beliefd.steward.projections import rebuilding

    with errors_exit(as_json):
        projections = _projections(name)
        changed = {one.name: 0 for one in projections}

        async def mend(opened: "Store", one: str, report: "Progress") -> None:
            for known in await rebuilding.rebuild(opened, one, projections, report):
                changed[known] += 1

        async def mend_beside(opened: "Store") -> None:
            for known in await rebuilding.remove_strays(opened, projections):
                changed[known] += 1

        walked = _walk(need_store(data, store), session_id, "folding", mend, mend_beside)
    if as_json:
        print_json({**asdict(walked), "changed": changed})
    else:
        walked.complain()
        told = ", ".join(f"the {known} of {count}" for known, count in changed.items())
        click.echo(f"{walked.sessions} ledgers folded, replaced: {told}")
    sys.exit(Exit.LEDGER_BROKEN if walked.broken else Exit.ALLOWED)


def _projections(name: str | None) -> "tuple[Projection, ...]":
    from beliefd.steward.projections import PROJECTIONS

    chosen = tuple(one for one in PROJECTIONS if name in (None, one.name))
    if not chosen:
        known = ", ".join(f"`{one.name}`" for one in PROJECTIONS)
        raise invalid(f"`{name}` is no projection; there are {known}", "NAME")
    return chosen


class _Walked(Struct):
    """How many sessions were looked at, and what is wrong with those whose ledgers do not hold."""

    sessions: int
    broken: dict[str, str]

    def complain(self) -> None:
        for session_id, reason in self.broken.items():
            complain(f"session {session_id}: nothing can be derived from its ledger: {reason}")


def _walk(
    store: str,
    only: str | None,
    what: str,
    work: "Callable[[Store, str, Progress], Awaitable[None]]",
    beside: "Callable[[Store], Awaitable[None]]",
) -> _Walked:
    """Do a piece of work for one session, or for all of them and for what belongs to none."""
    from beliefd.ledger.envelope import LedgerBroken

    async def run(opened: "Store") -> _Walked:
        heads = await _heads(opened, only)
        walked, done = _Walked(len(heads), {}), 0
        with progress(what, sum(heads.values()) if sys.stderr.isatty() else 0) as report:

            def folded(count: int) -> None:
                nonlocal done
                done += count
                report(done)

            for session_id in heads:
                try:
                    await work(opened, session_id, folded)
                except LedgerBroken as error:
                    walked.broken[session_id] = str(error)
        if only is None:
            await beside(opened)
        return walked

    return with_store(store, run)


async def _heads(store: "Store", only: str | None) -> dict[str, int]:
    """The length of each ledger."""
    from beliefd.steward.projections.rebuilding import all_sessions
    from beliefd.steward.write.positions import session_not_found

    if only is None:
        return {row.session_id: row.head.seq async for row in all_sessions(store)}
    head = await store.head(only)
    if head is None:
        raise session_not_found(only)
    return {only: head.seq}


def _lines(found: "list[Difference]") -> Iterator[str]:
    for one in found[:NAMED]:
        yield f"session {one.session_id}: `{' '.join(one.row)}` of the {one.projection} is {one.problem}"
    if len(found) > NAMED:
        yield f"and {len(found) - NAMED} more, which `--json` names"
