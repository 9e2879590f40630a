"""The webhook: whoever listens is told of every approval at least once, and can check who told it."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.steward.effects import webhook
from beliefd.steward.effects.webhook import Webhook
from beliefd.steward.effects.webhook_secret import secret_from
from beliefd.testing.world import AGENT, World, policy, refused
from tests.claims.support import bundle, claim
from tests.support.receiver import Receiver, until


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.setattr(webhook, "FIRST_RETRY_SECONDS", 0.01)
    monkeypatch.setattr(webhook, "LOOK_AGAIN_SECONDS", 0.05)
    made = Receiver()
    yield made
    made.close()


@contextmanager
def telling(house: World, url: str, key: bytes = bytes(32)) -> Iterator[None]:
    """A webhook at work beside the house's other callers."""

    async def start() -> "asyncio.Task[None]":
        return asyncio.ensure_future(Webhook(house.store, house.steward.positions, url, key).run())

    task = house.run(start)
    try:
        yield
    finally:

        async def stop() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        house.run(stop)


def untold(house: World) -> int:
    return len(house.run(lambda: house.store.inbox_untold(100)))


def delete(house: World, session: str) -> str:
    return str(house.agent.submit_claims(session, bundle(claim("DELETE"))).approval_id)


def standard_webhooks_signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """The scheme as its specification tells it, written apart from the code under test."""
    key = base64.b64decode(secret.strip()[len("whsec_") :])
    content = b".".join([message_id.encode(), timestamp.encode(), body])
    return "v1," + base64.b64encode(hmac.digest(key, content, "sha256")).decode()


def test_a_new_approval_is_told_and_signed(receiver: Receiver, tmp_path: Path) -> None:
    secret_file = tmp_path / "webhook.key"
    with World() as house, telling(house, receiver.url, secret_from(secret_file)):
        session = house.session()
        approval_id = delete(house, session)
        receiver.wait(1)
        until(lambda: untold(house) == 0)
        card = house.ann.show_approval(approval_id)
    ((headers, body),) = receiver.heard
    assert headers["webhook-id"] == approval_id
    assert abs(int(headers["webhook-timestamp"]) - time.time()) < 300
    assert headers["webhook-signature"] == standard_webhooks_signature(
        secret_file.read_text(), approval_id, headers["webhook-timestamp"], body
    )
    told = json.loads(body)
    assert told["type"] == "approval.pending"
    assert (told["approval_id"], told["session_id"]) == (approval_id, session)
    assert (told["tier"], told["gate"], told["content_hash"]) == ("DELETE", "human", card.content_hash)
    assert told["proposer"] == card.proposer == AGENT.id
    assert told["path"] == f"/v1/approvals/{approval_id}"
    # What the claim says stays here: a chat room is not where evidence belongs.
    assert card.claims[0].statement not in body.decode()


def test_every_field_is_under_the_signature(tmp_path: Path) -> None:
    key = secret_from(tmp_path / "key")
    secret = (tmp_path / "key").read_text()
    assert webhook.signature(key, "id", 1, b"body") == standard_webhooks_signature(secret, "id", "1", b"body")
    others = {
        webhook.signature(*given)
        for given in ((key, "ie", 1, b"body"), (key, "id", 2, b"body"), (key, "id", 1, b"bodies"))
    }
    assert len({*others, webhook.signature(key, "id", 1, b"body")}) == 4


def test_only_what_waits_is_told_and_only_once(receiver: Receiver) -> None:
    with World(policy=policy(approvals={"otherwise": {"required": 2}})) as house:
        session = house.session()
        with telling(house, receiver.url):
            house.agent.submit_claims(session, bundle())
            house.agent.submit_claims(session, bundle(claim("MODIFY")))
            waiting = house.agent.submit_claims(session, bundle(claim("DELETE")))
            receiver.wait(1)
            until(lambda: untold(house) == 0)
            house.ann.approve(waiting)  # one of two: it waits on, and is not news
            second = delete(house, session)
            receiver.wait(2)
            until(lambda: untold(house) == 0)
        assert receiver.ids() == [waiting.approval_id, second]


@pytest.mark.parametrize("status", [500, 503, 429, 400, 302])
def test_what_is_not_taken_is_told_again(receiver: Receiver, status: int) -> None:
    receiver.answer = lambda _: status if len(receiver.heard) < 3 else 200
    with World() as house, telling(house, receiver.url):
        approval_id = delete(house, house.session())
        until(lambda: untold(house) == 0)
    assert receiver.ids() == [approval_id] * 3
    bodies = {body for _, body in receiver.heard}
    assert len(bodies) == 1


def test_one_message_that_is_never_taken_holds_up_no_other(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "AT_ONCE", 2)
    with World() as house:
        bad = [house.session() for _ in range(3)]
        receiver.answer = lambda told: 500 if told["session_id"] in bad else 200
        for session in bad:
            delete(house, session)
        good = delete(house, house.session())
        with telling(house, receiver.url):
            until(lambda: good in receiver.ids())
            until(lambda: untold(house) == 3)


def test_a_receiver_that_is_down_is_told_when_it_is_back(receiver: Receiver) -> None:
    receiver.close()
    with World() as house, telling(house, receiver.url):
        approval_id = delete(house, house.session())
        time.sleep(0.1)
        assert untold(house) == 1
        back = Receiver(receiver.port)
        until(lambda: untold(house) == 0)
        back.close()
    assert back.ids() == [approval_id]


def test_what_was_not_told_before_a_restart_is_told_after_it(receiver: Receiver, tmp_path: Path) -> None:
    receiver.answer = lambda _: 500
    house = World(tmp_path / "beliefd.db")
    approval_id = delete(house, house.session())
    with telling(house, receiver.url):
        receiver.wait(1)
    receiver.answer = lambda _: 200
    with house.restarted() as again:
        assert untold(again) == 1
        with telling(again, receiver.url):
            until(lambda: untold(again) == 0)
        assert set(receiver.ids()) == {approval_id}
        with again.restarted() as third, telling(third, receiver.url):
            count = len(receiver.heard)
            newer = delete(third, third.session())
            receiver.wait(count + 1)
            assert receiver.ids()[count:] == [newer]


def test_a_crash_between_telling_and_remembering_tells_again(receiver: Receiver, tmp_path: Path) -> None:
    house = World(tmp_path / "beliefd.db")
    approval_id = delete(house, house.session())

    async def crash(approval_id: str) -> None:
        raise asyncio.CancelledError

    house.store.inbox_told = crash  # type: ignore[method-assign]
    with telling(house, receiver.url):
        receiver.wait(1)
    with house.restarted() as again, telling(again, receiver.url):
        until(lambda: untold(again) == 0)
    assert receiver.ids() == [approval_id, approval_id]


def test_who_is_told_to_stop_remembers_what_was_taken_meanwhile(receiver: Receiver) -> None:
    stopping = threading.Event()

    def answer(_: object) -> int:
        stopping.wait(1)  # the answer comes when the server has been told to stop
        return 204

    receiver.answer = answer
    with World() as house:
        approval_id = delete(house, house.session())
        with telling(house, receiver.url):
            receiver.wait(1)
            threading.Timer(0.2, stopping.set).start()
        assert untold(house) == 0
        with telling(house, receiver.url):
            second = delete(house, house.session())
            until(lambda: untold(house) == 0)
    assert receiver.ids() == [approval_id, second]


def test_a_ledger_that_cannot_be_read_does_not_end_the_telling(receiver: Receiver) -> None:
    with World() as house:
        broken, whole = house.session(), house.session()
        lost = delete(house, broken)
        store: Any = house.store
        store._entries[broken][0] = store._entries[whole][0]
        house.steward.positions._cache.clear()
        with telling(house, receiver.url):
            kept = delete(house, whole)
            receiver.wait(1)
            until(lambda: untold(house) == 1)
        assert kept in receiver.ids()
        assert lost not in receiver.ids()


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://a/b", "http://", "file:///etc/passwd", "http://[::1"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    with World() as house:
        refused(Code.INVALID_REQUEST, lambda: Webhook(house.store, house.steward.positions, url, bytes(32)))


# -- the secret ------------------------------------------------------------------------------------


def test_the_secret_is_made_once_and_is_nobody_else_s(tmp_path: Path) -> None:
    path = tmp_path / "webhook.key"
    before = os.umask(0)
    try:
        key = secret_from(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert secret_from(path) == key
    assert len(key) == 32
    assert list(tmp_path.iterdir()) == [path]
    assert secret_from(tmp_path / "other.key") != key


def test_servers_that_start_together_share_one_secret(tmp_path: Path) -> None:
    path = tmp_path / "webhook.key"
    ready = threading.Barrier(8)
    keys: list[bytes] = []

    def start() -> None:
        ready.wait()
        keys.append(secret_from(path))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 8
    assert len(set(keys)) == 1


@pytest.mark.parametrize("content", [b"", b"\n", b"whsec_", b"whsec_!!!!", b"whsec_c2hvcnQ=", b"\xff\xfe"])
def test_a_file_without_a_secret_signs_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "webhook.key"
    path.touch(0o600)
    path.write_bytes(content)
    refused(Code.INVALID_REQUEST, lambda: secret_from(path))


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "webhook.key"
    secret_from(path)
    path.chmod(0o644)
    error = refused(Code.INVALID_REQUEST, lambda: secret_from(path))
    assert "chmod 600" in error.message


def test_the_key_is_the_decoded_secret(tmp_path: Path) -> None:
    path = tmp_path / "webhook.key"
    key = secret_from(path)
    assert (
        hashlib.sha256(base64.b64decode(path.read_text().strip()[6:])).digest()
        == hashlib.sha256(key).digest()
    )
