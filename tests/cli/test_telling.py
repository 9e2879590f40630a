"""`beliefd inbox tell`: people hear of the inbox in a chat and by mail; logs say it in lines."""

import json
import logging
from pathlib import Path

import httpx
import pytest

import beliefd as library
from beliefd import BeliefdError
from beliefd.cli.logs import Lines
from beliefd.cli.telling import mail_of, message_of
from beliefd.testing.world import AGENT, ONTOLOGY, World, policy
from tests.cli.runner import answer, beliefd, process
from tests.cli.test_claims import bundle
from tests.support.mail import certificate, mail_server
from tests.support.receiver import Receiver, until
from tests.support.server import ServerProcess

SECONDS = 120


@pytest.fixture
def waiting(data: Path, session: str) -> str:
    with library.open(data / "beliefd.db", principal=AGENT) as embedded:
        return str(embedded.submit_claims(session, bundle("DELETE", "drop <carts> & all")).approval_id)


def test_a_chat_and_a_mailbox_are_told_what_waits_and_what_became_of_it(
    data: Path, session: str, waiting: str
) -> None:
    chat = Receiver()
    with mail_server() as mails:
        to = ("--chat", chat.url, "--mail", mails.url, "--to", "ann@example.org", "--to", "bob@example.org")
        place = ("--console", "https://desk.example.org/")
        with process("inbox", "tell", *to, *place, "--waiting", "--count", "2", "--data", data) as telling:
            assert mails.arrived.acquire(timeout=SECONDS)
            answer("inbox", "reject", waiting, "--yes", "--reason", "no", "--data", data)
            assert mails.arrived.acquire(timeout=SECONDS)
            assert telling.wait(SECONDS) == 0
    chat.close()
    first, second = (json.loads(body)["text"].splitlines() for _, body in chat.heard)
    assert first[0] == "DELETE: a bundle waits for a person"
    assert first[1] == f"proposed by {AGENT.id} in session {session}"
    assert first[-1] == f"https://desk.example.org/inbox/{waiting}"
    assert second[0] == "DELETE: a bundle is rejected by operator://local"
    asked, ended = mails.mails
    assert (asked["Subject"], asked["To"]) == (f"[beliefd] {first[0]}", "ann@example.org, bob@example.org")
    assert ended["In-Reply-To"] == asked["Message-ID"]
    assert "carts" not in asked.as_string() + str(chat.heard), "what agents write stays here"


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_password_goes_to_a_mailbox_in_tls_alone(
    data: Path, waiting: str, tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    for key in (trusted, None) if scheme == "smtp" else (trusted,):
        with mail_server(scheme, key) as mails:
            url = mails.url.replace("://", "://ann:s%40cret@")
            to = ("--mail", url, "--to", "ann@example.org", "--waiting", "--count", "1")
            went = beliefd("inbox", "tell", *to, "--data", data)
        told = ("\0ann\0s@cret", True)
        assert mails.logins == ([told] if key else []), "nothing is said in the clear"
        assert len(mails.mails) == len(mails.logins)
        assert ("takes the password only in the clear" in went.stderr) == (key is None), went.stderr


def test_that_nobody_decided_in_time_answers_the_mail_that_asked() -> None:
    with World(policy=policy(approvals={"expires_seconds": 3600})) as house:
        name = str(house.agent.submit_claims(house.session(), bundle("DELETE", "drop it")).approval_id)
        asked = mail_of(message_of(house.show_approval(name), None), "beliefd", ("ann@example.org",))
        house.clock.advance(3600)
        house.expire()
        lapsed = mail_of(message_of(house.show_approval(name), None), "beliefd", ("ann@example.org",))
    assert lapsed["Subject"] == "[beliefd] DELETE: a bundle was not decided in time"
    assert lapsed["In-Reply-To"] == asked["Message-ID"]


def test_where_to_is_asked_for(data: Path, waiting: str) -> None:
    at = ("--data", data)
    no_mail = ("--mail", "http://x", "--to", "a@b")
    for arguments in ((), ("--chat", "ftp://x"), ("--mail", "smtp://x"), no_mail):
        assert beliefd("inbox", "tell", *arguments, *at).exit_code == 2


def test_a_server_logs_a_line_per_request_and_per_change_of_the_inbox(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, options=("--log-format", "json", "--log-level", "info"))
    try:
        with server.client() as client:
            session = client.declare_session(["a", "b"], ONTOLOGY).session_id
            waits = client.submit_claims(session, bundle("DELETE", "drop\nit")).approval_id
            with pytest.raises(BeliefdError):
                client.eliminate(session, eliminated=["nowhere"], source_id="tool://x", observation_id="o")
        for place in ("/inbox/apr-1", "/static/console.css"):
            httpx.get(server.url + place)
        until(lambda: "approval.pending" in server.output and "GET /static/" in server.output)
        lines = [json.loads(line) for line in server.output.splitlines() if line.startswith("{")]
    finally:
        server.stop()
    answered = [one for one in lines if one["about"] == "requests"]
    pages = {"GET /inbox/{approval_id}": 303, "GET /static/{name}": 200}
    asked = {one["operation"]: one["status"] for one in answered}
    assert asked.items() >= pages.items(), "requests of the console, under the pattern of their path"
    assert {"declare_session", "submit_claims"} <= asked.keys()
    assert all(one["level"] == "info" and one["ms"] >= 0 for one in answered)
    (pending,) = [one for one in lines if one["about"] == "inbox"]
    assert (pending["message"], pending["approval_id"]) == ("approval.pending", waits)
    (refused,) = [one for one in lines if one["about"] == "decisions"]
    told = {name: refused[name] for name in ("message", "session_id", "seq", "verb", "actor", "code")}
    assert told == {
        "message": "refused",
        "session_id": session,
        "seq": 3,
        "verb": "ELIMINATE",
        "actor": "agent://local",
        "code": "INVALID_HYPOTHESIS_ID",
    }


@pytest.mark.parametrize(
    ("refused", "code", "tool"),
    [("call", "UNKNOWN_TOOL", "send"), ("claims", "REFUSE", None)],
)
def test_a_decision_that_lets_nothing_through_is_a_line_without_what_was_said(
    caplog: pytest.LogCaptureFixture, refused: str, code: str, tool: str | None
) -> None:
    caplog.set_level(logging.INFO, "beliefd.decisions")
    with World() as house:
        session = house.session()
        if refused == "call":
            call = {"kind": "tool_call", "tool_id": "send", "args": {"to": "secret"}}
            house.agent.propose(session, [call])
        else:
            (claim,) = bundle("READ_ONLY", "secret")["claims"]
            unproved = {"claims": [{**claim, "claim_type": "FACT"}]}
            house.agent.submit_claims(session, unproved)
    (line,) = [one for one in caplog.records if one.name == "beliefd.decisions"]
    fields = line.fields  # type: ignore[attr-defined]
    assert (fields["code"], fields.get("tool")) == (code, tool)
    assert "secret" not in str(fields)


def test_a_logged_line_is_one_line_whatever_is_in_it() -> None:
    record = logging.LogRecord("beliefd.http", logging.WARNING, "", 0, "a\nb\x1b[2J %s", ("\u202e",), None)
    record.fields = {"status": 503}
    for as_json in (True, False):
        line = Lines(as_json).format(record)
        assert "\n" not in line
        assert "\x1b" not in line
        assert "\u202e" not in line
        assert "503" in line
