"""What one person, or a page of somebody else, can make the console hold, do or lead to."""

import asyncio
import re
import socket
import time
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from beliefd.console import rendering
from beliefd.console.app import Visitor
from beliefd.console.pages import inbox, sessions
from beliefd.console.pages.past import CHARTED, past_of
from beliefd.console.visits import EACH, Visits, cookie_in, cookie_name
from beliefd.http.places import STREAMS
from beliefd.kernel.values import Principal, Role
from beliefd.protocol.approvals import ApprovalCard, Inbox
from beliefd.protocol.rights import EVERYTHING
from beliefd.protocol.visible import visible_json
from beliefd.steward.call import Caller
from beliefd.steward.credentials import revoke_token
from beliefd.steward.handlers.ledger import RawAuditPage
from beliefd.steward.tokens import token_id_of
from beliefd.stores.sqlite import SqliteStore
from tests.console.conftest import make_tokens
from tests.console.visitor import OWN, Person, asked, session_of
from tests.http.calls import eliminate
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess, server_process

Guarded = tuple[ServerProcess, Tokens]
SOON = 10.0
MOST_BYTES = 200_000


class Full(Struct):
    """An inbox of many pages."""

    cards: list[ApprovalCard]
    asked: list[dict[str, Any]] = []

    async def ask(self, _: str, query: dict[str, Any]) -> Inbox:
        self.asked.append(query)
        first = int(query.get("cursor") or 0)
        last = first + query["limit"]
        following = str(last) if last < len(self.cards) else None
        return Inbox(approvals=self.cards[first:last], next=following)

    async def is_placed(self) -> bool:
        return False


def seen_in(full: Full, **query: str) -> dict[str, Any]:
    found = asyncio.run(inbox.waiting(Visitor(full, {}, query, {})))  # type: ignore[arg-type]
    return dict(found.values)


def test_the_list_is_read_to_its_end_before_it_is_sorted_and_filtered(agent: httpx.Client) -> None:
    _, approval_id = asked(agent)
    card = msgspec.convert(agent.get(f"/v1/approvals/{approval_id}").json(), ApprovalCard)
    mild = [replace(card, tier="MODIFY", approval_id=f"a{at}") for at in range(1_200)]
    last = replace(card, tier="PRIVILEGE", approval_id="last", session_id="s-last")
    full = Full([*mild, last])
    values = seen_in(full, space="red")
    assert values["rows"][0].approval_id == "last"
    assert (values["count"], values["more"]) == (1_201, False)
    assert {query["space"] for query in full.asked} == {"red"}
    assert [row.approval_id for row in seen_in(full, session="s-last")["rows"]] == ["last"]
    assert values["following"]
    assert seen_in(full, **{"from": "1200"})["rows"][0].approval_id == "a1199"
    beyond = seen_in(Full([*mild, *mild, last]))
    assert (beyond["count"], beyond["more"]) == (inbox.MOST, True)


def gone(lines: Any) -> bool:
    """Does a feed end soon? It is cut, so that nobody takes it for whole."""
    over = time.monotonic() + SOON
    try:
        for _ in lines:
            if time.monotonic() > over:
                return False
    except httpx.RemoteProtocolError:
        return True
    except httpx.ReadTimeout:
        return False
    return True


def test_a_feed_ends_with_its_visit(approver: Person) -> None:
    with approver.http.stream("GET", "/live", timeout=SOON) as feed:
        lines = feed.iter_lines()
        assert next(lines).startswith(":")
        assert approver.http.post("/sign-out", headers=OWN).status_code == 303
        assert gone(lines)


def test_a_feed_ends_with_its_token(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("feed")
    tokens = asyncio.run(make_tokens(data / "beliefd.db"))

    async def revoke() -> None:
        store = await SqliteStore.open(data / "beliefd.db")
        await revoke_token(store, token_id_of(tokens[Role.APPROVER]))
        await store.close()

    with server_process(data) as server:
        person = Person(server, tokens[Role.APPROVER])
        with person.http.stream("GET", "/live", timeout=SOON) as feed:
            lines = feed.iter_lines()
            assert next(lines).startswith(":")
            asyncio.run(revoke())
            assert gone(lines)


def test_feeds_are_bounded_for_each_principal(guarded: Guarded) -> None:
    person = Person(guarded[0], guarded[1][Role.ADMIN])
    many = httpx.Limits(max_connections=None)
    with (
        httpx.Client(
            base_url=guarded[0].url, cookies=person.http.cookies, limits=many, timeout=60, verify=False
        ) as http,
        ExitStack() as open_feeds,
    ):
        found = [
            open_feeds.enter_context(http.stream("GET", "/live")).status_code for _ in range(STREAMS.each + 1)
        ]
    assert found == [200] * STREAMS.each + [429]


class Known(Struct):
    """Takes every token; its holder is named like it."""

    async def authenticate(self, authorization: str) -> Caller:
        name = authorization.removeprefix("Bearer ").partition("-")[0]
        return Caller(Principal(id=f"human://{name}", role=Role.APPROVER), EVERYTHING)


def test_who_signs_in_again_and_again_ends_no_visit_of_somebody_else() -> None:
    async def scenario() -> tuple[list[bool], bool]:
        visits = Visits(Known())  # type: ignore[arg-type]
        ana = await visits.sign_in("ana")
        bens = [await visits.sign_in(f"ben-{at}") for at in range(3 * EACH)]
        return [await visits.caller(one) is not None for one in bens], await visits.caller(ana) is not None

    bens, ana = asyncio.run(scenario())
    assert ana
    assert bens == [False] * (2 * EACH) + [True] * EACH


@pytest.mark.parametrize(
    "place",
    [
        "//evil.example",
        "/\\evil.example",
        "/inbox\\..\\evil",
        "/inbox/\r\nset-cookie: a=b",
        "/inbox/\u00e9\u4e2d",
        "/\t/evil.example",
        "javascript:alert(1)",
        "https://evil.example/inbox",
        "/inboxes",
        "/inbox/" + "a" * 3_000,
    ],
)
def test_a_sign_in_leads_to_pages_of_this_server_only(guarded: Guarded, place: str) -> None:
    form = {"token": guarded[1][Role.APPROVER]}
    with httpx.Client(base_url=guarded[0].url, verify=False) as http:
        found = http.post("/sign-in", params={"next": place}, data=form, headers=OWN)
    assert (found.status_code, found.headers["location"]) == (303, "/inbox")


def test_a_sign_in_leads_back_to_where_somebody_was(guarded: Guarded) -> None:
    with httpx.Client(base_url=guarded[0].url, verify=False) as http:
        sent = http.get("/inbox?agent=agent%3A%2F%2F%C3%A9&tier=DELETE").headers["location"]
        found = http.post(sent, data={"token": guarded[1][Role.APPROVER]}, headers=OWN)
    assert found.headers["location"] == "/inbox?agent=agent%3A%2F%2F%C3%A9&tier=DELETE"


@pytest.mark.parametrize(
    "origin", ["http://[", "http://[::1", "http://a]b", "\x7f", "http://\u00e9".encode()]
)
def test_an_origin_that_cannot_be_read_is_another_one(approver: Person, origin: str | bytes) -> None:
    for more in ({}, OWN):
        headers = {"Origin": origin, **more}
        assert approver.http.post("/sign-out", headers=headers).status_code in (400, 403)  # type: ignore[arg-type]


def test_a_form_says_everything_once_and_that_it_is_one(approver: Person, agent: httpx.Client) -> None:
    _, approval_id = asked(agent)
    place, held = f"/inbox/{approval_id}", agent.get(f"/v1/approvals/{approval_id}").json()["content_hash"]
    once = f"content_hash={held}&typed=DELETE&decision=REJECTED".encode()
    form = {**OWN, "Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    for twice in (b"decision=APPROVED&" + once, once + b"&decision=REJECTED", once + b"&typed="):
        assert approver.http.post(place, content=twice, headers=form).status_code == 400
    for kind in ({}, {"Content-Type": "text/plain"}, {"Content-Type": "multipart/form-data; boundary=x"}):
        assert approver.http.post(place, content=once, headers={**OWN, **kind}).status_code == 415
    assert approver.http.post("/sign-in", content=b"token=x&token=y", headers=form).status_code == 400
    assert agent.get(f"/v1/approvals/{approval_id}").json()["status"] == "pending"
    assert approver.http.post(place, content=once, headers=form).status_code == 303
    assert agent.get(f"/v1/approvals/{approval_id}").json()["status"] == "rejected"


def test_who_leaves_in_the_middle_of_a_form_leaves_no_trace(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with server_process(tmp_path_factory.mktemp("left")) as server:
        cookie = Person(server).signed_in.headers["set-cookie"].partition(";")[0]
        place = urlsplit(server.url)
        for path in ("/inbox/x", "/sign-in"):
            head = (
                f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nSec-Fetch-Site: same-origin\r\n"
                f"Cookie: {cookie}\r\nContent-Length: 100\r\n\r\nab"
            )
            with socket.create_connection((place.hostname, place.port or 80)) as one:
                one.sendall(head.encode())
                time.sleep(0.3)
        assert httpx.get(f"{server.url}/healthz", verify=False).status_code == 200
        time.sleep(0.3)
        assert "Traceback" not in server.output


def test_a_form_to_sign_in_is_short_and_others_are_read_for_those_who_are_signed_in(guarded: Guarded) -> None:
    with httpx.Client(base_url=guarded[0].url, verify=False) as http:
        assert http.post("/sign-in", content=b"token=" + b"y" * 9_000, headers=OWN).status_code == 413
        place = urlsplit(guarded[0].url)
    head = (
        f"POST /inbox/x HTTP/1.1\r\nHost: {place.netloc}\r\nSec-Fetch-Site: same-origin\r\n"
        "Content-Length: 1000000\r\n\r\n"
    )
    with socket.create_connection((place.hostname, place.port or 80), timeout=SOON) as one:
        one.sendall(head.encode())
        assert b" 303 " in one.recv(1_000)  # nothing of the form was sent, and it is answered


def test_a_value_is_cut_before_it_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[int] = []

    def counted(value: object) -> bytes:
        found = visible_json(value)
        written.append(len(found))
        return found

    monkeypatch.setattr(rendering, "visible_json", counted)
    template = rendering.templates().from_string("{{ value|data }}")
    cuts: list[bool] = []
    shown = template.render(value={"a": ["x" * 100] * 100_000, "b": {"c": 1}}, cuts=cuts)
    assert cuts == [True]
    assert "cut here" in shown
    assert max(written) < 3 * rendering.SHOWN
    assert template.render(value={"a": [1, None, True, "é"]}, cuts=cuts).count("cut here") == 0


@pytest.mark.parametrize(
    "header",
    [
        "beliefd_visit_1=abc",
        'other="a\\"b; beliefd_visit_1=abc',
        "a[b]=c; ünï=1; beliefd_visit_1=abc; x",
        "{json:[1,2]}; =; ;; beliefd_visit_1=abc",
    ],
)
def test_odd_cookies_of_others_sign_nobody_out(header: str) -> None:
    assert cookie_in(header, cookie_name(("127.0.0.1", 1))) == "abc"
    assert cookie_in(header, cookie_name(("127.0.0.1", 2))) is None


def test_two_servers_on_a_host_do_not_sign_each_others_people_out(
    guarded: Guarded, tmp_path_factory: pytest.TempPathFactory
) -> None:
    person = Person(guarded[0], guarded[1][Role.APPROVER])
    with server_process(tmp_path_factory.mktemp("another")) as other:
        second = Person(other)
        person.http.cookies.update(second.http.cookies)
        assert person.http.get("/inbox").status_code == 200
        second.http.cookies.update(person.http.cookies)
        assert "human://local" in second.read("/inbox")


def test_a_look_at_a_link_does_not_use_it_up(tmp_path_factory: pytest.TempPathFactory) -> None:
    with server_process(tmp_path_factory.mktemp("link")) as server:
        found = re.search(r"look and decide at (\S+)", server.output)
        assert found is not None
        assert httpx.head(found[1], verify=False).status_code == 200
        assert Person(server).signed_in.status_code == 303


def test_the_picture_of_a_long_session_is_right_and_its_newest_events_come_first(
    approver: Person, agent: httpx.Client
) -> None:
    names = [f"h{at}" for at in range(80)]
    session_id = session_of(agent, names)
    for name in names[:60]:
        assert eliminate(agent, session_id, name).status_code == 200
    shown = approver.read(f"/sessions/{session_id}")
    assert "20 of 80 hypotheses stand" in shown
    assert 'aria-label="80 hypotheses, 20 left"' in shown
    numbers = [int(one) for one in re.findall(r'class="seq"[^>]*>(\d+)<', shown)]
    assert numbers == list(range(61, 61 - sessions.NEWEST, -1))
    assert "The picture shows" not in shown


def test_pages_of_a_long_session_stay_small_and_a_picture_of_a_part_says_so(
    approver: Person, agent: httpx.Client
) -> None:
    names = [f"h{at}-{'x' * 200}" for at in range(400)]
    session_id = session_of(agent, names)
    noted = [
        {"verb": "ENTER_OBLIGATION", "obligation_id": f"o{at}", "min_total_eliminations": 1}
        for at in range(2 * CHARTED)
    ]
    fallen = [
        {
            "verb": "ELIMINATE",
            "source_id": f"tool://{name}",
            "observation_id": name[:8],
            "eliminated": [name],
            "justification": {"because": "y" * 3_000},
        }
        for name in names[:300]
    ]
    lines = b"\n".join(map(msgspec.json.encode, [*fallen, *noted, *fallen]))
    headers = {"Content-Type": "application/x-ndjson"}
    answer = agent.post(f"/v1/sessions/{session_id}/batch", content=lines, headers=headers)
    assert answer.status_code == 200, answer.text
    shown = approver.read(f"/sessions/{session_id}")
    assert f"Events 1 to {CHARTED} of" in shown
    for page in ("", "?from=250", "/work", "/what-if", "/audit", "/audit?around=900", f"/why/{names[0]}"):
        size = len(approver.read(f"/sessions/{session_id}{page}").encode())
        assert size < MOST_BYTES, (page, size)
    for page in ("/inbox", "/sessions", "/audit", f"/audit?session={session_id}", "/propositions", "/policy"):
        size = len(approver.read(page).encode())
        assert size < MOST_BYTES, (page, size)


def test_a_page_reads_as_much_of_a_long_ledger_as_of_a_short_one(agent: httpx.Client) -> None:
    """What is read of a ledger for a page does not grow with it."""
    asked: list[dict[str, Any]] = []

    class Direct(Struct):
        async def ask(self, _: str, __: object, query: dict[str, Any]) -> Any:
            asked.append(query)
            entry = {
                "seq": query["after"] + query["limit"],
                "event_id": "e",
                "verb": "X",
                "actor": {"id": "a"},
                "delta": {},
            }
            return RawAuditPage([msgspec.Raw(msgspec.json.encode(entry))] * query["limit"], "more")

    visitor = Visitor(Direct(), {"session_id": "s"}, {}, {})  # type: ignore[arg-type]
    past = asyncio.run(past_of(visitor, 100_000))
    assert (past.first, past.last) == (0, CHARTED)
    assert sum(query["limit"] for query in asked) == CHARTED
