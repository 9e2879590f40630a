"""An agent that lies about everything it can, over HTTP: its sources, its numbers, its tier, its name.

It starts servers of its own, tells every lie, and then looks at everything that was published and recorded.
Nothing of that may be unmarked: each source is witnessed, stored or said to be attested, a claim without any
says so, and each certainty is witnessed or said to be declared or attested. What was refused is on record. In
the end it tries the three sentences of the README's first screen.

    python examples/liar.py
"""

import sys
from collections.abc import Iterable
from typing import Final

from lies import certainty, sources, standing
from lies.looking import Told, events, published, sessions, told
from lies.sentences import gate, ground, guard
from lies.world import World, served

LIES: Final = (*sources.LIES, *certainty.LIES, *standing.LIES)


def main() -> int:
    with served() as world:
        heard: list[Told] = []
        wrong = 0
        for lie, expected in LIES:
            heard.append(one := told(lie, world))
            wrong += one.came != expected
            mark = "  " if one.came == expected else "! "
            print(f"{mark}{lie.__name__.replace('_', ' '):<48} {one.came}\n     {one.why}")
        unrecorded = list(_not_recorded(world, heard))
        _shown(f"{len(LIES)} stories told", unrecorded, "answers that are not on record")
        bundles = list(published(world.root))
        held = [
            _holds("guard", guard(world)),
            _holds(f"gate ({len(bundles)} published)", gate(bundles)),
            _holds("ground", ground(world)),
        ]
        broken = [name for name in sessions(world.root) if not world.root.verify(name).ok]
        print(f"every session is verified: {'ok' if not broken else 'BROKEN'}")
        return 1 if wrong or unrecorded or broken or not all(held) else 0


def _not_recorded(world: World, heard: Iterable[Told]) -> Iterable[str]:
    """INVARIANT: what was read as a command is on record, refused or not, under the event that was named."""
    ledger = events(world.root)
    for one in heard:
        for event_id in one.events:
            entry = ledger.get(event_id)
            if entry is None or (one.refused and entry["delta"]["kind"] != "refused"):
                yield f"{one.came}: {event_id}"


def _holds(name: str, problems: Iterable[str]) -> bool:
    found = list(problems)
    _shown(f"{name}: {'holds' if not found else 'does not hold'}", found, "things wrong")
    return not found


def _shown(what: str, problems: list[str], kind: str) -> None:
    print(f"{what}, {len(problems)} {kind}")
    for problem in problems:
        print(f"! {problem}")


if __name__ == "__main__":
    sys.exit(main())
