"""The state of every pointer is shown wherever a person decides: over HTTP, in a terminal, on the page."""

import hashlib
import re
from typing import Any

import httpx
from click.testing import CliRunner

from beliefd.cli.main import main
from beliefd.kernel.values import Role
from tests.claims.support import pointer
from tests.console.visitor import Person, claim_of, session_of, submitted
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess

UNSEEN = 4
"""More than the evidence gate names in its reason."""


def test_the_state_of_every_pointer_is_on_the_card_the_command_line_and_the_page(
    guarded: tuple[ServerProcess, Tokens], agent: httpx.Client, approver: Person
) -> None:
    server, tokens = guarded
    person = {"Authorization": f"Bearer {tokens[Role.APPROVER]}"}
    page = b"163 of 200 connections are idle"
    assert httpx.post(f"{server.url}/v1/content", content=page, headers=person, verify=False).is_success
    session = session_of(agent)
    sources = [pointer(source=f"https://example.org/{n}", evidence_hash=f"{n:064x}") for n in range(UNSEEN)]
    sources.append(pointer(source="https://example.org/kept", evidence_hash=hashlib.sha256(page).hexdigest()))
    claims = [claim_of(f"Delete slot {n}", evidence_pointers=sources, id=f"c{n}") for n in range(2)]
    approval = submitted(agent, session, *claims)
    expected = ["attested"] * UNSEEN + ["stored"]

    card: Any = httpx.get(f"{server.url}/v1/approvals/{approval}", headers=person, verify=False).json()
    assert {name: states(one) for name, one in card["standings"].items()} == {"c0": expected, "c1": expected}
    told: Any = agent.get(f"/v1/sessions/{session}/claims/{card['subject']['bundle_id']}").json()
    assert told["standings"] == card["standings"]

    env = {"BELIEFD_TOKEN": tokens[Role.APPROVER]}
    printed = CliRunner(env=env).invoke(main, ["inbox", "show", approval, "--url", server.url]).output
    assert re.findall(r"(\w+) evidence `https://example.org/(\w+)`", printed) == shown_of(expected) * 2

    html = approver.read(f"/inbox/{approval}")
    rows = re.findall(r'https://example.org/(\w+)</a></td><td data-label="Known here">(\w+)', html)
    assert [(state, name) for name, state in rows] == shown_of(expected) * 2


def states(standing: dict[str, Any]) -> list[str]:
    return [one["state"] for one in standing["evidence"]]


def shown_of(expected: list[str]) -> list[tuple[str, str]]:
    names = [*map(str, range(UNSEEN)), "kept"]
    return list(zip(expected, names, strict=True))
