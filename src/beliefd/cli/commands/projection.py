"""`beliefd projection`: what is derived from all ledgers, compared with them and built anew."""

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click import argument, option
from msgspec import Struct
from msgspec.structs import asdict

from beliefd.cli.options import together
from beliefd.cli.output import Exit, Reply, replies, visible
from beliefd.cli.progress import is_watched, progress
from beliefd.cli.target import need_store, store_options, with_store
from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    from beliefd.steward.directory import TokenDifference
    from beliefd.steward.projections import Projection
    from beliefd.steward.projections.rebuilding import Difference, Progress
    from beliefd.stores.base import Store

NAMED = 20
"""Rows that are told one by one; JSON has them all."""
ROWS = together(
    argument("name", metavar="[NAME]", required=False),
    option("--session", "session_id", metavar="ID", help="Only the rows of this session."),
    store_options,
)
projection = click.Group(
    "projection", help="Compare what is derived from the ledgers with them, or build it anew."
)


@replies(projection)
def list_() -> Reply:
    """Name the projections and say what is in them."""
    from beliefd.steward.projections import PROJECTIONS

    listed = [{"name": one.name, "about": one.about} for one in PROJECTIONS]
    return Reply({"projections": listed}, "\n".join(f"{one.name:<8}{one.about}" for one in PROJECTIONS))


@replies(projection, ROWS)
def check(name: str | None, session_id: str | None, data: Path, store: str | None) -> Reply:
    """Fold all ledgers again, and name every row that is otherwise. Exits with 5 if there is one."""
    from beliefd.steward.projections import rebuilding

    found: list[Difference] = []
    planted: list[TokenDifference] = []
    projections = _projections(name)

    async def look(opened: "Store", one: str, report: "Progress") -> None:
        found.extend(await rebuilding.differences(opened, one, projections, report))

    async def look_beside(opened: "Store") -> None:
        found.extend(await rebuilding.stray_differences(opened, projections))
        planted.extend(await _token_differences(opened) if name is None else ())

    walked = _walk(need_store(data, store), session_id, "comparing", look, look_beside)
    ok = not (found or walked.broken or planted)
    verdict = f"{len(found)} rows otherwise; `beliefd projection rebuild` mends them"
    folded = f"{walked.folded} ledgers folded: {verdict if found else 'all rows are as they say'}"
    return Reply(
        {"ok": ok, **asdict(walked), "differences": found, "tokens": planted},
        "\n".join([*map(visible, [*_lines(found), *(one.words for one in planted)]), folded]),
        Exit.ALLOWED if ok else Exit.LEDGER_BROKEN,
        walked.complaints,
    )


@replies(projection, ROWS)
def rebuild(name: str | None, session_id: str | None, data: Path, store: str | None) -> Reply:
    """Fold all ledgers again, and replace the rows that are otherwise. Servers may go on meanwhile."""
    from beliefd.steward.projections import rebuilding

    projections = _projections(name)
    changed = {one.name: 0 for one in projections}

    async def mend(opened: "Store", one: str, report: "Progress") -> None:
        for known in await rebuilding.rebuild(opened, one, projections, report):
            changed[known] += 1

    async def mend_beside(opened: "Store") -> None:
        for known in await rebuilding.remove_strays(opened, projections):
            changed[known] += 1

    walked = _walk(need_store(data, store), session_id, "folding", mend, mend_beside)
    told = ", ".join(f"the {known} of {count}" for known, count in changed.items())
    return Reply(
        {**asdict(walked), "changed": changed},
        f"{walked.folded} ledgers folded, replaced: {told}",
        Exit.LEDGER_BROKEN if walked.broken else Exit.ALLOWED,
        walked.complaints,
    )


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

    @property
    def folded(self) -> int:
        return self.sessions - len(self.broken)

    @property
    def complaints(self) -> list[str]:
        underivable = "nothing can be derived from its ledger"
        return [f"session {name}: {underivable}: {reason}" for name, reason in self.broken.items()]


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
        with progress(what, sum(heads.values()) if is_watched() else 0) as report:

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


async def _token_differences(store: "Store") -> "list[TokenDifference]":
    """Nothing mends these: what is secret of a token is not in the server's own ledger."""
    from beliefd.steward.directory import token_differences
    from beliefd.steward.write.positions import Positions
    from beliefd.steward.write.system import system_state

    system = await system_state(Positions(store))
    return [] if system is None else token_differences(await store.tokens(), system)


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
