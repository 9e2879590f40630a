"""Whoever waits for a decision is woken by it: a question that waits, a feed, a webhook."""

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.system.state import SYSTEM
from beliefd.protocol.approvals import ApprovalRows
from beliefd.protocol.rights import EVERYTHING, Right, Rights
from beliefd.steward.call import Call
from beliefd.steward.dispatch import stream
from beliefd.testing.world import ANN, ONTOLOGY, World, policy, refused
from tests.claims.support import bundle, claim
from tests.claims.test_webhook import delete, receiver, telling
from tests.support.receiver import Receiver, until

__all__ = ["receiver"]
LONG = 60


def waiting_for(house: World, approval_id: str) -> "Future[Any]":
    """Somebody who waits on another thread."""
    pool = ThreadPoolExecutor(1)
    asked = pool.submit(lambda: house.agent.show_approval(approval_id, wait=LONG))
    pool.shutdown(wait=False)
    return asked


def listeners(house: World) -> int:
    return len(house.runtime.feeds._waiting)


@pytest.mark.parametrize("target", [":memory:", "beliefd.db"])
def test_who_waits_is_answered_when_it_is_decided(tmp_path: Path, target: str) -> None:
    with World(target if target == ":memory:" else tmp_path / target) as house:
        session = house.session()
        approval_id = delete(house, session)
        asked = waiting_for(house, approval_id)
        until(lambda: listeners(house) == 1)
        house.agent.declare_conclusion(session, "c")
        time.sleep(0.05)
        assert not asked.done()  # what else happens there is no decision
        house.ann.reject(house.ann.show_approval(approval_id))
        assert asked.result(LONG).status == "rejected"
        assert listeners(house) == 0


def test_another_process_that_decides_wakes_who_waits(tmp_path: Path) -> None:
    with World(tmp_path / "b.db") as house, World(tmp_path / "b.db") as other:
        approval_id = delete(house, house.session())
        asked = waiting_for(house, approval_id)
        until(lambda: listeners(house) == 1)
        other.ann.reject(other.ann.show_approval(approval_id))
        assert asked.result(LONG).status == "rejected"


def test_who_waits_for_what_is_not_decided_gets_the_card_as_it_is() -> None:
    with World() as house:
        approval_id = delete(house, house.session())
        began = time.monotonic()
        assert house.agent.show_approval(approval_id, wait=1).status == "pending"
        assert time.monotonic() - began >= 0.9
        assert house.agent.wait_for_approval(approval_id, 0.5).status == "pending"
        for wait in (-1, 61):
            refused(Code.INVALID_REQUEST, partial(house.agent.show_approval, approval_id, wait=wait))
        refused(Code.INVALID_REQUEST, lambda: house.agent.show_approval(approval_id, at=1, wait=1))


def test_a_server_that_stops_keeps_nobody_waiting() -> None:
    with World() as house:
        approval_id = delete(house, house.session())
        asked = waiting_for(house, approval_id)
        until(lambda: listeners(house) == 1)
        house.run(_ending(house))
        assert asked.result(LONG).status == "pending"


def _ending(house: World) -> Callable[[], Any]:
    async def end() -> None:
        house.runtime.feeds.end()

    return end


class Listening:
    """A live feed of the inbox, read on the world's own loop."""

    def __init__(self, house: World, rights: Rights = EVERYTHING, **query: str) -> None:
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.begun = threading.Event()
        call = Call(principal=ANN, rights=rights, query=query)

        async def listen() -> None:
            async for chunk in stream(house.runtime.handlers, ApprovalRows.follow_inbox, call):
                if chunk == b": still here\n\n":
                    self.begun.set()
                elif chunk.startswith(b"event: "):
                    event, data = chunk.decode().strip().split("\n")
                    self.heard.append(
                        (event.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
                    )

        threading.Thread(target=lambda: house.run(listen), daemon=True).start()
        assert self.begun.wait(LONG)

    def wait(self, count: int) -> None:
        until(lambda: len(self.heard) >= count)


def test_the_feed_tells_what_waits_what_was_decided_and_what_expired() -> None:
    with World(policy=policy(approvals={"expires_seconds": 100})) as house:
        session = house.session()
        before = delete(house, session)
        feed = Listening(house)
        assert feed.heard == []
        second = delete(house, session)
        feed.wait(1)
        house.ann.reject(house.ann.show_approval(before))
        feed.wait(2)
        house.clock.advance(200)
        house.expire()
        feed.wait(3)
        house.run(_ending(house))
    told = {"session_id": session}
    assert feed.heard == [
        ("approval.pending", {**told, "approval_id": second, "status": "pending"}),
        ("approval.decided", {**told, "approval_id": before, "status": "rejected"}),
        ("approval.expired", {**told, "approval_id": second, "status": "timed_out"}),
    ]


def test_one_feed_tells_of_every_session_that_grows_in_the_spaces_that_one_may_see() -> None:
    with World() as house:
        house.root.create_space("secret")
        rights = Rights(by_space={"default": frozenset({Right.READ})})
        mine, all_of_it = Listening(house, rights, changes="all"), Listening(house, changes="all")
        plain, in_secret = Listening(house), Listening(house, changes="all", space="secret")
        hidden = house.agent.declare_session(["h1", "h2"], ONTOLOGY, space="secret").session_id
        all_of_it.wait(1)
        seen = house.session()
        all_of_it.wait(2)
        house.agent.declare_conclusion(seen, "c")
        mine.wait(2)
        all_of_it.wait(3)
        head = house.agent.query_belief(seen)
        in_secret.wait(1)
        house.run(_ending(house))
    assert [(event, told["session_id"], told["seq"]) for event, told in mine.heard] == [
        ("session.changed", seen, 1),
        ("session.changed", seen, 2),
    ]
    assert mine.heard[-1][1]["event_id"] == head.audit_head_event_id
    assert [told["session_id"] for _, told in all_of_it.heard] == [hidden, seen, seen]
    assert [told["session_id"] for _, told in in_secret.heard] == [hidden]
    assert plain.heard == []


def test_the_feed_tells_nobody_of_what_they_may_not_read() -> None:
    with World() as house:
        house.root.create_space("secret")
        rights = Rights(by_space={"default": frozenset({Right.READ})})
        feed, all_of_it = Listening(house, rights), Listening(house)
        hidden = house.agent.declare_session(["h1"], ONTOLOGY, space="secret").session_id
        delete(house, hidden)
        seen = delete(house, house.session())
        all_of_it.wait(2)
        feed.wait(1)
        house.run(_ending(house))
    assert [told["approval_id"] for _, told in feed.heard] == [seen]
    assert SYSTEM not in {told["session_id"] for _, told in all_of_it.heard}


def test_a_webhook_is_told_how_it_ended(receiver: Receiver) -> None:
    with World(policy=policy(approvals={"expires_seconds": 100})) as house, telling(house, receiver.url):
        session = house.session()
        rejected = delete(house, session)
        lapsed = str(house.agent.submit_claims(session, bundle(claim("PRIVILEGE"))).approval_id)
        receiver.wait(2)
        house.ann.reject(house.ann.show_approval(rejected))
        receiver.wait(3)
        house.clock.advance(200)
        house.expire()
        receiver.wait(4)
        until(lambda: house.run(lambda: house.store.inbox_settled(10)) == [])
    told = [json.loads(body) for _, body in receiver.heard]
    assert [(one["type"], one["approval_id"], one["status"]) for one in told[2:]] == [
        ("approval.decided", rejected, "rejected"),
        ("approval.expired", lapsed, "timed_out"),
    ]
    assert told[2]["decided_by"] == ANN.id
    assert receiver.ids()[2:] == [f"{rejected}.rejected", f"{lapsed}.timed_out"]
