"""Records ledgers of the format as it is now, so that every kind of event is in one of them.

    python conformance/make_recorded_logs.py

Ledgers come from the stories in `vectors/`, and from two that are told here, of what stories have no words
for. Times and ids are fixed, secrets and salts are drawn. What is recorded is never written again: only
ledgers with verbs and kinds of events that none of them has are added. So a new one is recorded by running
it once; a test fails until then.
"""

import json
import sys
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeVar

from beliefd.conformance.library import Library, verified
from beliefd.conformance.stories import load, run, servers_of
from beliefd.conformance.tools import registry
from beliefd.embedded import Embedded
from beliefd.kernel.commands import COMMAND_OF
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.events import KIND_OF
from beliefd.kernel.system.commands import RestoreStore
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.state_hash import state_hash
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.stores.base import Token
from beliefd.testing.frozen import Clock
from beliefd.testing.world import NOW, ONTOLOGY, World, policy

HERE: Final = Path(__file__).parent
LOGS: Final = HERE / "recorded-logs" / "unreleased"
EXPECTED: Final = "expected.json"
EARLIER: Final = Token("earlier", "ana", "approver", "PRIVILEGE", "0" * 64, NOW)
LONG: Final = 7 * 86_400.0
GATEWAY: Final = Principal(id="gateway://files", role=Role.TOOL, tier="PRIVILEGE")
T = TypeVar("T")
Ledgers = Iterator[tuple[str, bytes]]


def kinds_in(ledger: bytes) -> set[str]:
    """Verbs, and kinds of events."""
    entries = [json.loads(line) for line in ledger.splitlines()[1:]]
    return {entry["verb"] for entry in entries} | {entry["delta"]["kind"] for entry in entries}


def recorded() -> set[str]:
    return {kind for path in LOGS.parent.glob("*/*.jsonl") for kind in kinds_in(path.read_bytes())}


class Recorder(Library):
    """The library, with times and ids that are known beforehand."""

    def __init__(self, lane: int) -> None:
        clock = Clock(lane, tick=timedelta(milliseconds=1))
        self._opened = Embedded(
            ":memory:", LOCAL_OPERATOR, environment=clock.environment, registry=registry()
        )

    def ledgers(self) -> Ledgers:
        yield from exports(self._opened)


def exports(calls: Embedded) -> Ledgers:
    """All ledgers of a store, by what is in the name of their file."""
    rows = calls.run(lambda: calls.steward.store.sessions(None, 1_000))
    for number, row in enumerate(rows, 1):
        name = SYSTEM if row.session_id == SYSTEM else str(number)
        yield name, calls.export(row.session_id, parts=True)


def from_stories() -> Ledgers:
    for path in sorted((HERE / "vectors").glob("*/*.json")):
        story = load(path)
        if "steps" not in story:
            continue
        places = {name: Recorder(lane) for lane, name in enumerate(servers_of(story))}
        try:
            run(story, dict(places))
            for place, recorder in places.items():
                for name, ledger in recorder.ledgers():
                    yield f"{path.parent.name}-{path.stem}-{place}-{name}", ledger
        finally:
            for recorder in places.values():
                recorder.close()


def operators() -> Ledgers:
    """What operators do to a server: tokens, spaces, keys, archives, a store that was put back."""
    with World() as calls:
        calls.run(lambda: calls.store.add_token(EARLIER))
        calls.create_space("lab")
        calls.revoke_token(calls.create_token("triage", "agent").token.token_id)
        calls.run(lambda: calls.runtime.system.note_key("webhook.key", "0" * 64))
        calls.adopt_policy(policy(uncertainty={"explain_above": 0.4, "defer_above": 0.7}))
        session = calls.session()
        calls.seal_session(session, "over")
        ledger = calls.export(session)
        calls.archive_session(session, "archive/1.jsonl", sha256(ledger).hexdigest())
        calls.unarchive_session(session, ledger, place="archive/1.jsonl")
        try:
            calls.agent.eliminate(session, source_id="s", observation_id="o", eliminated=["h1"])
        except BeliefdError:  # it is sealed
            calls.unseal_session(session, "again")
        calls.import_ledger(elsewhere(), source="another server")
        head = calls.run(lambda: calls.store.head(SYSTEM))
        back = RestoreStore(seen=there(head), found=9, signed=9, leaves=7)
        calls.run(lambda: calls.runtime.system.record(back, LOCAL_OPERATOR))
        for name, ledger in exports(calls):
            yield f"operators-{name}", ledger


def there(value: T | None) -> T:
    if value is None:
        raise ValueError("the story went another way")
    return value


def elsewhere() -> bytes:
    with World(clock=Clock(1)) as calls:
        return calls.export(calls.session())


def gateway() -> Ledgers:
    """What a gateway tells: catalogues of tools, what the user said, a call that may no longer begin."""
    ask = {"v": 1, "effect": "deny", "subject": {"tool_id": "frobnicate"}, "on_fail": "ask"}
    allow = {"v": 1, "effect": "allow", "subject": None}
    rules = {"constraint.all": allow, "constraint.ask": ask}
    named = {"context": {}, "tools": {"frobnicate": {"executor": "caller"}}}
    with World(policy=policy(constraints=rules, **named)) as calls:
        front = calls.person(GATEWAY)
        session = front.declare_session(["h1", "h2"], ONTOLOGY).session_id
        look = {"name": "frobnicate", "description": "Looks.", "annotations": {"readOnlyHint": True}}
        front.pin_tools("files", [look])
        front.add_context(session, "user", "What is in there?")
        made = calls.issue_capability(session, agent_id=GATEWAY.id, scope={"tools": ["*"]})
        call = {"kind": "tool_call", "tool_id": "frobnicate", "args": {}, "capability_token": made.token}
        (asked,) = front.propose(session, [call], execute="caller").results
        calls.ann.approve(calls.ann.show_approval(there(asked.approval_id)))
        front.propose(session, [{**call, "args": {"deep": True}}], execute="caller")
        calls.clock.advance(LONG)  # too long for the permit that was given, and for the question
        calls.expire()
        for name, ledger in exports(calls):
            yield f"gateway-{name}", ledger


def added() -> Iterator[tuple[str, bytes, set[str]]]:
    """The ledgers to write: each has a kind of event that none before it has."""
    known = recorded()
    for source in (operators(), gateway(), from_stories()):
        for name, ledger in source:
            if more := kinds_in(ledger) - known:
                known |= more
                yield name, ledger, more


def found_in(ledger: bytes) -> dict[str, Any]:
    position = verified(ledger)
    return {
        "events": position.head.seq,
        "head": position.head.hash,
        "state_hash": state_hash(position.session),
    }


def missing() -> set[str]:
    return {*KIND_OF.values(), *COMMAND_OF} - recorded()


def main() -> int:
    LOGS.mkdir(parents=True, exist_ok=True)
    place = LOGS / EXPECTED
    expected = json.loads(place.read_text()) if place.exists() else {}
    for name, ledger, more in list(added()):
        (LOGS / f"{name}.jsonl").write_bytes(ledger)
        expected[name] = found_in(ledger)
        print(f"{name}: {', '.join(sorted(more))}")
    place.write_text(json.dumps(expected, indent=2, sort_keys=True) + "\n")
    if lost := missing():
        print(f"no ledger has: {', '.join(sorted(lost))}", file=sys.stderr)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
