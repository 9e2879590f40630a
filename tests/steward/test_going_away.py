"""Callers who go away: what is on record as let through is carried out, whenever they leave."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from beliefd.client.operations import Operations
from beliefd.embedded import send
from beliefd.ledger.envelope import read
from beliefd.protocol.approvals import ApprovalCard
from beliefd.protocol.beliefs import BeliefRows
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward.call import Call
from beliefd.steward.dispatch import stream
from beliefd.stores.base import Append
from beliefd.testing.world import AGENT, ANN, World
from tests.steward.test_batch import elimination, proposal, verbs
from tests.substrate.support import ALLOW_ALL, ToolWorld, deny, one, rules, tool_call

ASKS = deny("note.read", on_fail="ask", reason="somebody has to look")
SOON = 60
PLAN: dict[str, Any] = {
    "claim_id": "c",
    "template": "threshold_check",
    "params": {"values": [2.0, 2.1, 1.9, 2.05, 1.95, 2.0], "threshold": 1.0, "direction": "above"},
}


class Gate:
    """Appends of one verb: somebody waits until the store is asked for one, and it waits for them."""

    def __init__(self, verb: str) -> None:
        self.verb = verb
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    def before(self, append: Callable[[Append], Awaitable[None]]) -> Callable[[Append], Awaitable[None]]:
        async def held(batch: Append) -> None:
            if any(read(entry.record).verb == self.verb for entry in batch.entries):
                self.reached.set()
                await self.opened.wait()
            await append(batch)

        return held


@contextmanager
def held(house: World, verb: str) -> Iterator[Gate]:
    gate, append = Gate(verb), house.store.append
    house.store.append = gate.before(append)  # type: ignore[method-assign, assignment]
    try:
        yield gate
    finally:
        house.store.append = append  # type: ignore[method-assign]


def leave(house: World, verb: str, asking: Callable[[], Awaitable[Any]]) -> None:
    """Ask, go away when `verb` is about to be written, and wait for what goes on without."""

    async def story() -> None:
        with held(house, verb) as gate:
            task = asyncio.ensure_future(asking())
            await asyncio.wait_for(gate.reached.wait(), SOON)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            gate.opened.set()
            await asyncio.wait_for(house.runtime.background.finish(), SOON)

    house.run(story)


async def first_answer(house: World, session: str, lines: list[dict[str, Any]]) -> None:
    """The first answer to a batch. Who leaves before it does not close the stream behind it."""
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    call = Call(principal=AGENT, rights=EVERYTHING, path={"session_id": session}, body=body)
    chunks = stream(house.runtime.handlers, BeliefRows.batch, call)
    try:
        await anext(chunks)
    finally:
        await chunks.aclose()


MOMENTS = pytest.mark.parametrize("verb", ["PROPOSE", "START_CALL", "RECORD_OUTCOME"])
CARRIED_OUT = ["START_CALL", "RECORD_OUTCOME"]


@MOMENTS
def test_a_proposal_in_a_batch_is_carried_out(verb: str) -> None:
    """All of its calls, those too that had not begun when nobody read on any more."""
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        session = house.session()
        token = house.token(session)
        calls = [tool_call("note.read", token), tool_call("calc.add", token, a=1, b=2)]
        lines = [proposal(*calls), elimination("h1")]
        leave(house, verb, lambda: first_answer(house, session, lines))
        assert [name for name, _ in house.toolbox.ran] == ["note.read", "calc.add"]
        assert verbs(house, session)[2:] == ["PROPOSE", *CARRIED_OUT, *CARRIED_OUT], "and the rest is not"
        house.check(session)


@MOMENTS
def test_a_proposal_is_carried_out(verb: str) -> None:
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        session = house.session()
        token = house.token(session)
        calls = [tool_call("note.read", token), tool_call("calc.add", token, a=1, b=2)]
        leave(house, verb, lambda: send(house.runtime, AGENT, Operations.propose(session, calls)))
        assert [name for name, _ in house.toolbox.ran] == ["note.read", "calc.add"]
        assert verbs(house, session)[2:] == ["PROPOSE", *CARRIED_OUT, *CARRIED_OUT]
        house.check(session)


@pytest.mark.parametrize("verb", ["DECIDE_APPROVAL", "START_CALL", "RECORD_OUTCOME"])
def test_what_was_approved_is_carried_out(verb: str) -> None:
    with ToolWorld(policy=rules(all=ALLOW_ALL, asks=ASKS)) as house:
        session = house.session()
        asked = one(house.agent.propose(session, [tool_call("note.read", house.token(session))]))
        assert asked.approval_id is not None
        card: ApprovalCard = house.ann.show_approval(asked.approval_id)
        decide = Operations.decide_approval(asked.approval_id, "APPROVED", content_hash=card.content_hash)
        leave(house, verb, lambda: send(house.runtime, ANN, decide))
        assert house.toolbox.count == 1
        assert verbs(house, session)[-3:] == ["DECIDE_APPROVAL", *CARRIED_OUT]
        house.check(session)


@pytest.mark.parametrize("verb", ["START_RUN", "RECORD_RUN"])
def test_a_run_of_an_experiment_is_made(verb: str) -> None:
    with World() as house:
        session = house.session()
        planned = house.agent.design_experiment(session, spec=PLAN)
        run = Operations.run_experiment(session, planned.experiment_id)
        leave(house, verb, lambda: send(house.runtime, AGENT, run))
        assert verbs(house, session)[-2:] == ["START_RUN", "RECORD_RUN"]
        house.check(session)
