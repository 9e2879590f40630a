"""The console over plain HTTP: who gets in, what pages show, and that nothing an agent says acts on them."""

import asyncio
import re
import time

import httpx
import pytest

from beliefd.console import pages as console_pages
from beliefd.kernel.values import Role
from beliefd.steward.credentials import revoke_token
from beliefd.steward.tokens import token_id_of
from beliefd.stores.sqlite import SqliteStore
from tests.console.conftest import make_tokens
from tests.console.visitor import OWN, Person, asked
from tests.http.calls import eliminate
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess, server_process

Guarded = tuple[ServerProcess, Tokens]
PAGES = sorted({re.sub(r"{[^}]*}", "x", path) for method, path in console_pages.PAGES if method == "GET"})


@pytest.mark.parametrize("path", PAGES)
def test_nobody_sees_a_page_who_is_not_signed_in(guarded: Guarded, path: str) -> None:
    found = httpx.get(guarded[0].url + path, verify=False)
    assert found.status_code == 303
    assert found.headers["location"].startswith("/sign-in?next=")
    assert httpx.get(f"{guarded[0].url}/live", verify=False).status_code == 401


def test_a_mistyped_address_is_a_page_for_browsers_and_an_error_for_programs(
    approver: Person, guarded: Guarded
) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    for http in (approver.http, httpx.Client(base_url=guarded[0].url, verify=False)):
        found = http.get("/inbxo/<b>", headers=browser)
        assert (found.status_code, found.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "there is no page `/inbxo/&lt;b&gt;`" in found.text
        assert http.get("/inbxo").json()["error"]["code"] == "NOT_FOUND"
        assert http.get("/v1/sesions", headers=browser).json()["error"]["code"] == "NOT_FOUND"
        posted = http.post("/inbxo", headers=browser)
        assert (posted.status_code, posted.json()["error"]["code"]) == (404, "NOT_FOUND")
    assert "human://test-approver" in approver.http.get("/inbxo", headers=browser).text


def test_the_cookie_of_a_visit_is_read_by_no_script_and_sent_by_no_other_site(approver: Person) -> None:
    assert approver.signed_in.status_code == 303
    cookie = approver.signed_in.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "human://test-approver" in approver.read("/inbox")


def test_a_token_that_is_not_known_signs_nobody_in(guarded: Guarded) -> None:
    person = Person(guarded[0], "bd_0_0")
    assert person.signed_in.status_code == 401
    assert "set-cookie" not in person.signed_in.headers
    assert "not known here" in person.signed_in.text


def test_the_printed_link_signs_one_person_in_and_only_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    with server_process(tmp_path_factory.mktemp("open")) as server:
        first = Person(server)
        assert "human://local" in first.read("/inbox")
        second = Person(server)
        assert second.signed_in.status_code == 401
        with httpx.Client(base_url=server.url, verify=False) as agent:
            _, approval_id = asked(agent)
        assert first.decide(approval_id, decision="APPROVED", typed="DELETE").status_code == 303
        assert "approved by human://local" in first.read(f"/inbox/{approval_id}")


def test_where_tokens_are_needed_no_link_is_printed(guarded: Guarded) -> None:
    assert re.search(r"look and decide at http://[^ ]+/\n", guarded[0].output)
    assert "key=" not in guarded[0].output


def test_a_revoked_token_ends_its_visits(tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("revoked")
    tokens = asyncio.run(make_tokens(data / "beliefd.db"))

    async def revoke() -> None:
        store = await SqliteStore.open(data / "beliefd.db")
        await revoke_token(store, token_id_of(tokens[Role.APPROVER]))
        await store.close()

    with server_process(data) as server:
        person = Person(server, tokens[Role.APPROVER])
        assert person.http.get("/inbox").status_code == 200
        asyncio.run(revoke())
        over = time.monotonic() + 30
        while (found := person.http.get("/inbox")).status_code == 200 and time.monotonic() < over:
            time.sleep(0.05)
        assert found.status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
    ],
)
def test_forms_of_other_pages_are_not_taken(
    approver: Person, agent: httpx.Client, headers: dict[str, str]
) -> None:
    _, approval_id = asked(agent)
    shown = approver.read(f"/inbox/{approval_id}")
    held = re.search(r'name="content_hash" value="([0-9a-f]+)"', shown)
    assert held is not None
    form = {"content_hash": held[1], "decision": "APPROVED", "typed": "DELETE"}
    for path in (f"/inbox/{approval_id}", "/sign-out"):
        assert approver.http.post(path, data=form, headers=headers).status_code == 403
    assert "pending" in approver.read(f"/inbox/{approval_id}")


def test_another_port_or_scheme_is_another_origin(approver: Person) -> None:
    host, port = approver.http.base_url.host, approver.http.base_url.port
    for origin, status in (
        (f"http://{host}:{port}", 303),
        (f"https://{host}:{port}", 403),
        (f"http://{host}:1", 403),
    ):
        assert approver.http.post("/sign-out", headers={"Origin": origin}).status_code == status


@pytest.mark.parametrize("path", ["/inbox", "/inbox/{approval_id}", "/sessions/{session_id}"])
def test_what_an_agent_says_is_text_on_every_page(approver: Person, agent: httpx.Client, path: str) -> None:
    session_id, approval_id = asked(agent)
    shown = approver.read(path.format(session_id=session_id, approval_id=approval_id))
    assert "<script>alert" not in shown
    assert "<b>standby" not in shown
    assert "\u202e" not in shown
    assert "&lt;script&gt;alert(1)" in shown or "\\u003cscript" in shown
    assert shown.count("<script") == 1


@pytest.mark.parametrize("path", ["/inbox", "/sign-in", "/static/console.js", "/static/console.css"])
def test_every_page_forbids_what_is_not_its_own(approver: Person, path: str) -> None:
    headers = approver.http.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"


def test_what_cannot_be_undone_is_typed_before_it_is_approved(approver: Person, agent: httpx.Client) -> None:
    _, approval_id = asked(agent)
    refused = approver.decide(approval_id, decision="APPROVED", typed="delete")
    assert refused.status_code == 400
    assert "type DELETE" in refused.text
    assert approver.decide(approval_id, decision="APPROVED", typed="DELETE").status_code == 303
    assert "approved by human://test-approver" in approver.read(f"/inbox/{approval_id}")


def test_a_no_needs_nothing_typed_and_its_reason_is_kept(approver: Person, agent: httpx.Client) -> None:
    _, approval_id = asked(agent)
    assert approver.decide(approval_id, decision="REJECTED", reason="not <now>").status_code == 303
    shown = approver.read(f"/inbox/{approval_id}")
    assert "rejected by human://test-approver" in shown
    assert "not &lt;now&gt;" in shown
    assert "standby" in shown  # a decided card keeps its content


def test_a_late_click_says_what_happened_meanwhile(
    guarded: Guarded, approver: Person, agent: httpx.Client
) -> None:
    _, approval_id = asked(agent)
    other = Person(guarded[0], guarded[1][Role.ADMIN])
    shown = approver.read(f"/inbox/{approval_id}")
    held = re.search(r'name="content_hash" value="([0-9a-f]+)"', shown)
    assert held is not None
    assert other.decide(approval_id, decision="REJECTED").status_code == 303
    form = {"content_hash": held[1], "decision": "APPROVED", "typed": "DELETE"}
    late = approver.http.post(f"/inbox/{approval_id}", data=form, headers=OWN)
    assert late.status_code == 409
    assert "Nothing was decided" in late.text
    assert "rejected by human://test-admin" in late.text


def test_an_agent_decides_nothing_here_either(guarded: Guarded, agent: httpx.Client) -> None:
    _, approval_id = asked(agent)
    itself = Person(guarded[0], guarded[1][Role.AGENT])
    assert "<button class" not in itself.read(f"/inbox/{approval_id}")
    held = agent.get(f"/v1/approvals/{approval_id}").json()["content_hash"]
    form = {"content_hash": held, "decision": "APPROVED", "typed": "DELETE"}
    assert itself.http.post(f"/inbox/{approval_id}", data=form, headers=OWN).status_code == 403


def test_the_riskiest_waits_first_and_filters_are_in_the_address(
    approver: Person, agent: httpx.Client
) -> None:
    risky, _ = asked(agent, "one that cannot be undone")
    asked(agent, "one that can", "MODIFY")
    shown = approver.read("/inbox")
    assert shown.index("one that cannot be undone") < shown.index("one that can<")
    narrowed = approver.read("/inbox?tier=MODIFY")
    assert "one that can<" in narrowed
    assert "one that cannot" not in narrowed
    assert "one that can<" not in approver.read(f"/inbox?session={risky}")


def test_a_session_is_looked_at_and_verified(approver: Person, agent: httpx.Client) -> None:
    session_id, _ = asked(agent)
    assert eliminate(agent, session_id, "a").status_code == 200
    shown = approver.read(f"/sessions/{session_id}")
    assert "2 of 3 hypotheses stand" in shown
    assert "<svg" in shown
    assert "ELIMINATE" in shown
    assert "The ledger holds" in approver.read(f"/sessions/{session_id}/verified")
    assert session_id in approver.read("/sessions")


def test_what_is_not_there_is_said_on_a_page(approver: Person) -> None:
    found = approver.http.get("/inbox/none")
    assert found.status_code == 404
    assert "APPROVAL_NOT_FOUND" in found.text
    assert approver.http.get("/static/none").status_code == 404


def test_a_form_that_is_too_long_is_not_read_to_its_end(approver: Person) -> None:
    found = approver.http.post("/sign-out", content=b"x=" + b"y" * 3_000_000, headers=OWN)
    assert found.status_code == 413
