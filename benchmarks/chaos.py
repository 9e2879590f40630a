"""The long form of tests/chaos: `python -m benchmarks.chaos --faults 1000 [--store sqlite|postgres|both]`.

Faults of all kinds, one after the other, each after so many acknowledged writes; with `--kills 1000` only
kill -9, of servers and of the database. Then the history of all clients is checked against the ledgers, and
every chain is verified. With `--older SRC`, the `src` of an earlier version, three servers of it are
on one PostgreSQL, are renewed one by one to this one, and stand beside each other under load.

Prints a row per store; exits with 1 if something was lost, broken or is not explained. Loopback only, and
bounded by the number of faults.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.chaos.storm import Settings, Storm
from tests.chaos.wire import Wire
from tests.faults.place import Place
from tests.support.postgres import PostgresServer
from tests.support.server import ServerProcess

Fault = Callable[[], Awaitable[None]]
STORES = ("sqlite", "postgres")
TOLD = ("acknowledged", "unknown", "refused", "reads")
COLUMNS = ("store", "faults", "s", *TOLD, "events", "lost", "broken", "odd")
"""`broken` are chains that do not verify or rows that are half there, `odd` answers that nothing explains."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=__doc__)
    parser.add_argument("--faults", type=int, default=1000, help="how many, of all kinds together")
    parser.add_argument("--kills", type=int, help="so many kill -9 instead, and nothing else")
    parser.add_argument("--older", type=Path, help="the `src` of a version whose servers are to be renewed")
    parser.add_argument("--store", choices=(*STORES, "both"), default="sqlite")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    print(f"| {' | '.join(COLUMNS)} |")
    print(f"|{'---|' * len(COLUMNS)}")
    if given.older is not None:
        with _upgrade(given.older, given.seed) as upgrade:
            return _weathered("upgrade", upgrade, upgrade.plan(given.kills or given.faults))
    failed = 0
    for store in STORES if given.store == "both" else (given.store,):
        with _storm(store, given.seed) as storm:
            kinds = _kills(storm) if given.kills else _kinds(storm)
            failed |= _weathered(
                store, storm, [storm.chance.choice(kinds) for _ in range(given.kills or given.faults)]
            )
    return failed


@contextmanager
def _storm(store: str, seed: int) -> Iterator[Storm]:
    with tempfile.TemporaryDirectory(prefix="beliefd-chaos-") as folder, ExitStack() as stack:
        data = Path(folder) / "data"
        if store == "sqlite":
            yield Storm(Place(data), Settings(seed=seed))
            return
        database = stack.enter_context(PostgresServer())
        settings = Settings(servers=2, sessions=4, clients=8, seed=seed)
        storm = Storm(Place(data, database.create_database()), settings, database)
        storm.wires = [stack.enter_context(Wire(database.port)) for _ in range(settings.servers)]
        yield storm


class Upgrade(Storm):
    """Servers of an earlier version, until they are renewed: from then on they are of this one."""

    older: Path
    newer = 0

    def start(self, number: int) -> None:
        if number < self.newer:
            super().start(number)
            return
        with patch.dict(os.environ, {"PYTHONPATH": str(self.older)}):
            # Nobody has done their imports for them: those would be of this version.
            self._servers[number] = ServerProcess(self.place.data, self.place.store, self._ports[number])

    async def upgrade(self) -> None:
        """The next of them is told to end, and started as the newer version."""
        await asyncio.to_thread(self._end, self.newer)
        self.newer += 1
        await asyncio.to_thread(self.start, self.newer - 1)

    async def kill_newer(self) -> None:
        """Of those before, none could be started again: they are too old for the tables."""
        number = self.chance.randrange(self.newer)
        self.server(number).kill()
        self.server(number).forget()
        await asyncio.to_thread(self.start, number)

    def plan(self, faults: int) -> list[Fault]:
        """So many kills and pauses while both versions are there, divided among the states of the upgrade."""
        plan: list[Fault] = [self.kill]
        for _ in range(self.settings.servers - 1):
            beside = [self.chance.choice((self.kill_newer, self.pause)) for _ in range(faults // 2)]
            plan += [self.upgrade, *beside]
        return [*plan, self.upgrade, self.kill]


@contextmanager
def _upgrade(older: Path, seed: int) -> Iterator[Upgrade]:
    with tempfile.TemporaryDirectory(prefix="beliefd-chaos-") as folder, PostgresServer() as database:
        settings = Settings(servers=3, sessions=4, clients=8, seed=seed)
        upgrade = Upgrade(Place(Path(folder) / "data", database.create_database()), settings, database)
        upgrade.older = older
        yield upgrade


def _weathered(store: str, storm: Storm, faults: Sequence[Fault]) -> int:
    started = time.monotonic()
    with storm.running():
        asyncio.run(storm.rage(faults))
        found = asyncio.run(storm.explain())
    took = time.monotonic() - started
    try:
        kept, broken = storm.place.check_whole(), 0
    except AssertionError as error:
        kept, broken = 0, 1
        print(error, file=sys.stderr)
    brought = ", ".join(f"{count} {name}" for name, count in sorted(Counter(storm.faults).items()))
    told = Counter(one.outcome for one in storm.tries)
    lost = sum("acknowledged, and is not there" in one for one in found)
    outcomes = f"{told['ok']} | {told['unknown']} | {told['refused']} | {len(storm.reads)}"
    print(
        f"| {store} | {brought} | {took:.0f} | {outcomes} | {kept} | {lost} | {broken} | {len(found)} |",
        flush=True,
    )
    for one in found[:20]:
        print(one, file=sys.stderr)
    return 1 if found or broken else 0


def _kills(storm: Storm) -> list[Fault]:
    """One in eight is of the database, where there is one: it takes longest to come back."""
    return [storm.kill] if storm.database is None else [*[storm.kill] * 7, storm.kill_database]


def _kinds(storm: Storm) -> list[Fault]:
    usual: list[Fault] = [storm.kill, storm.kill, storm.pause, storm.jump, storm.renew]
    if storm.database is None:
        return [*usual, storm.fill_disk]
    return [*usual, storm.kill_database, storm.disturb, storm.disturb]


if __name__ == "__main__":
    sys.exit(main())
