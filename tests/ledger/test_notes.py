"""Notes: what a caller adds to the record of a command, wherever and however it comes in."""

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from beliefd.client.requests import Request
from beliefd.http.app import create_app
from beliefd.http.headers import NOTES_PATTERN
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import MAX_NOTES
from beliefd.ledger.envelope import read
from beliefd.protocol.beliefs import BeliefRows
from beliefd.protocol.operations import OPERATIONS
from beliefd.testing.world import AGENT, ONTOLOGY, ONTOLOGY_JSON, World, refused
from tests.claims.support import bundle, claim
from tests.cli.runner import answer, beliefd
from tests.conformance.node import verify_with_node
from tests.ledger.ledgers import edited, joined, parts, relinked
from tests.substrate.support import ALLOW_ALL, ToolWorld, delta, rules

TOLD = "checked with the on-call engineer; 100% sure, Grüße \U0001f642\n\x1b[2J"
MARKED = 'as {"epistemic_status": "speculative"} says'


def notes_of(house: World, session: str) -> list[str | None]:
    return [read(entry.record).notes for entry in house.entries(session)]


def eliminate(house: World, session: str, **more: Any) -> Any:
    told = {"source_id": "agent", "observation_id": "o1", "eliminated": ["h1"], **more}
    return house.agent.eliminate(session, **told)


def test_every_operation_that_makes_a_command_takes_notes() -> None:
    """Those that write and take none write to no session, or take whole ledgers, or have notes per line.

    What a hook is told is another program's to say, and makes several commands.
    """
    without = {row.name for row in OPERATIONS if row.writes and not row.notes}
    assert without == {
        "add_cosignatures",
        "adopt_policy",
        "append_calibration",
        "archive_session",
        "batch",
        "cancel_experiment",
        "create_space",
        "create_token",
        "hook_event",
        "import_ledger",
        "revoke_token",
        "sign_checkpoint",
        "store_calibration",
        "store_content",
        "unarchive_session",
    }


def test_notes_stand_in_the_record_whatever_came_of_the_command() -> None:
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        agent = house.agent
        session = agent.declare_session(["h1", "h2"], ONTOLOGY, notes="one").session_id
        eliminate(house, session, notes="two")
        refused(Code.INVALID_HYPOTHESIS_ID, lambda: eliminate(house, session, eliminated=["x"], notes="3"))
        waiting = agent.submit_claims(session, bundle(claim("DELETE")), notes="four")
        assert waiting.approval_id is not None
        house.ann.reject(waiting, notes="five")
        agent.propose(session, [delta(goal__x=1)], notes="six")
        issued = house.root.issue_capability(
            session, agent_id=AGENT.id, scope={"tools": ["*"]}, notes="seven"
        )
        house.root.revoke_capability(issued.capability.capability_id, notes="eight")
        given = house.ann.give_grant(
            session, principal=AGENT.id, tiers=["MODIFY"], expires_in_seconds=60, notes="nine"
        )
        house.ann.revoke_grant(session, given.grant.grant_id, notes="ten")
        house.root.merge(session, agent.export(session), notes="eleven")
        agent.request_termination(session, notes=TOLD)
        told = ["one", "two", "3", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", TOLD]
        assert notes_of(house, session) == told
        assert [entry.get("notes") for entry in agent.audit_trace(session).events] == told
        house.check(session)
        export = agent.export(session)
        assert verify_with_node(export).code == 0


def test_a_record_without_notes_is_as_it_always_was() -> None:
    with World() as house:
        session = house.session()
        assert b'"notes"' not in house.entries(session)[0].record


@pytest.mark.parametrize(
    ("notes", "code"),
    [("it follows from shyp-7", Code.HYPOTHESIS_IS_NOT_EVIDENCE), (MARKED, Code.SPECULATIVE_EVIDENCE)],
)
def test_notes_go_through_the_door_like_any_text(notes: str, code: Code) -> None:
    with World() as house:
        session = house.session()
        error = refused(code, lambda: eliminate(house, session, notes=notes))
        assert error.details is not None
        assert str(error.details["path"]).startswith("$.notes")
        assert notes_of(house, session) == [None, notes], "the refusal is on record, with what was refused"
        refused(code, lambda: eliminate(house, session, notes=notes))
        assert house.state(session).beliefs.eliminations == 0
        house.check(session)


ACTS: dict[str, Callable[[ToolWorld, str, str], Any]] = {
    "a declaration": lambda house, _, notes: house.agent.declare_session(["a"], ONTOLOGY, notes=notes),
    "a proposal": lambda house, s, notes: house.agent.propose(s, [delta(goal__x=1)], notes=notes),
    "a claim": lambda house, s, notes: house.agent.submit_claims(s, bundle(), notes=notes),
    "a memory": lambda house, s, notes: house.agent.remember(
        s,
        {"memory_id": "m", "kind": "fact", "value": 1, "confidence": 0.9, "source_chunk_ids": ["c"]},
        notes=notes,
    ),
    "a merge": lambda house, s, notes: house.root.merge(s, house.agent.export(s), notes=notes),
}


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("notes", ["see shyp-7", MARKED])
def test_no_command_is_an_exception(act: str, notes: str) -> None:
    with ToolWorld(policy=rules(all=ALLOW_ALL)) as house:
        session = house.session()
        with pytest.raises(Exception, match=r"HYPOTHESIS_IS_NOT_EVIDENCE|SPECULATIVE_") as stopped:
            ACTS[act](house, session, notes)
        assert stopped.value.details["path"].startswith("$.notes")  # type: ignore[attr-defined]


def test_who_speculates_may_say_so() -> None:
    with World() as house:
        session = house.session()
        house.agent.speculate(
            session, claim_id="heat", hypotheses=[{"statement": "the fan stopped"}], notes="after shyp-7"
        )
        assert notes_of(house, session) == [None, "after shyp-7"]
        house.check(session)


def test_a_retry_brings_the_same_notes() -> None:
    with World() as house:
        session = house.session()
        first = eliminate(house, session, notes="one", idempotency_key="k")
        assert eliminate(house, session, notes="one", idempotency_key="k") == first
        for other in ("two", None):
            refused(
                Code.CONFLICT,
                lambda other=other: eliminate(house, session, notes=other, idempotency_key="k"),  # type: ignore[misc]
            )
        assert notes_of(house, session) == [None, "one"]


def test_notes_are_bounded_and_are_text() -> None:
    with World() as house:
        session = house.session()
        eliminate(house, session, notes="\U0001f642" * MAX_NOTES)
        for bad in ("", "x" * (MAX_NOTES + 1), "\ud800"):
            error = refused(
                Code.INVALID_REQUEST,
                lambda bad=bad: eliminate(house, session, notes=bad),  # type: ignore[misc]
            )
            assert error.details == {"path": "Audit-Notes"}
        assert len(house.entries(session)) == 2


def test_what_reads_and_what_writes_to_no_session_refuses_notes() -> None:
    with World() as house:
        row = BeliefRows.list_sessions
        error = refused(Code.INVALID_REQUEST, lambda: house.agent._send(Request(row, notes="n")))
        assert "does not heed Audit-Notes" in error.message


def test_forged_notes_do_not_verify() -> None:
    with World() as house:
        session = house.session()
        eliminate(house, session, notes="one")
        export = house.agent.export(session)
    header, entries = parts(export)
    changed = joined(header, edited(entries, 2, lambda entry: {**entry, "notes": "two"}))
    assert verify_with_node(changed).text == "bad event 2: its hash does not match its bytes"
    for notes in ("", "x" * (MAX_NOTES + 1), "see shyp-7"):
        forged = with_notes(header, entries, notes)
        assert refused_on_import(forged)
        if "shyp" not in notes:  # what is decided again is decided by the first language only
            told = "bad event 2: its notes are no text of fitting length"
            assert verify_with_node(forged).text == told


def with_notes(header: Any, entries: Any, notes: str) -> bytes:
    """The ledger with other notes on its second event, and all hashes made to fit."""
    return joined(*relinked(header, edited(entries, 2, lambda entry: {**entry, "notes": notes}), 2))


def refused_on_import(ledger: bytes) -> BeliefdError:
    with World() as elsewhere:
        return refused(Code.LEDGER_BROKEN, lambda: elsewhere.import_ledger(ledger))


HEADERS = {
    "plain words": (b"plain words", "plain words"),
    "percent": (b"100%25 sure", "100% sure"),
    "encoded": (b"Gr%C3%BC%C3%9Fe%0A", "Grüße\n"),
    "raw UTF-8": ("Grüße".encode(), "Grüße"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_holds_utf_8_as_it_is_or_percent_encoded(name: str) -> None:
    sent, told = HEADERS[name]
    with World() as house:
        session = house.session()
        answered = post(house, f"/v1/sessions/{session}/conclusions", {"conclusion_id": "c"}, sent)
        assert answered.status_code == 200, answered.text
        assert notes_of(house, session) == [None, told]


@pytest.mark.parametrize("sent", [b"a\tb", b"a b", b"%09", b"x"])
def test_what_is_taken_is_what_the_document_says(sent: bytes) -> None:
    assert re.search(NOTES_PATTERN, sent.decode())
    with World() as house:
        path = f"/v1/sessions/{house.session()}/conclusions"
        assert post(house, path, {"conclusion_id": "c"}, sent).status_code == 200


@pytest.mark.parametrize("sent", [b"%ff", b"100%", b"5%zz", b"", b"Gr\xfc\xdfe", b"x" * (MAX_NOTES + 1)])
def test_a_header_that_is_no_text_is_refused(sent: bytes) -> None:
    with World() as house:
        for path, body in (
            ("/v1/sessions", {"ontology": ONTOLOGY_JSON, "hypotheses": ["a"]}),
            (f"/v1/sessions/{house.session()}/conclusions", {"conclusion_id": "c"}),
        ):
            answered = post(house, path, body, sent)
            assert answered.status_code == 400
            assert answered.json()["error"]["details"] == {"path": "Audit-Notes"}


def post(house: World, path: str, body: dict[str, Any], notes: bytes) -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(create_app(house.runtime, close_runtime=False))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            return await http.post(path, json=body, headers=[(b"Audit-Notes", notes)])

    return house.run(send)


def test_the_command_line_writes_and_shows_them(tmp_path: Any) -> None:
    data = tmp_path / "data"
    session = answer("session", "declare", "a", "b", "--notes", "opened by hand", "--data", data)[
        "session_id"
    ]
    command = ("session", "eliminate", session, "a", "--source", "s", "--observation", "o")
    answer(*command, "--notes", TOLD, "--data", data)
    events = answer("audit", "show", session, "--data", data)["events"]
    assert [entry["notes"] for entry in events] == ["opened by hand", TOLD]
    first, second = beliefd("audit", "show", session, "--data", data).stdout.splitlines()
    assert first.endswith("notes: opened by hand")
    assert "Grüße \U0001f642\\x0a\\x1b[2J" in second, "what a terminal would obey is shown, not sent"
