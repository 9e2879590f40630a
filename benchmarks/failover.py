"""The leader of three PostgreSQL servers under Patroni and etcd is killed and frozen while clients write.

`python -m benchmarks.failover --rounds 3` prints per event: seconds without acknowledgements, in all, from
when there was a new leader, and from when a commit of its own was confirmed by a standby; acknowledged writes
that were lost; the slowest answer of `/readyz`. Exits with 1 if a promise is broken: nothing lost, writes
within 10 s of when the new leader said that it leads, `/readyz` within 2 s. The time until a standby confirms
counts, though nobody can write before: the last figure says how much of the wait was ours.
Loopback only, and bounded by the number of rounds.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.chaos.failover import Failovers
from tests.chaos.storm import Settings
from tests.faults.place import Place
from tests.support.patroni import Cluster, Pace

RESUME_SECONDS = 10.0
READY_SECONDS = 2.0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.failover", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often it is killed, and frozen")
    parser.add_argument("--ttl", type=int, default=20, help="Patroni's: seconds until a leader is given up")
    parser.add_argument("--loop-wait", type=int, default=5, help="Patroni's: seconds between its rounds")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(arguments)
    pace = Pace(given.ttl, given.loop_wait, max(2, min(given.loop_wait, given.ttl // 3)))
    with tempfile.TemporaryDirectory(prefix="beliefd-failover-") as folder, Cluster(pace=pace) as cluster:
        place = Place(Path(folder) / "data", cluster.create_database())
        storm = Failovers(place, Settings(servers=2, sessions=4, clients=4, seed=given.seed), cluster)
        faults = [storm.kill_leader, storm.heal, storm.freeze_leader, storm.heal] * given.rounds
        with storm.running():
            asyncio.run(storm.rage(faults))
            found = asyncio.run(storm.explain())
        kept = place.check_whole()
        return _printed(storm, found, kept)


def _printed(storm: Failovers, found: list[str], kept: int) -> int:
    broken = bool(found)
    print("| event | leader | no acknowledgement | after it led | after it committed | slowest /readyz |")
    print("|---|---|---|---|---|---|")
    ends = [*(change.forced for change in storm.changes[1:]), float("inf")]
    for change, end in zip(storm.changes, ends, strict=True):
        resumed = storm.resumed(change)
        after = resumed - change.led
        # With `synchronous_mode_strict` a leader takes writes when a standby follows it, and not before.
        ours = max(0.0, resumed - change.committed)
        slowest = max(took for at, took in storm.asked if change.forced <= at < end)
        broken |= after > RESUME_SECONDS or slowest > READY_SECONDS
        leaders = f"{change.before} -> {change.after}"
        gaps = f"{resumed - change.forced:.1f} s | {after:.1f} s | {ours:.1f} s"
        print(f"| {change.event} | {leaders} | {gaps} | {slowest:.2f} s |")
    told = {(one.session_id, one.seq) for one in storm.tries if one.outcome == "ok"}
    unknown = sum(one.outcome == "unknown" for one in storm.tries)
    print(f"{len(told)} writes acknowledged, {unknown} tries unknown; {kept} events verified")
    lost = sum("is not there" in one for one in found)
    print(f"{lost} acknowledged lost, {len(found)} answers not explained; {len(storm.reads)} reads")
    for one in found[:20]:
        print(one, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
