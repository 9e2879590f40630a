"""The stories of claims that any implementation can run, through the library and over HTTP."""

import asyncio
from typing import Any

import httpx
import pytest

from beliefd.conformance.stories import STEP_MEMBERS, Step, answered, load_all, request, run
from beliefd.conformance.tools import registry
from beliefd.http.app import create_app
from beliefd.protocol.approvals import ApprovalRows
from beliefd.protocol.claims import ClaimRows
from beliefd.protocol.content import ContentRows
from beliefd.protocol.operations import BY_NAME
from beliefd.protocol.policy import PolicyRows
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.memory import MemoryStore
from tests.conformance.surfaces import Library, make_tokens

STORIES = load_all("claims")


@pytest.mark.parametrize("name", STORIES)
def test_the_library_conforms(name: str) -> None:
    library = Library()
    try:
        run(STORIES[name], {"a": library})
    finally:
        library.close()


class Http:
    """The application itself, without a socket in between."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._runtime = bootstrap(MemoryStore(), registry=registry())
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(self._runtime)), base_url="http://127.0.0.1"
        )
        self._tokens = self._runner.run(make_tokens(self._runtime.steward.store))

    def call(self, step: Step) -> tuple[int | None, Any]:
        asked = request(step)
        response = self._runner.run(
            self._client.request(
                asked.operation.method,
                asked.url,
                params=asked.query,
                content=asked.content,
                headers={**asked.headers, "Authorization": f"Bearer {self._tokens[step.role, step.tier]}"},
            )
        )
        return response.status_code, answered(step.op, response.content)

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.run(self._runtime.close())
        self._runner.close()


@pytest.mark.parametrize("name", STORIES)
def test_the_server_conforms(name: str) -> None:
    server = Http()
    try:
        run(STORIES[name], {"a": server})
    finally:
        server.close()


def test_stories_say_what_they_are_and_nothing_that_is_not_documented() -> None:
    for name, story in STORIES.items():
        assert story.keys() - {"clauses"} == {"name", "about", "given", "steps"}
        assert story["name"] == name
        for step in story["steps"]:
            assert {"op", "args", "status", "expect"} <= step.keys() <= STEP_MEMBERS
            assert step["op"] in BY_NAME


def test_stories_cover_every_operation_on_claims() -> None:
    told = {step["op"] for story in STORIES.values() for step in story["steps"]}
    vocabularies = (ApprovalRows, ClaimRows, ContentRows, PolicyRows)
    rows = [operation for vocabulary in vocabularies for operation in vocabulary.rows()]
    # A feed has no end, and so no place in a story. Questions about policies have tests of their own.
    rows = [row for row in rows if not row.stream and not row.path.startswith("/v1/policy/")]
    assert {operation.name for operation in rows} <= told


def test_the_specification_s_two_examples_end_as_it_asks() -> None:
    """A FACT with a caveat about its 32 digits; a PRIVILEGE decision that the uncertainty gate stops."""
    fact, decision = (first_answer(name) for name in ("fact-with-odd-hash", "privilege-decision"))
    assert fact["decision"] == "PUBLISH"
    caveat, declared = fact["caveats"]
    assert declared == "claim-001: uncertainty is declared only: nobody has measured it"
    assert caveat.startswith("claim-001: ")
    assert "32 hex digits" in caveat
    assert decision["decision"] == "DEFER"
    assert decision["audit_trail"]["gates_failed"] == ["uncertainty"]
    assert "human" not in {result["gate"] for result in decision["gates"]}


def first_answer(name: str) -> dict[str, Any]:
    """What the first bundle of a story is answered with."""
    heard: list[dict[str, Any]] = []

    class Listening(Library):
        def call(self, step: Any) -> tuple[int | None, Any]:
            status, answer = super().call(step)
            if step.op == "submit_claims":
                heard.append(answer)
            return status, answer

    library = Listening()
    try:
        run(STORIES[name], {"a": library})
    finally:
        library.close()
    return heard[0]
