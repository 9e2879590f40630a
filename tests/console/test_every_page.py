"""Every page in a real browser: legible in light and dark and on a phone, and inert whatever agents say."""

import httpx
import msgspec
import pytest
from playwright.sync_api import Browser, Page

from beliefd.kernel.values import Role
from beliefd.testing.world import ONTOLOGY
from tests.console.browsing import person
from tests.console.visitor import claim_of, submitted
from tests.http.conftest import Tokens
from tests.support.npm import npm_package
from tests.support.server import ServerProcess

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
CUT = (
    "[...document.querySelectorAll('.wide:has(> table), .top nav')]"
    ".filter(one => one.scrollWidth > one.clientWidth)"
)
"""What a phone shows a part of, until somebody pushes it aside."""


@pytest.fixture(scope="module")
def places(guarded: Guarded) -> list[str]:
    """Addresses of all pages, with something on each that an agent said."""
    server, tokens = guarded
    headers = {"Authorization": f"Bearer {tokens[Role.AGENT]}"}
    admin = {"Authorization": f"Bearer {tokens[Role.ADMIN]}"}
    with httpx.Client(base_url=server.url, headers=headers, verify=False, timeout=60) as agent:
        name = HOSTILE[:90]
        opened = {
            "ontology": msgspec.to_builtins(ONTOLOGY),
            "hypotheses": ["a", "b", "c", "d", name],
            "metadata": {"title": HOSTILE},
        }
        session_id = agent.post("/v1/sessions", json=opened).json()["session_id"]
        said = {
            "source_id": name,
            "observation_id": "o",
            "eliminated": ["a", name],
            "justification": {"because": HOSTILE, HOSTILE[:50]: LONG},
        }
        assert agent.post(f"/v1/sessions/{session_id}/eliminate", json=said).status_code == 200
        claim = claim_of(LONG, if_wrong_cost=HOSTILE)
        approval_id = submitted(agent, session_id, claim)
        ideas = {"claim_id": "c", "hypotheses": [{"statement": HOSTILE}]}
        assert agent.post(f"/v1/sessions/{session_id}/hypotheses", json=ideas).status_code == 201
        criterion = {"region": "tolerance", "value": 40, "tolerance": 2}
        intent = {
            "type": "create_proposition",
            "claim_id": "wait-40",
            "statement": HOSTILE,
            "prediction": {"quantity": "pool_wait", "unit": "ms", "criterion": criterion},
        }
        staged = agent.post(f"/v1/sessions/{session_id}/intents", json=intent).json()
        card = agent.get(f"/v1/approvals/{staged['approval_id']}").json()
        yes = {"decision": "APPROVED", "content_hash": card["content_hash"], "reason": HOSTILE}
        decided = agent.post(f"/v1/approvals/{staged['approval_id']}/decision", json=yes, headers=admin)
        assert decided.status_code == 200, decided.text
        kept = agent.post("/v1/content", content=LINE.encode()).json()["sha256"]
        for words in ("Reads", HOSTILE + "x" * 99_000):
            tool = {"name": "t", "description": words, "input_schema": {"type": "object"}}
            offered = agent.post("/v1/catalogues/hostile", json={"tools": [tool]}, headers=admin)
            assert offered.status_code < 300, offered.text
        waiting = agent.get("/v1/approvals", params={"kind": "definition"}).json()["approvals"]
        long_line = waiting[0]["approval_id"]
    place = f"/sessions/{session_id}"
    return [
        "/inbox",
        f"/inbox/{approval_id}",
        f"/inbox/{approval_id}/edit",
        f"/inbox/{approval_id}/whole",
        f"/inbox/{long_line}",
        f"/inbox/{long_line}/whole?piece=2",
        "/inbox?status=approved",
        f"/inbox/{staged['approval_id']}?then=next",
        f"/inbox/{staged['approval_id']}",
        "/sessions",
        place,
        f"{place}/work",
        f"{place}/what-if?attested=1",
        f"{place}/audit",
        f"{place}/verified",
        f"{place}/why/a",
        "/propositions",
        "/propositions/wait-40",
        "/policy",
        "/audit",
        f"/audit?session={session_id}",
        "/access",
        f"/content/{kept}",
        "/inbox/none",
    ]


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
def test_nothing_on_any_page_keeps_people_out_or_does_what_an_agent_says(
    browser: Browser, guarded: Guarded, places: list[str], scheme: str
) -> None:
    axe = (npm_package("axe-core", "4.10.3") / "node_modules/axe-core/axe.min.js").read_text()
    # Colours are all that differs between the two.
    rules = None if scheme == "light" else ["color-contrast"]
    bad: dict[str, list[str]] = {}
    with person(browser, guarded, Role.ADMIN, color_scheme=scheme, viewport=PHONE) as page:
        for place in places:
            page.goto(place)
            if found := violations(page, axe, rules):
                bad[place] = found
            wide = page.evaluate("document.documentElement.scrollWidth")
            scripts = page.evaluate("document.querySelectorAll('script, img[onerror], svg[onload]').length")
            assert (wide <= PHONE["width"], scripts) == (True, 1), (place, wide)
            cut = page.evaluate(f"{CUT}.map(one => one.textContent.slice(0, 80))")
            assert cut == [], (place, cut)
    assert bad == {}, msgspec.json.format(msgspec.json.encode(bad)).decode()


def test_the_page_to_sign_in_keeps_nobody_out(browser: Browser, guarded: Guarded) -> None:
    axe = (npm_package("axe-core", "4.10.3") / "node_modules/axe-core/axe.min.js").read_text()
    page = browser.new_page(base_url=guarded[0].url)
    page.goto("/sign-in")
    assert violations(page, axe, None) == []
    page.close()
