"""Three servers on one PostgreSQL, each with a data directory of its own, share what is to be done once."""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from msgspec import Struct

from beliefd.kernel.values import Role
from beliefd.steward.effects.expiry import CLOCKWORK
from beliefd.steward.effects.webhook import signature
from beliefd.steward.effects.webhook_secret import secret_from
from beliefd.testing.world import ONTOLOGY
from tests.claims.support import bundle, claim
from tests.faults.place import Place, make_tokens
from tests.support.postgres import PostgresServer
from tests.support.receiver import Receiver, until
from tests.support.server import ServerProcess

SERVERS = 3
EACH = 4
POLICY = "approvals: {expires_seconds: 3, on_expiry: refuse}\n"

pytestmark = pytest.mark.slow


class Three(Struct, frozen=True):
    place: Place
    servers: list[ServerProcess]
    secret_files: list[Path]
    receiver: Receiver
    tokens: dict[Role, str]


@pytest.fixture(scope="module")
def three(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Three]:
    home = tmp_path_factory.mktemp("three")
    (home / "policy.yaml").write_text(POLICY)
    store, receiver = postgres_server.create_database(), Receiver()
    options = ("--policy", str(home / "policy.yaml"), "--webhook", receiver.url)
    with ExitStack() as stack:
        stack.callback(receiver.close)
        tokens = asyncio.run(make_tokens(store))
        folders = [home / str(number) for number in range(SERVERS)]
        servers = []
        for folder in folders:
            servers.append(ServerProcess(folder, store, options=options))
            stack.callback(servers[-1].forget)
            stack.callback(servers[-1].stop)
        secret_files = [folder / "webhook.key" for folder in folders]
        yield Three(Place(home, store), servers, secret_files, receiver, tokens)


def test_every_message_is_sent_once_and_what_expires_leaves_one_event(three: Three) -> None:
    clients = [server.client(three.tokens[Role.AGENT]) for server in three.servers]
    waiting = {
        str(made.submit_claims(session_id, bundle(claim("DELETE"))).approval_id): session_id
        for made in clients
        for session_id in [made.declare_session(["a", "b"], ONTOLOGY).session_id]
        for _ in range(EACH)
    }
    assert len(waiting) == SERVERS * EACH
    until(lambda: three.place.rows("SELECT 1 FROM inbox WHERE status = 'pending'") == [])
    until(lambda: three.place.count("inbox_told") == 0)
    told = Counter(three.receiver.ids())
    assert set(told.values()) == {1}, "a message was sent twice"
    assert {name.partition(".")[0] for name in told} <= set(waiting)
    assert any("." in name for name in told), "how it ended is a message of its own"

    [key] = {secret_from(path) for path in three.secret_files}
    for headers, body in three.receiver.heard:
        told_at = int(headers["webhook-timestamp"])
        assert headers["webhook-signature"] == signature(key, headers["webhook-id"], told_at, body)

    for session_id in set(waiting.values()):
        entries = [json.loads(record) for (record,) in three.place.rows(_records(session_id))]
        by_clock = [one for one in entries if one["actor"]["id"] == CLOCKWORK.id]
        assert len(by_clock) == EACH, "racing servers left refusals"
    for made in clients:
        made.close()


def test_an_inbox_feed_shows_what_came_in_at_another_server(three: Three) -> None:
    here, there = three.servers[0], three.servers[1]
    opened, url = threading.Event(), f"{there.url}/v1/events"
    seen: list[str] = []

    def follow() -> None:
        headers = {"Authorization": f"Bearer {three.tokens[Role.APPROVER]}"}
        with httpx.Client(timeout=60, headers=headers) as http, http.stream("GET", url) as feed:
            feed.raise_for_status()
            for line in feed.iter_lines():
                opened.set()
                seen.append(line)

    threading.Thread(target=follow, daemon=True).start()
    assert opened.wait(60)
    with here.client(three.tokens[Role.AGENT]) as made:
        session_id = made.declare_session(["a", "b"], ONTOLOGY).session_id
        approval_id = str(made.submit_claims(session_id, bundle(claim("DELETE"))).approval_id)
    until(lambda: any(approval_id in line for line in seen))


def _records(session_id: str) -> str:
    return f"SELECT record FROM audit_events WHERE session_id = '{session_id}' ORDER BY seq"
