"""What a person finds on each page, read from a real server's answers: nothing of it may get lost."""

import asyncio
import re
from html import unescape
from typing import Any

import httpx
import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from beliefd.client import Client
from beliefd.console.app import Visitor
from beliefd.console.pages import card as card_page
from beliefd.console.rendering import now, page
from beliefd.kernel.values import Role
from beliefd.protocol.approvals import ApprovalCard
from beliefd.testing.world import ONTOLOGY
from tests.console.test_a_day import change_of
from tests.console.test_calls import Guarded, call_of, caller, preset
from tests.console.test_deciding import Recorded
from tests.console.visitor import Person, claim_of, session_of, submitted
from tests.firewall.data import WAITS, prediction

__all__ = ["caller", "preset"]


class Story(Struct, frozen=True):
    """A session in which something of each kind happened, and by what it is addressed."""

    session_id: str
    sha256: str
    experiment_id: str
    item: str


@pytest.fixture(scope="module")
def person(preset: Guarded) -> Person:
    return Person(preset[0], preset[1][Role.APPROVER])


@pytest.fixture(scope="module")
def story(preset: Guarded) -> Story:
    server, tokens = preset
    with (
        Client(server.url, tokens[Role.AGENT]) as agent,
        Client(server.url, tokens[Role.ADMIN]) as admin,
        httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {tokens[Role.AGENT]}"}, verify=False
        ) as http,
    ):
        session_id = agent.declare_session(["disk", "pool", "lock"], ONTOLOGY).session_id
        agent.eliminate(
            session_id,
            source_id="tool://df",
            observation_id="df-1",
            eliminated=["disk"],
            justification={"used": "41 percent"},
        )
        agent.enter_obligation(session_id, "look-twice", 2)
        agent.eliminate(
            session_id,
            source_id="tool://ps",
            observation_id="ps-1",
            eliminated=["lock"],
            justification={"because": "it is free"},
        )
        agent.speculate(session_id, "wait", [{"statement": "a zombie holds the lock"}])
        admin_headers = {"Authorization": f"Bearer {tokens[Role.ADMIN]}"}
        found = call_of(preset, http, session_id, to="eve@example.net", body="the report")
        table = "\n".join(["wait", *map(str, WAITS)])
        with Client(server.url, tokens[Role.ENCODER]) as probe:
            sha256 = probe.store_content(table.encode()).sha256
        seen = agent.observe(session_id, quantity="wait", unit="ms", content=sha256, column="wait")
        change = {"type": "create_proposition", "claim_id": "wait", "statement": "a wait takes 40 ms"}
        approve(admin, agent.stage_intent(session_id, {**change, "prediction": prediction()}).approval_id)
        planned = agent.design_experiment(
            session_id, claim={"claim_id": "wait", "observed": [seen.observation_id]}
        )
        done = agent.run_experiment(session_id, planned.experiment_id)
        assert done.run_id is not None
        linked = agent.link_evidence(session_id, claim_id="wait", run_id=done.run_id, role="support")
        status: dict[str, Any] = {
            "type": "update_epistemic_status",
            "claim_id": "wait",
            "to_status": "supported",
        }
        status["evidence_ids"] = [linked.evidence.evidence_id]
        approve(admin, agent.stage_intent(session_id, status).approval_id)
        change_of(http, session_id, admin_headers)
        return Story(session_id, sha256, planned.experiment_id, found["approval_id"])


def approve(admin: Client, item: str | None) -> None:
    assert item is not None
    card = admin.show_approval(item)
    admin.decide_approval(item, "APPROVED", content_hash=card.content_hash)


def text_of(shown: str) -> str:
    """A page without its tags, on one line."""
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", shown).split()))


def rows_of(shown: str) -> list[str]:
    return [text_of(one) for one in re.findall(r"<tr data-row>(.*?)</tr>", shown, re.S)]


def test_a_settled_change_of_status_shows_what_was_claimed_and_how_it_was_tested(
    person: Person, story: Story, caller: httpx.Client
) -> None:
    asked = f"/v1/approvals?status=approved&session_id={story.session_id}"
    settled = caller.get(asked).json()["approvals"]
    (item,) = [one for one in settled if one["title"] == "update_epistemic_status wait"]
    shown = person.read(f"/inbox/{item['approval_id']}")
    told = text_of(shown)
    assert "a wait takes 40 ms" in told
    assert "When this was asked, it was unresolved and would have been supported" in told
    assert "support, by " in told
    assert 'href="/propositions/wait"' in shown
    assert "Open until" not in told


def test_a_card_tells_what_each_gate_saw_what_it_rests_on_and_what_a_mistake_costs(
    person: Person, story: Story, preset: Guarded, caller: httpx.Client
) -> None:
    pointer = {"source": "the waits", "evidence_hash": story.sha256, "source_confidence": 0.75}
    pointer["retrieved_at"] = "2026-01-01T00:00:00Z"
    claim = claim_of("Drop the standby", evidence_pointers=[pointer])
    item = submitted(caller, story.session_id, claim)
    card = caller.get(f"/v1/approvals/{item}").json()
    shown = person.read(f"/inbox/{item}")
    rows = [text_of(one) for one in re.findall(r"<tr>(.*?)</tr>", shown, re.S)]
    for gate in card["gates"]:
        row = next(one for one in rows if text_of(gate["reason"]) in one)
        seen = [str(gate[name]) for name in ("limit", "observed") if gate[name] is not None]
        assert row.endswith(" ".join(seen)), row
    assert any(None not in (gate["limit"], gate["observed"]) for gate in card["gates"])
    (standing,) = card["standings"].values()
    (state,) = [one["state"] for one in standing["evidence"]]
    assert re.search(rf'<a href="/content/{story.sha256}">the waits</a></td><td[^>]*>{state}', shown)
    assert '<td class="num" data-label="Confidence">0.75</td>' in shown
    assert "Cost if wrong: the standby must be <i>rebuilt</i>" in text_of(shown)
    assert "1 of 3 hypotheses stand: pool" in text_of(shown)


def test_a_card_of_a_call_tells_what_its_tool_says_of_itself(
    person: Person, story: Story, caller: httpx.Client
) -> None:
    card = msgspec.convert(caller.get(f"/v1/approvals/{story.item}").json(), ApprovalCard)
    assert card.call is not None
    told = replace(card, call=replace(card.call, description="Sends <mail> to anybody."))
    seen = asyncio.run(card_page.shown(Visitor(Recorded(told), {}, {}, {})))  # type: ignore[arg-type]
    made = page(seen.template, {**seen.values, "who": None, "now": now()}).decode()
    assert "What the tool says of itself: Sends <mail> to anybody." in text_of(made)


def test_a_row_tells_who_asks_for_how_long_until_when_and_what_a_yes_does(
    person: Person, caller: httpx.Client
) -> None:
    session_id = session_of(caller)
    for at, tier in enumerate(("MODIFY", "DELETE", "MODIFY", "DELETE")):
        submitted(caller, session_id, claim_of(f"Restart {at}", tier))
    listed = caller.get("/v1/approvals", params={"session_id": session_id}).json()["approvals"]
    place = f"/inbox?session={session_id}"
    rows = rows_of(person.read(place))
    order = [re.search(r"Restart (\d)", row)[1] for row in rows]  # type: ignore[index]
    assert order == ["1", "3", "0", "2"], "by tier, and the oldest first within one"
    for row, at in zip(rows, order, strict=True):
        card = next(one for one in listed if one["title"] == f"Restart {at}")
        assert "agent://test-agent" in row
        assert f"If you approve: {card['on_approval']}"[:120] in row
        assert re.search(r" \d+ s \d+ (?:d|h|min)$", row), "its age, and when it ends"
    for name, value, count in (
        ("agent", "agent://test-agent", 4),
        ("agent", "agent://nobody", 0),
        ("kind", "claims", 4),
        ("kind", "tool call", 0),
        ("tier", "DELETE", 2),
        ("space", "default", 4),
        ("space", "attic", 0),
    ):
        found = person.http.get(place, params={"session": session_id, name: value})
        assert len(rows_of(found.text)) == count, (name, value)
        assert found.status_code == 200


def test_a_session_tells_who_caused_each_step_why_and_how_far_its_duties_are(
    person: Person, story: Story
) -> None:
    shown = person.read(f"/sessions/{story.session_id}")
    steps = re.findall(r"<title>(#\d+ ELIMINATE by [^<]*)</title>", shown)
    assert [one.partition(" ")[2] for one in steps] == [
        "ELIMINATE by agent://test-agent: 1 gone, 2 left",
        "ELIMINATE by agent://test-agent: 1 gone, 1 left",
    ]
    fallen = [text_of(one) for one in re.findall(r'<tr><td class="named">(.*?)</tr>', shown, re.S)]
    assert fallen[0].startswith("disk tool://df agent://test-agent attested used: 41 percent #")
    assert fallen[1].startswith("lock tool://ps agent://test-agent attested it is free #"), (
        "and no `because:`"
    )
    assert "look-twice: 1 of 2 eliminations" in text_of(shown)
    assert re.search(r'<progress id="obligation\.0" max="2" value="1">', shown)
    speculative, _, grounded = text_of(shown).partition("Grounded lane")
    assert "a zombie holds the lock about wait, by agent://test-agent" in speculative
    assert "create_proposition, by agent://test-agent" in grounded
    assert "update_epistemic_status to supported, by agent://test-agent" in grounded
    assert "support for wait numeric_consistency@2 , witnessed, error level" in grounded


def test_an_experiment_shows_its_data_against_what_was_predicted(person: Person, story: Story) -> None:
    place = f"/sessions/{story.session_id}/experiments/{story.experiment_id}"
    assert f'href="{place}"' in person.read(f"/sessions/{story.session_id}/work")
    shown = person.read(place)
    drawn = re.search(r'<svg class="histogram"[^>]*aria-label="([^"]+)">(.*?)</svg>', shown, re.S)
    assert drawn is not None
    assert re.fullmatch(r"data from [\d.]+ to [\d.]+, mean [\d.]+, against the prediction", drawn[1])
    assert sum(int(one) for one in re.findall(r"<title>(\d+)</title>", drawn[2])) == len(WAITS)
    assert '<rect class="region"' in drawn[2]
    told = text_of(shown)
    assert "Predicted: a mean of 38 at least, and of 42 at most, in ms" in told
    assert "outcome support error level" in told
    assert "Check Passed Measured Limit" in told
    assert "The plan, frozen before the run" in told


def test_a_call_tells_what_was_asked_for_by_whom_and_what_came_of_it(
    preset: Guarded, person: Person, caller: httpx.Client
) -> None:
    session_id = session_of(caller)
    call = made_call(preset, person, caller, session_id)
    risks = [("Restart it", "MODIFY"), ("Drop it", "DELETE")]
    submitted(caller, session_id, *(claim_of(words, tier) for words, tier in risks))
    work = person.read(f"/sessions/{session_id}/work")
    assert "DELETE Drop it and 1 more" in text_of(work), "the claim that the tier is of"
    place = f"/sessions/{session_id}/calls/{call}"
    assert re.search(rf'<a href="{place}">[^<]+</a></td><td[^>]*>mail\.send</td><td[^>]*>running<', work)
    told = text_of(person.read(place))
    assert '"to": "zed@example.net"' in told
    assert "Asked for by agent://test-agent" in told
    assert "Run by caller" in told


def made_call(preset: Guarded, person: Person, caller: httpx.Client, session_id: str) -> str:
    """A call that was allowed, and that its caller makes."""
    admin = {"Authorization": f"Bearer {preset[1][Role.ADMIN]}"}
    wanted = {"session_id": session_id, "agent_id": "agent://test-agent", "scope": {"tools": ["mail.send"]}}
    call = {
        "kind": "tool_call",
        "tool_id": "mail.send",
        "args": {"to": "zed@example.net"},
        "capability_token": caller.post("/v1/capabilities", json=wanted, headers=admin).json()["token"],
        "join_key": "once",
    }
    sent = {"provenance": {"source": "agent"}, "candidates": [call], "execute": "caller"}
    first, second = "", ""
    for _ in range(2):
        (found,) = caller.post(f"/v1/sessions/{session_id}/proposals", json=sent).json()["results"]
        if not first:
            first = found["approval_id"]
            assert person.decide(first, decision="APPROVED").status_code == 303
        second = found["call_id"]
    return second


def test_a_proposition_leads_from_its_status_back_to_the_bytes(person: Person, story: Story) -> None:
    shown = person.read("/propositions/wait")
    drawn = re.search(r'<svg class="lineage".*?</svg>', shown, re.S)
    assert drawn is not None
    boxes = re.findall(r'<text class="kind"[^>]*>([^<]*)</text><text[^>]*>([^<]*)</text>', drawn[0])
    kinds = [kind for kind, _ in boxes]
    assert boxes[0] == ("status", "supported")
    assert {"update_epistemic_status", "validation-evidence", "run", "observation", "bytes"} <= set(kinds)
    places = re.findall(r'<a href="([^"]+)">', drawn[0])
    assert f"/content/{story.sha256}" in places
    assert f"/sessions/{story.session_id}/experiments/{story.experiment_id}" in places
    assert any(one.startswith("/inbox/apr-") for one in places), "who allowed it"
    assert drawn[0].count("<path ") >= 4
    evidence = [words for kind, words in boxes if kind == "validation-evidence"]
    assert evidence == ["support, witnessed"]
    content = text_of(person.read(f"/content/{story.sha256}"))
    assert str(WAITS[0]) in content
    assert "Brought by encoder://test-encoder (encoder)" in content
