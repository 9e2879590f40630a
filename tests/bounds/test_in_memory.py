"""What stays in memory because of one principal: commands, sessions and their states are bounded."""

import asyncio
import contextlib
import gc
import threading
import tracemalloc
from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused
from beliefd.kernel.scheduling.commands import Interrupt
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Principal, Role
from beliefd.steward.write import positions as positions_module
from beliefd.steward.write.positions import Positions
from beliefd.testing.world import AGENT, ANN, OTHER_AGENT, World, policy, refused
from tests.bounds.test_shares import IDEA, WAITS, limited, said
from tests.claims.support import bundle, claim
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, rules, tool_call


@pytest.mark.parametrize("way", ["memory", "delta", "call", "hypothesis"])
def test_a_command_too_long_to_stay_in_memory_is_turned_away_and_not_recorded(way: str) -> None:
    given = policy(constraints=rules(all=ALLOW_ALL).constraints, limits={"command_bytes": 2_000})
    with ToolWorld(policy=given) as house:
        session, text = house.session(), "x" * 2_000
        tokens = [house.token(session)]
        ways: dict[str, Any] = {
            "memory": lambda text: house.agent.remember(session, {**IDEA, "memory_id": "m", "value": text}),
            "delta": lambda text: house.agent.propose(session, [delta(goal__x=text)]),
            "call": lambda text: house.agent.propose(session, [tool_call("net.get", tokens[0], url=text)]),
            "hypothesis": lambda text: house.agent.speculate(session, "c", [{"statement": text}]),
        }
        before = len(house.entries(session))
        error = refused(Code.PAYLOAD_TOO_LARGE, lambda: ways[way](text))
        assert error.details == {"path": "$", "limit": 2_000}
        assert "may have 2000 bytes" in error.message
        assert len(house.entries(session)) == before, "a ledger keeps what it records"
        ways[way]("x")
        assert house.agent.eliminate(session, **said(text)), "this stands in the ledger only"
        house.check(session)


def test_what_is_turned_away_is_not_held_until_somebody_looks_for_cycles() -> None:
    with World(policy=limited(command_bytes=2_000)) as house:
        session = house.session()

        def turned_away(letter: str) -> None:
            with contextlib.suppress(BeliefdError):
                house.agent.remember(session, {**IDEA, "memory_id": "m", "value": letter * 1_000_000})
                pytest.fail("it was taken")

        turned_away("x")
        gc.collect()
        gc.disable()
        tracemalloc.start()
        try:
            for letter in "abcdefgh":
                turned_away(letter)
            house.state(session)  # what the last turn held is gone once another has been taken
            assert tracemalloc.get_traced_memory()[0] < 3_000_000
        finally:
            tracemalloc.stop()
            gc.enable()


def remember(house: World, session: str, name: str, principal: Principal = AGENT) -> object:
    entry = {**IDEA, "memory_id": name, "value": "x" * 20_000}
    return house.person(principal).remember(session, entry)


def test_a_full_session_takes_no_more_that_stays_and_all_that_ends_or_takes_back() -> None:
    with World(policy=limited(session_bytes=100_000)) as house:
        session = house.session()
        told = said("y" * 200_000)
        house.agent.eliminate(session, **told)
        card = house.agent.submit_claims(session, WAITS)
        house.agent.submit_claims(session, bundle(claim(id="kept"), id="kept"))
        others = [Principal(id=f"agent://n{number}", role=Role.AGENT, tier="MODIFY") for number in range(5)]
        for number in range(5):  # what only its ledger holds does not count
            remember(house, session, f"m{number}", others[number])
        error = refused(Code.QUOTA_EXCEEDED, lambda: remember(house, session, "more", OTHER_AGENT))
        assert house.steward.counts.limited["session_bytes"] == 1
        assert error.details is not None
        assert (error.details["reason"], error.details["limit"]) == ("session_bytes", 100_000)
        long_names: list[dict[str, Any]] = [{"verb": "DECLARE_CONCLUSION", "conclusion_id": "c" * 500}] * 2
        for line in house.agent.batch(session, long_names):
            assert line["error"]["code"] == "QUOTA_EXCEEDED", "its name stays"
        assert house.agent.eliminate(session, **told), "this stays in no state"
        assert house.agent.retract_claims(session, "kept", reason="wrong")
        assert house.ann.reject(card)
        interrupt = Interrupt(kind="user_intent", reason="stop")
        assert not isinstance(house.submit(session, interrupt, ANN).event, Refused)
        assert house.ann.request_termination(session, context={"force": True})
        session, full = house.session(), session
        assert remember(house, session, "m")
        house.check(full)
        house.check(session)


def test_one_principal_alone_fills_no_session() -> None:
    with World(policy=limited(session_bytes=400_000)) as house:
        session = house.session()
        for number in range(5):
            remember(house, session, f"m{number}")
        for _ in range(2):
            error = refused(Code.QUOTA_EXCEEDED, lambda: remember(house, session, "more"))
            assert error.details is not None
            assert (error.details["reason"], error.details["limit"]) == ("session_bytes", 100_000)
            assert AGENT.id in error.message
            house.steward.positions.forget(session)  # it is found out again
        for number in range(5):
            remember(house, session, f"n{number}", OTHER_AGENT)
        refused(Code.QUOTA_EXCEEDED, lambda: remember(house, session, "more", OTHER_AGENT))
        house.check(session)


def test_one_batch_fills_no_session_either() -> None:
    with World(policy=limited(session_bytes=400_000)) as house:
        session = house.session()
        long = [
            bundle(claim("DELETE", id=f"c{number}", statement="x" * 20_000), id=f"b{number}")
            for number in range(20)
        ]
        answers = house.agent.batch(session, [{"verb": "SUBMIT_CLAIMS", **one} for one in long])
        taken = [one for one in answers if "error" not in one]
        assert 4 <= len(taken) <= 6


def test_what_was_dropped_from_memory_is_as_large_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions_module, "MAX_SESSIONS", 1)
    with World() as house:
        session, positions = house.session(), house.steward.positions
        for number in range(20):
            remember(house, session, f"m{number}")
        house.session()
        assert positions.cached(session) is None
        size = positions.sizes.of(session)
        assert size is not None
        assert size.bytes > 400_000


def test_a_large_state_is_loaded_beside_the_event_loop_and_once_for_all_who_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[int] = []

    def restored(*args: Any) -> Any:
        threads.append(threading.get_ident())
        return original(*args)

    original = positions_module._restored
    monkeypatch.setattr(positions_module, "_restored", restored)
    with World() as house:
        session = house.session()
        for number in range(20):
            remember(house, session, f"m{number}")
        house.agent.batch(session, [{"verb": "ELIMINATE", **said("y")}] * 300)
        fresh = Positions(house.store)

        async def asked() -> int:
            await asyncio.gather(*(fresh.existing(session) for _ in range(6)))
            return threading.get_ident()

        loop = house.run(asked)
        assert len(threads) == 1
        assert threads[0] != loop
        assert fresh.bytes > 400_000


def test_the_servers_own_ledger_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions_module, "MAX_SESSIONS", 2)
    with World() as house:
        house.root.create_token("new", role=Role.AGENT)
        for _ in range(3):
            house.session()
        assert SYSTEM in house.steward.positions._cache


def test_states_in_memory_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions_module, "MAX_BYTES", 300_000)
    with World() as house:
        sessions = [house.session() for _ in range(8)]
        long = bundle(*(claim("DELETE", id=f"c{n}", statement="x" * 10_000) for n in range(10)))
        positions = house.steward.positions
        for session in sessions:
            house.agent.submit_claims(session, long)
            assert positions.bytes <= 300_000 or len(positions) == 1
        assert 0 < len(positions) < 4
        hashes = [house.hash(session) for session in sessions]
        assert positions.bytes <= 300_000, "what is loaded again is weighed too"
        assert positions.bytes > 100_000
        for session, state in zip(sessions, hashes, strict=True):
            house.check(session)
            assert house.hash(session) == state


def test_what_was_weighed_too_high_is_weighed_again() -> None:
    """Records of eliminations are longer than what they leave behind."""
    with World() as house:
        session = house.session()
        told = {
            "source_id": "s",
            "observation_id": "o",
            "eliminated": ["h1"],
            "justification": {"x": "y" * 500},
        }
        house.agent.batch(session, [{"verb": "ELIMINATE", **told}] * 300)
        weighed = house.steward.positions.bytes
        fresh = Positions(house.store)
        house.run(lambda: fresh.existing(session))
        assert weighed < 60 * 1_200, "only those since the last saved state are counted with their records"
        assert 0 < fresh.bytes < weighed
