"""Pages are short whatever is on them, and lead to what does not fit."""

import asyncio
import re
from typing import Any

import httpx
import pytest

from beliefd.console.pages import inbox
from beliefd.kernel.values import Role
from tests.console.conftest import make_tokens
from tests.console.test_bounds import MOST_BYTES
from tests.console.visitor import Person, claim_of, session_of, submitted
from tests.support.server import server_process

QUOTES = "\"'<&>" * 6_000
"""Each of these is five characters on a page."""


def is_short(person: Person, path: str) -> str:
    """What a page says, which is short."""
    shown = person.read(path)
    assert len(shown.encode()) < MOST_BYTES, (path, len(shown.encode()))
    return shown


def test_a_page_of_fifty_long_reasons_is_short_and_leads_to_each_whole(
    approver: Person, agent: httpx.Client
) -> None:
    session_id = session_of(agent)
    for at in range(50):
        said: dict[str, Any] = {"source_id": f"tool://{at}", "observation_id": f"o{at}", "eliminated": ["a"]}
        said["justification"] = {"because": f"reason {at} {QUOTES}END"}
        assert agent.post(f"/v1/sessions/{session_id}/eliminate", json=said).status_code == 200
    shown = is_short(approver, f"/sessions/{session_id}/why/a")
    assert shown.count("reason ") == 50
    assert "END" not in shown
    is_short(approver, f"/sessions/{session_id}/audit")
    place = f"/sessions/{session_id}/audit/2"
    assert f'href="{place}"' in shown
    whole = is_short(approver, place)
    pieces = int(re.search(r"Piece 1 of (\d+)", whole)[1])  # type: ignore[index]
    assert pieces > 1
    read = [is_short(approver, f"{place}?piece={at + 1}") for at in range(pieces)]
    assert "END" in read[-1]
    for wrong in ("0", "52", "x", "9" * 30):
        assert approver.http.get(f"/sessions/{session_id}/audit/{wrong}").status_code == 404


def test_an_item_full_of_quotes_is_short_on_every_page_and_can_be_read_whole(
    approver: Person, agent: httpx.Client
) -> None:
    session_id = session_of(agent)
    pointer = {"source": chr(34) * 200, "evidence_hash": "0" * 64, "source_confidence": 0.5}
    pointer["retrieved_at"] = "2026-01-01T00:00:00Z"
    many = [
        claim_of(f"{at} {QUOTES[:6_000]}", if_wrong_cost=QUOTES[:900], evidence_pointers=[pointer] * 10)
        for at in range(50)
    ]
    for claims in (many, [claim_of(f"Delete {at}") for at in range(900)]):
        item = submitted(agent, session_id, *claims)
        shown = is_short(approver, f"/inbox/{item}")
        assert "does not show all of it" in shown
        assert f'href="/inbox/{item}/whole"' in shown
        assert re.findall(r'class="outcome (\w+)', shown)[0] != "EXECUTE"
        assert "If you approve: that answers the" in shown
        pieces = int(re.search(r"Piece 1 of (\d+)", is_short(approver, f"/inbox/{item}/whole"))[1])  # type: ignore[index]
        for at in (2, pieces // 2, pieces):
            is_short(approver, f"/inbox/{item}/whole?piece={at}")


def test_a_policy_of_many_long_rules_is_short_and_each_rule_can_be_read_whole(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    words = [f"{at} {QUOTES[:60]}" for at in range(50)]
    rules = {
        f"constraint.r{at:03}": {
            "v": 1,
            "subject": {"tool_id": f"tool-{at}"},
            "effect": "deny",
            "reason": QUOTES[:300],
            "when": {"op": "in", "args": ["call.args.x", [*words, f"LAST of {at}"]]},
        }
        for at in range(200)
    }
    data = tmp_path_factory.mktemp("rules")
    tokens = asyncio.run(make_tokens(data / "beliefd.db"))
    with server_process(data) as server:
        headers = {"Authorization": f"Bearer {tokens[Role.ADMIN]}"}
        person = Person(server, tokens[Role.ADMIN])
        with httpx.Client(base_url=server.url, headers=headers, verify=False, timeout=60) as http:
            policy = http.get("/v1/policy").json()["policy"]
            adopted = http.put("/v1/policy", json={**policy, "constraints": rules})
        assert adopted.status_code == 200, adopted.text
        listed: list[str] = []
        place = "/policy"
        while place:
            shown = is_short(person, place)
            listed += re.findall(r'class="id named">(r\d+)<', shown)
            following = re.search(r'href="(/policy\?from=\d+)"', shown)
            place = following[1] if following else ""
        assert listed == [f"r{at:03}" for at in range(200)]
        alone = is_short(person, "/policy?rule=r199")
        assert "LAST of 199" in alone
        assert "LAST of" not in shown


def test_a_full_inbox_is_short(approver: Person, agent: httpx.Client) -> None:
    session_id = session_of(agent, ["a", "b"])
    for at in range(inbox.LISTED):
        submitted(agent, session_id, claim_of(f"{at} {'wx ' * 80}", "MODIFY"))
    is_short(approver, f"/inbox?session={session_id}")
