"""A real browser at the real server: what people do, with and without scripts, by mouse and by keys."""

import httpx
import pytest
from playwright.sync_api import Browser, Page

from beliefd.console.questions import FEW
from beliefd.kernel.values import Role
from tests.console.browsing import SOON, person
from tests.console.visitor import asked, session_of
from tests.http.calls import eliminate
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess

Guarded = tuple[ServerProcess, Tokens]
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scripts", [True, False])
def test_a_person_approves_what_cannot_be_undone(
    browser: Browser, guarded: Guarded, agent: httpx.Client, scripts: bool
) -> None:
    _, approval_id = asked(agent)
    with person(browser, guarded, java_script_enabled=scripts) as page:
        page.click(f'a[href="/inbox/{approval_id}"]')
        page.fill("#typed", "DELETE")
        page.fill("#reason", "the standby is rebuilt anyway")
        page.click("button[value=APPROVED]")
        page.wait_for_selector("text=approved by human://test-approver")
    assert agent.get(f"/v1/approvals/{approval_id}").json()["status"] == "approved"


def test_a_list_that_is_looked_at_changes_by_itself(
    browser: Browser, guarded: Guarded, agent: httpx.Client
) -> None:
    with person(browser, guarded) as page:
        _, approval_id = asked(agent, "this came while somebody looked")
        page.wait_for_selector(f'a[href="/inbox/{approval_id}"]')


def test_keys_alone_are_enough(browser: Browser, guarded: Guarded, agent: httpx.Client) -> None:
    _, approval_id = asked(agent, "decided by keys", "MODIFY")
    with person(browser, guarded) as page:
        page.goto("/inbox?tier=MODIFY")
        rows = page.locator("tr[data-row]")
        for _ in range(rows.count()):
            page.keyboard.press("j")
            if page.evaluate("document.activeElement.getAttribute('href')") == f"/inbox/{approval_id}":
                break
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/inbox/{approval_id}")
        page.keyboard.press("r")
        page.keyboard.press("Enter")
        page.wait_for_selector("text=rejected by human://test-approver")


def test_nobody_needs_a_mouse(browser: Browser, guarded: Guarded, agent: httpx.Client) -> None:
    """Signed in, moved, opened, gone back, approved with what confirms it, and on to the next: by keys."""
    _, other = asked(agent, "Another that waits")
    _, wanted = asked(agent, "Decided without a mouse")
    context = browser.new_context(base_url=guarded[0].url)
    context.set_default_timeout(SOON)
    page = context.new_page()
    page.goto("/inbox")
    tab_to(page, "#token")
    page.keyboard.type(guarded[1][Role.APPROVER])
    page.keyboard.press("Enter")
    page.wait_for_url("**/inbox")
    rows = page.locator("tr[data-row]").count()
    focused = "document.activeElement.getAttribute('href')"
    places = []
    for _ in range(rows):
        page.keyboard.press("j")
        places.append(page.evaluate(focused))
    assert len(set(places)) == rows, "every row is come by"
    page.keyboard.press("k")
    assert page.evaluate(focused) == places[-2]
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{places[-2]}")
    page.keyboard.press("u")
    page.keyboard.press("Enter")
    page.wait_for_url("**/inbox")
    for _ in range(rows):
        page.keyboard.press("j")
        if page.evaluate(focused) == f"/inbox/{wanted}":
            break
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/inbox/{wanted}")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=To approve this, type DELETE")
    assert page.evaluate("document.activeElement.id") == "typed", "who was told what to type can type it"
    assert agent.get(f"/v1/approvals/{wanted}").json()["status"] == "pending", "a key alone decides nothing"
    tab_to(page, "#typed")
    page.keyboard.type("DELETE")
    tab_to(page, "button[value=APPROVED]")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=approved by human://test-approver")
    page.keyboard.press("n")
    following = page.evaluate(focused)
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{following}")
    assert following != f"/inbox/{wanted}"
    assert agent.get(f"/v1/approvals/{other}").json()["status"] == "pending"
    context.close()


def tab_to(page: Page, place: str) -> None:
    """As somebody gets there who has keys only."""
    for _ in range(100):
        if page.evaluate("place => document.activeElement.matches(place)", place):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no key leads to {place}")


def test_an_edit_and_a_no_need_no_script(browser: Browser, guarded: Guarded, agent: httpx.Client) -> None:
    _, edited = asked(agent, "Restart it now", "MODIFY")
    _, rejected = asked(agent, "Restart it at once", "MODIFY")
    with person(browser, guarded, java_script_enabled=False) as page:
        page.click(f'a[href="/inbox/{edited}"]')
        page.click("a.button:has-text('Edit')")
        page.fill("textarea[id='statement.0']", "Restart it at night")
        page.fill("#reason", "not by day")
        page.click("button.primary")
        page.wait_for_selector("text=Somebody else than its editor must approve")
        page.goto(f"/inbox/{rejected}")
        page.fill("#reason", "not now")
        page.click("button[value=REJECTED]")
        page.wait_for_selector("text=rejected by human://test-approver")
        assert "not now" in page.content()
    successor = agent.get(f"/v1/approvals/{edited}").json()["successor"]
    claims = agent.get(f"/v1/approvals/{successor}").json()["subject"]["bundle"]["claims"]
    assert claims[0]["statement"] == "Restart it at night"
    assert agent.get(f"/v1/approvals/{rejected}").json()["status"] == "rejected"


def test_who_looks_at_what_expires_meanwhile_is_told_so(
    browser: Browser, guarded: Guarded, agent: httpx.Client
) -> None:
    admin = {"Authorization": f"Bearer {guarded[1][Role.ADMIN]}"}
    before = agent.get("/v1/policy").json()["policy"]
    hasty = {**before["approvals"], "expires_seconds": 15, "on_expiry": "refuse"}
    adopted = agent.put("/v1/policy", json={**before, "approvals": hasty}, headers=admin)
    assert adopted.status_code == 200, adopted.text
    try:
        _, approval_id = asked(agent, "Delete it while there is time")
    finally:
        assert agent.put("/v1/policy", json=before, headers=admin).status_code == 200
    with person(browser, guarded) as page:
        page.goto(f"/inbox/{approval_id}")
        page.fill("#typed", "DELETE")
        page.fill("#reason", "in time, I thought")
        while agent.get(f"/v1/approvals/{approval_id}?wait=20").json()["status"] == "pending":
            agent.get("/v1/approvals")
        page.click("button[value=APPROVED]")
        page.wait_for_selector("text=Nothing was decided")
        assert "It is timed_out by now" in page.content()
        assert page.locator("button[value=APPROVED]").count() == 0
        page.goto("/inbox?status=timed_out")
        assert page.locator(f'a[href="/inbox/{approval_id}"]').count() == 1
    assert agent.get(f"/v1/approvals/{approval_id}").json()["approvals"] == []


def test_a_session_that_is_looked_at_changes_by_itself(
    browser: Browser, guarded: Guarded, agent: httpx.Client
) -> None:
    session_id = session_of(agent)
    with person(browser, guarded) as page:
        with page.expect_request(f"**/sessions/{session_id}/live"):
            page.goto(f"/sessions/{session_id}")
        page.wait_for_selector("text=3 of 3 hypotheses stand")
        page.evaluate("window.still = true")
        assert eliminate(agent, session_id, "a").status_code == 200
        page.wait_for_selector("text=2 of 3 hypotheses stand")
        page.wait_for_selector(f'td.named a[href="/sessions/{session_id}/why/a"]')
        assert page.evaluate("window.still"), "it was not loaded again"


def test_a_phone_shows_all_of_a_row(browser: Browser, guarded: Guarded, agent: httpx.Client) -> None:
    asked(agent)
    with person(browser, guarded, viewport={"width": 390, "height": 800}) as page:
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390


def test_two_reviewers_at_once_and_the_second_is_told(
    browser: Browser, guarded: Guarded, agent: httpx.Client
) -> None:
    _, approval_id = asked(agent)
    with person(browser, guarded) as first, person(browser, guarded, Role.ADMIN) as second:
        for page in (first, second):
            page.goto(f"/inbox/{approval_id}")
        first.click("button[value=REJECTED]")
        first.wait_for_selector("text=rejected by human://test-approver")
        second.fill("#typed", "DELETE")
        second.click("button[value=APPROVED]")
        second.wait_for_selector("text=Nothing was decided")
        assert "rejected by human://test-approver" in second.content()


def test_enter_in_the_field_of_the_tier_decides_nothing(
    browser: Browser, guarded: Guarded, agent: httpx.Client
) -> None:
    _, approval_id = asked(agent)
    with person(browser, guarded, java_script_enabled=False) as page:
        page.goto(f"/inbox/{approval_id}")
        page.fill("#typed", "DELETE")
        page.press("#typed", "Enter")
        page.wait_for_timeout(500)
        assert agent.get(f"/v1/approvals/{approval_id}").json()["status"] == "pending"


def test_an_edit_is_made_on_its_own_page(browser: Browser, guarded: Guarded, agent: httpx.Client) -> None:
    _, approval_id = asked(agent, "\nRestart it\nat noon", "MODIFY")
    with person(browser, guarded, viewport={"width": 390, "height": 800}) as page:
        page.goto(f"/inbox/{approval_id}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        tables = "[...document.querySelectorAll('.wide')]"
        assert page.evaluate(f"{tables}.every(one => one.scrollWidth <= one.clientWidth)")
        page.keyboard.press("e")
        page.keyboard.press("Enter")
        page.wait_for_url("**/edit")
        page.fill("#reason", "as it was")
        page.click("button.primary")
        page.wait_for_selector("text=Somebody else than its editor must approve")
    successor = agent.get(f"/v1/approvals/{approval_id}").json()["successor"]
    claims = agent.get(f"/v1/approvals/{successor}").json()["subject"]["bundle"]["claims"]
    assert claims[0]["statement"] == "\nRestart it\nat noon"


@pytest.mark.parametrize("scripts", [True, False])
def test_a_long_question_is_answered_on_the_page_that_asked_it(
    browser: Browser, guarded: Guarded, agent: httpx.Client, scripts: bool
) -> None:
    session_id = session_of(agent)
    for _ in range(4 * FEW):
        assert eliminate(agent, session_id, "a").status_code == 200
    with person(browser, guarded, java_script_enabled=scripts) as page:
        page.goto(f"/sessions/{session_id}/verified")
        page.wait_for_selector("text=The ledger holds")
        assert page.title().startswith("Verified")
        page.goto(f"/sessions/{session_id}/what-if?attested=1")
        page.wait_for_selector("text=Would come back")


def test_filters_are_folded_on_a_phone_and_there_at_a_desk(browser: Browser, guarded: Guarded) -> None:
    for scripts in (True, False):
        with person(
            browser, guarded, viewport={"width": 390, "height": 800}, java_script_enabled=scripts
        ) as page:
            assert not page.locator("form.filters").is_visible()
            page.click("text=Filters")
            page.select_option("select[name=status]", "approved")
            page.click("form.filters button")
            page.wait_for_url("**/inbox?status=approved*")
            assert page.inner_text("details.fold > summary") == "Filters: approved"
    with person(browser, guarded, viewport={"width": 1200, "height": 800}) as page:
        assert page.locator("form.filters").is_visible()
        assert not page.locator("details.fold > summary").is_visible()
