"""What one caller can do to others: how long `/healthz` takes meanwhile, what it costs in memory, who fails.

With seconds given (`--seconds 3600`, or `--hour`), all attacks are mixed for so long, again and again, and
what counts is whether the memory still grows. What is remembered to be quicker is bounded, but an hour would
not fill it: that server has small caches (`benchmarks.small`), and every attack was made once before.
"""

import re
import sys
import threading
import time
import urllib.request
from contextlib import suppress
from itertools import chain, islice
from statistics import median

from msgspec import Struct

from beliefd.protocol.operations import OPERATIONS
from beliefd.testing.world import ONTOLOGY
from benchmarks import accepted, small  # noqa: F401 - the first registers its attacks
from benchmarks.attacks import ATTACKS, BODIES, Attack, Unanswered
from benchmarks.beside import Seen
from benchmarks.figures import Figure, Run, Target
from benchmarks.questions import QUESTIONS
from benchmarks.rest import REST
from benchmarks.victim import Victim, attacked, watched

IDLE_SECONDS = 3.0
TIMES_IDLE = 10.0
SOON_ENOUGH = 0.5
"""Seconds that `/healthz` may take in any case."""
MOST_MEMORY = 8.0
SMALL = 8 * 1024 * 1024
"""So much may a server grow by, whatever the size of the body was."""
PARTS = 12
"""What counts is the memory after the last of so many parts against that after the first: an hour's first
five minutes."""
LATER = 1.1
LOOKED_AT = 0.5
"""The end of each part, in which its memory is looked at: it goes up and down with what is under way."""
MIXED_SCALE = 0.05
QUICK_SCALE = 0.001
CACHES = {
    "beliefd_sessions_in_memory": small.SESSIONS,
    "beliefd_state_bytes_in_memory": small.STATES,
}
LOOKS = 60
_SAMPLE = re.compile(r"^(\w+)(?:\{.*\})? ([0-9.e+-]+)$", re.MULTILINE)


def hostile(run: Run) -> list[Figure]:
    if run.seconds:
        return _mixed(run)
    if missing := without_row():
        raise SystemExit(f"no attack on {', '.join(missing)}: nothing is known of what a caller can do there")
    figures: list[Figure] = []
    with attacked(run.folder / "hostile", QUICK_SCALE if run.quick else 1.0) as victim:
        idle = _idle(victim, IDLE_SECONDS if not run.quick else 0.3)
        for name, attack in _rows(run).items():
            figures += _measured(name, attack, victim, idle)
    return figures


def without_row() -> list[str]:
    """INVARIANT: every operation is tried: by the largest body that it takes, or without one."""
    tried = {name.split()[0] for name in chain(BODIES, QUESTIONS, REST)}
    return [row.name for row in OPERATIONS if row.name not in tried]


def _rows(run: Run) -> dict[str, Attack]:
    """Every attack, operations with the largest body that they take, questions about a long ledger, and what
    is left: all, or a few of each if it is quick."""
    few = [islice(rows.items(), run.size(len(rows), 3)) for rows in (BODIES, QUESTIONS, REST)]
    return {**ATTACKS, **dict(chain.from_iterable(few))}


def _idle(victim: Victim, seconds: float) -> float:
    with watched(victim) as seen:
        time.sleep(seconds)
    return seen.usual


def _measured(name: str, attack: Attack, victim: Victim, idle: float) -> list[Figure]:
    if name in QUESTIONS:
        # Connections with their page caches, threads and modules are there for good once somebody has asked.
        with suppress(Unanswered):
            attack(victim)
    victim.rest()
    before = victim.memory
    victim.forget_peak()
    size, unanswered = SMALL, list[str]()
    victim.surprises.clear()
    with watched(victim) as seen:
        try:
            size = attack(victim)
        except Unanswered as error:
            unanswered.append(str(error))
    seen.failures += unanswered
    grown = max(0, victim.peak - before)
    for failure in seen.failures[:3]:
        print(f"{name}: an honest request failed: {failure}", file=sys.stderr)
    for surprise in victim.surprises[:3]:
        print(f"{name}: {surprise}", file=sys.stderr)
    said = [_as_said(name)] if victim.surprises else []
    return [_waiting(name, seen, idle), _memory(name, grown, size), _honest(name, seen), *said]


def _waiting(name: str, seen: Seen, idle: float) -> Figure:
    return Figure(
        benchmark="hostile",
        what=f"{name}: worst /healthz",
        unit="s",
        ours=seen.worst,
        peer=idle,
        peer_is="p99 when idle",
        ratio=seen.worst / idle,
        ratio_is="worst : idle p99",
        target=Target(at_most=max(TIMES_IDLE, SOON_ENOUGH / idle)),
    )


def _memory(name: str, grown: int, size: int) -> Figure:
    """Where the body is small, what a server takes for anything at all is more than it."""
    most = max(MOST_MEMORY, SMALL / size)
    return Figure(
        benchmark="hostile",
        what=f"{name}: memory",
        unit="peak growth : body",
        ours=max(grown, 1) / size,
        target=Target(at_most=most),
    )


def _honest(name: str, seen: Seen) -> Figure:
    return Figure(
        benchmark="hostile",
        what=f"{name}: honest requests answered",
        unit="share",
        ours=max(0, seen.asked - len(seen.failures)) / seen.asked,
        target=Target(at_least=1.0),
    )


def _as_said(name: str) -> Figure:
    """INVARIANT: an attack that was answered otherwise than it says has measured something else."""
    return Figure(
        benchmark="hostile",
        what=f"{name}: answered as expected",
        unit="share",
        ours=0.0,
        target=Target(at_least=1.0),
    )


# -- the long form -------------------------------------------------------------------------------------


def _mixed(run: Run) -> list[Figure]:
    part = run.seconds / PARTS
    scale = QUICK_SCALE if run.quick else MIXED_SCALE
    with attacked(run.folder / "hostile", scale, "benchmarks.small") as victim:
        _warm(run, victim)
        over = threading.Event()
        attacking = [threading.Thread(target=_attack_on, args=(victim, over, start)) for start in range(2)]
        with watched(victim) as seen:
            for thread in attacking:
                thread.start()
            sizes = [_after(part, victim, number) for number in range(1, PARTS + 1)]
            over.set()
            for thread in attacking:
                thread.join()
    for failure in seen.failures[:3]:
        print(f"an honest request failed: {failure}", file=sys.stderr)
    then, now = sizes[0], sizes[-1]
    said = [
        Figure(
            benchmark="hostile",
            what=name,
            unit="at the end",
            ours=count,
            target=Target(at_most=CACHES[name]),
        )
        for name, count in now.caches.items()
    ]
    return [_grown(run, now, then), *said, _honest("all attacks mixed", seen)]


def _warm(run: Run, victim: Victim) -> None:
    """Make every attack once, and fill what is bounded."""
    for attack in _rows(run).values():
        with suppress(Unanswered):
            attack(victim)
    with victim.client() as client:
        for _ in range(run.size(small.SESSIONS, 3)):
            client.declare_session(["a", "b"], ONTOLOGY)


class Size(Struct, frozen=True):
    """What a server held: the middle one of many looks, since bodies come and go."""

    memory: int
    caches: dict[str, float]


def _grown(run: Run, now: Size, then: Size) -> Figure:
    return Figure(
        benchmark="hostile",
        what=f"all attacks mixed for {run.seconds:g} s: memory",
        unit="bytes",
        ours=now.memory,
        peer=then.memory,
        peer_is=f"after {run.seconds / PARTS:g} s",
        ratio=now.memory / then.memory,
        ratio_is="end : then",
        target=Target(at_most=LATER),
    )


def _after(seconds: float, victim: Victim, number: int) -> Size:
    looked = seconds * LOOKED_AT / LOOKS
    time.sleep(seconds - looked * LOOKS)
    seen = []
    for _ in range(LOOKS):
        time.sleep(looked)
        seen.append(victim.memory)
    size = Size(int(median(seen)), dict(_caches(victim)))
    caches = ", ".join(f"{name} {count:,.0f}" for name, count in size.caches.items())
    print(f"after {number * seconds:g} s: {size.memory / 1e6:.1f} MB, {caches}", file=sys.stderr)
    return size


def _attack_on(victim: Victim, over: threading.Event, start: int) -> None:
    attacks = [one for rows in (ATTACKS, BODIES, QUESTIONS, REST) for one in rows.values()]
    turn = start * len(attacks) // 2
    while not over.is_set():
        with suppress(Unanswered):  # the honest caller beside it counts here
            attacks[turn % len(attacks)](victim)
        turn += 1


def _caches(victim: Victim) -> list[tuple[str, float]]:
    """What the server says that it keeps in memory."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{victim.port}/metrics", headers={"Authorization": f"Bearer {victim.admin}"}
    )
    with urllib.request.urlopen(request) as answer:
        text = answer.read().decode()
    return [(name, float(value)) for name, value in _SAMPLE.findall(text) if name in CACHES]
