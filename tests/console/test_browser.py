"""A real browser at the real server: what people do, with and without scripts, by mouse and by keys."""

import httpx
import pytest
from playwright.sync_api import Browser

from beliefd.console.questions import FEW
from beliefd.kernel.values import Role
from tests.console.browsing import person
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
