"""Every page in a real browser: legible in light and dark and on a phone, and inert whatever agents say."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest
from playwright.sync_api import Browser, Page
from starlette.routing import compile_path

from beliefd.client import Client
from beliefd.console.app import Console
from beliefd.console.pages import PAGES
from beliefd.kernel.values import Role
from beliefd.testing.world import ONTOLOGY
from tests.console.browsing import person
from tests.console.test_a_day import change_of, window
from tests.console.test_calls import preset
from tests.console.test_going_on import PLAN
from tests.console.visitor import claim_of, submitted
from tests.http.conftest import Tokens
from tests.support.npm import npm_package
from tests.support.server import ServerProcess

__all__ = ["preset", "window"]
Guarded = tuple[ServerProcess, Tokens]
pytestmark = pytest.mark.slow
HOSTILE = (
    "\"'><img src=x onerror=alert(1)><script>alert(2)</script><svg onload=alert(3)> "
    "\u202e\u2066p\u0430yp\u0430l\u200b {{ 7*7 }} javascript:alert(4) " + "\u0301" * 50
)
LONG = HOSTILE + "W" * 15_000
LINE = HOSTILE + "x" * 1_000_000
"""More than a megabyte without a break."""
PHONE = {"width": 390, "height": 800}
DESK = {"width": 1_280, "height": 800}
CUT = (
    "[...document.querySelectorAll('.wide:has(> table), .top nav')]"
    ".filter(one => one.scrollWidth > one.clientWidth)"
)
"""What a phone shows a part of, until somebody pushes it aside."""


@pytest.fixture(scope="module")
def places(preset: Guarded) -> list[str]:
    """Addresses of all pages, with something on each that an agent said."""
    server, tokens = preset
    headers = {"Authorization": f"Bearer {tokens[Role.AGENT]}"}
    admin = {"Authorization": f"Bearer {tokens[Role.ADMIN]}"}
    with httpx.Client(base_url=server.url, headers=headers, verify=False, timeout=60) as agent:
        session_id = believed(agent)
        claims = submitted(agent, session_id, claim_of(LONG, if_wrong_cost=HOSTILE))
        long_line = definition_of(agent, admin)
        told(agent, session_id)
        intent = proposition_of(agent, session_id)
        waits, settled, call_id = calls_of(agent, admin, session_id)
        change = change_of(agent, session_id, admin)
        for item in (intent, settled):
            assert decided(agent, admin, item) == "approved"
        kept = agent.post("/v1/content", content=LINE.encode()).json()["sha256"]
        experiment_id = experiment_of(server, tokens, session_id)
    place = f"/sessions/{session_id}"
    return [
        "/",
        "/inbox",
        "/inbox?status=information",
        "/inbox?status=approved",
        *(f"/inbox/{one}{page}" for one in (claims, waits) for page in ("", "/edit", "/whole")),
        f"/inbox/{long_line}",
        f"/inbox/{long_line}/whole?piece=2",
        f"/inbox/{change}",
        f"/inbox/{settled}",
        f"/inbox/{intent}?then=next",
        f"/inbox/{intent}",
        "/sessions",
        place,
        f"{place}/work",
        f"{place}/what-if?attested=1",
        f"{place}/audit",
        f"{place}/audit/2",
        f"{place}/verified",
        f"{place}/why/a",
        f"{place}/calls/{call_id}",
        f"{place}/experiments/{experiment_id}",
        "/propositions",
        "/propositions/wait-40",
        "/policy",
        "/policy?rule=goals",
        "/audit",
        f"/audit?session={session_id}",
        "/access",
        f"/content/{kept}",
        "/inbox/none",
        "/inbxo",
    ]


def believed(agent: httpx.Client) -> str:
    """A session in which hypotheses fell, and in which something was imagined."""
    name = HOSTILE[:90]
    opened = {
        "ontology": msgspec.to_builtins(ONTOLOGY),
        "hypotheses": ["a", "b", "c", "d", name],
        "metadata": {"title": HOSTILE},
    }
    session_id: str = agent.post("/v1/sessions", json=opened).json()["session_id"]
    said = {
        "source_id": name,
        "observation_id": "o",
        "eliminated": ["a", name],
        "justification": {"because": HOSTILE, HOSTILE[:50]: LONG},
    }
    assert agent.post(f"/v1/sessions/{session_id}/eliminate", json=said).status_code == 200
    ideas = {"claim_id": "c", "hypotheses": [{"statement": HOSTILE}]}
    assert agent.post(f"/v1/sessions/{session_id}/hypotheses", json=ideas).status_code == 201
    return session_id


def told(agent: httpx.Client, session_id: str) -> None:
    """Something that is there for information."""
    claim = claim_of("<i>Told</i> " + "W" * 15_000, "MODIFY") | {"claim_type": "INFERENCE"}
    answer = agent.post(f"/v1/sessions/{session_id}/claims", json={"claims": [claim]}).json()
    assert answer["decision"] == "PUBLISH", answer


def definition_of(agent: httpx.Client, admin: dict[str, str]) -> str:
    for words in ("Reads", HOSTILE + "x" * 99_000):
        tool = {"name": "t", "description": words, "input_schema": {"type": "object"}}
        offered = agent.post("/v1/catalogues/hostile", json={"tools": [tool]}, headers=admin)
        assert offered.status_code < 300, offered.text
    waiting = agent.get("/v1/approvals", params={"kind": "definition"}).json()["approvals"]
    return str(waiting[0]["approval_id"])


def proposition_of(agent: httpx.Client, session_id: str) -> str:
    criterion = {"region": "tolerance", "value": 40, "tolerance": 2}
    intent = {
        "type": "create_proposition",
        "claim_id": "wait-40",
        "statement": HOSTILE,
        "prediction": {"quantity": "wait", "unit": "ms", "criterion": criterion},
    }
    return str(agent.post(f"/v1/sessions/{session_id}/intents", json=intent).json()["approval_id"])


def calls_of(agent: httpx.Client, admin: dict[str, str], session_id: str) -> tuple[str, str, str]:
    """Items of calls: one that waits, with a line without an end, and one that was let through and made."""
    wanted = {"session_id": session_id, "agent_id": "agent://test-agent", "scope": {"tools": ["mail.send"]}}
    token = agent.post("/v1/capabilities", json=wanted, headers=admin).json()["token"]

    def proposed(use: str, body: str) -> dict[str, Any]:
        call = {
            "kind": "tool_call",
            "tool_id": "mail.send",
            "args": {"to": "eve@example.net", "body": body, HOSTILE[:60]: HOSTILE},
            "capability_token": token,
            "join_key": use,
            "rationale": HOSTILE,
        }
        sent = {"provenance": {"source": "agent"}, "candidates": [call], "execute": "caller"}
        answer = agent.post(f"/v1/sessions/{session_id}/proposals", json=sent)
        assert answer.status_code == 200, answer.text[:500]
        found: dict[str, Any] = answer.json()["results"][0]
        return found

    waits, settled = proposed("waits", LINE)["approval_id"], proposed("runs", LONG)["approval_id"]
    assert decided(agent, admin, settled) == "approved"
    return waits, settled, proposed("runs", LONG)["call_id"]


def decided(agent: httpx.Client, admin: dict[str, str], item: str) -> str:
    card = agent.get(f"/v1/approvals/{item}").json()
    yes = {"decision": "APPROVED", "content_hash": card["content_hash"], "reason": HOSTILE}
    if card["status"] == "pending":
        answer = agent.post(f"/v1/approvals/{item}/decision", json=yes, headers=admin)
        assert answer.status_code == 200, answer.text
    return str(agent.get(f"/v1/approvals/{item}").json()["status"])


def experiment_of(server: ServerProcess, tokens: Tokens, session_id: str) -> str:
    with Client(server.url, tokens[Role.AGENT]) as client:
        planned = client.design_experiment(session_id, claim={**PLAN, "claim_id": "wait-40"})
        client.run_experiment(session_id, planned.experiment_id)
    return planned.experiment_id


def test_every_page_of_the_console_is_among_those_that_are_looked_at(places: list[str]) -> None:
    paths = [urlsplit(one).path for one in places]
    ways = {path: compile_path(path)[0] for method, path in PAGES if method == "GET"}
    assert [path for path, way in ways.items() if not any(way.match(one) for one in paths)] == []
    beside = {route.path for route in Console(SimpleNamespace(authenticator=None)).routes({})}  # type: ignore[attr-defined]
    assert beside == {
        "/static/{name}",
        "/sign-in",
        "/sign-in/{name}",
        "/sign-in/{name}/back",
        "/sign-out",
        "/live",
        "/{place:path}",
        "/sessions/{session_id}/live",
        "/sessions/{session_id}/export",
    }, "what is no page; the page to sign in has a test of its own"


def violations(page: Page, axe: str, rules: list[str] | None) -> list[str]:
    """What axe-core finds that is serious, and where."""
    page.evaluate(axe)
    wanted = {"resultTypes": ["violations"], **({"runOnly": rules} if rules else {})}
    found = page.evaluate("wanted => axe.run(document, wanted)", wanted)["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_nothing_on_any_page_keeps_people_out_or_does_what_an_agent_says(
    window: Browser, preset: Guarded, places: list[str], scheme: str, size: dict[str, int]
) -> None:
    axe = (npm_package("axe-core", "4.10.3") / "node_modules/axe-core/axe.min.js").read_text()
    # Colours are all that differs between the two.
    rules = None if scheme == "light" else ["color-contrast"]
    bad: dict[str, list[str]] = {}
    with person(window, preset, Role.ADMIN, color_scheme=scheme, viewport=size) as page:
        for place in places:
            page.goto(place)
            assert [bool(one.strip()) for one in page.locator("h1").all_inner_texts()] == [True], place
            if found := violations(page, axe, rules):
                bad[place] = found
            wide = page.evaluate("document.documentElement.scrollWidth")
            scripts = page.evaluate("document.querySelectorAll('script, img[onerror], svg[onload]').length")
            assert (wide <= size["width"], scripts) == (True, 1), (place, wide)
            cut = page.evaluate(f"{CUT}.map(one => one.textContent.slice(0, 80))")
            assert cut == [] or size is DESK, (place, cut)
    assert bad == {}, msgspec.json.format(msgspec.json.encode(bad)).decode()


def test_a_picture_that_is_wider_than_a_phone_says_so(
    window: Browser, preset: Guarded, places: list[str]
) -> None:
    assert "/propositions/wait-40" in places
    for size, is_told in ((PHONE, True), (DESK, False)):
        with person(window, preset, viewport=size) as page:
            page.goto("/propositions/wait-40")
            scrolls = page.evaluate(
                "(one => one.scrollWidth > one.clientWidth)(document.querySelector('.wide'))"
            )
            assert (scrolls, page.locator(".sideways").is_visible()) == (is_told, is_told)


def test_the_page_to_sign_in_keeps_nobody_out(window: Browser, preset: Guarded) -> None:
    axe = (npm_package("axe-core", "4.10.3") / "node_modules/axe-core/axe.min.js").read_text()
    page = window.new_page(base_url=preset[0].url)
    page.goto("/sign-in")
    assert violations(page, axe, None) == []
    page.close()
