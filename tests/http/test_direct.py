"""Small verbs are answered directly, without the application; nobody can tell from the answer."""

import json
import re
from unittest.mock import Mock

import httpx
import pytest

from beliefd.http import direct
from beliefd.http.direct import Verbs
from beliefd.http.draining import Draining
from beliefd.http.routing import Routes
from beliefd.kernel.policy import Policy
from beliefd.protocol.claims import BUNDLE
from beliefd.protocol.operations import OPERATIONS
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward.call import Caller
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.steward.handlers.beliefs import VERBS
from beliefd.steward.handlers.short_ways import HANDLED, SHORT_WAYS
from tests.http.calls import ELIMINATE, declare
from tests.http.conftest import Tokens
from tests.http.raw import Raw, connected
from tests.support.server import ServerProcess

UUID = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
DIGEST = re.compile(rb"(?<=\"content_hash\":\")[0-9a-f]{64}")
TIME = re.compile(rb"20[0-9-]{8}T[0-9:.]+Z")
BODY = json.dumps(ELIMINATE).encode()
CLAIMS = json.dumps({**BUNDLE, "id": "b"}).encode()
SHORT = json.dumps({**BUNDLE, "id": "b"}, separators=(",", ":")).encode()
PERMIT = json.dumps(
    {
        "provenance": {"source": "agent"},
        "execute": "caller",
        "candidates": [{"kind": "tool_call", "tool_id": "Bash", "args": {"command": "git status"}}],
    }
).encode()
CASES: dict[str, tuple[str, bytes, dict[str, str]]] = {
    "applied": ("eliminate", BODY, {}),
    "with a key": ("eliminate", BODY, {"Idempotency-Key": "k"}),
    "a key that is none": ("eliminate", BODY, {"Idempotency-Key": "\x7f"}),
    "refused": ("eliminate", BODY.replace(b'"a"', b'"unheard of"'), {}),
    "a missing field": ("eliminate", b"{}", {}),
    "no JSON": ("eliminate", b"{", {}),
    "no body": ("eliminate", b"", {}),
    "another type": ("eliminate", BODY, {"Content-Type": "text/plain"}),
    "another site": ("eliminate", BODY, {"Origin": "http://elsewhere.example"}),
    "a name of elsewhere": ("eliminate", BODY, {"Host": "elsewhere.example"}),
    "a header twice": ("eliminate", BODY, {"host": "127.0.0.1"}),
    "a token nobody made": ("eliminate", BODY, {"Authorization": "Bearer bd_x_y"}),
    "no such obligation": ("obligations/o/exit", b"{}", {}),
    "a conclusion": ("conclusions", b'{"conclusion_id": "c"}', {}),
    "the end": ("terminate", b"{}", {}),
    "an obligation": ("obligations", b'{"obligation_id": "o", "min_total_eliminations": 1}', {}),
    "too large to be answered directly": ("eliminate", BODY[:-2] + b'"' + b"x" * 40_000 + b'": 1}}', {}),
    "the connection ends": ("eliminate", BODY, {"Connection": "close"}),
    "claims": ("claims", CLAIMS, {}),
    "claims with a key": ("claims", CLAIMS, {"Idempotency-Key": "k"}),
    "claims in the other spelling": ("claims", CLAIMS.replace(b"risk_tier", b"risk-tier"), {}),
    "claims with raw answers": ("claims", CLAIMS.replace(b'"value"', b'"samples": ["a", "b"], "value"'), {}),
    "claims without white space": ("claims", SHORT, {}),
    "such claims with a key": ("claims", SHORT, {"Idempotency-Key": "k"}),
    "such claims with a repeated name": ("claims", SHORT.replace(b'"risk', b'"claim_type":"FACT","risk'), {}),
    "such claims with another number": ("claims", SHORT.replace(b"0.12", b"1.0"), {}),
    "such claims with too large a number": ("claims", SHORT.replace(b"0.12", b"1.5"), {}),
    "such claims of somebody else": ("claims", SHORT.replace(b"{", b'{"origin_agent":"agent://x",', 1), {}),
    "such claims that rest on an idea": ("claims", SHORT.replace(b"terminate", b"shyp-1"), {}),
    "such claims with half a character": ("claims", SHORT.replace(b"terminate", b"\\ud800"), {}),
    "claims of another site": ("claims", CLAIMS, {"Origin": "http://elsewhere.example"}),
    "claims that rest on an idea": ("claims", CLAIMS.replace(b"terminate", b"shyp-1"), {}),
    "claims without claims": ("claims", b'{"origin_agent": "agent://x"}', {}),
    "claims too large to be answered directly": ("claims", CLAIMS[:-1] + b" " * 40_000 + b"}", {}),
    "a permit": ("proposals", PERMIT, {}),
    "a permit with a key": ("proposals", PERMIT, {"Idempotency-Key": "k"}),
    "a permit for nothing": ("proposals", b'{"execute": "caller"}', {}),
    "a permit for an idea": ("proposals", PERMIT.replace(b"git status", b"shyp-1"), {}),
    "a permit of another site": ("proposals", PERMIT, {"Origin": "http://elsewhere.example"}),
    "a proposal that the server runs": ("proposals", PERMIT.replace(b'"caller"', b'"server"'), {}),
    "an outcome of no call": ("calls/c/outcome", b'{"status": "ok"}', {}),
    "an outcome that is none": ("calls/c/outcome", b"[]", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_verbs_answered_directly_get_the_answer_of_the_application(
    case: str, server: ServerProcess, http: httpx.Client
) -> None:
    verb, body, headers = CASES[case]
    if case.endswith("with a key"):
        headers = {"Idempotency-Key": declare(http)}  # any text that no other test has used

    def asked(query: str) -> Raw:
        with connected(server) as connection:
            connection.request("POST", f"/v1/sessions/{declare(http)}/{verb}{query}", body, headers)
            return connection.answer()

    directly = asked("")
    if case.endswith("with a key"):
        headers = {"Idempotency-Key": declare(http)}
    assert masked(directly) == masked(asked("?"))  # a query, even an empty one, goes to the application


def masked(answer: Raw) -> tuple[int, dict[str, str], bytes]:
    headers = {name: UUID.sub(b"-", value.encode()).decode() for name, value in answer.headers.items()}
    return (
        answer.status,
        {**headers, "date": ""},
        TIME.sub(b"-", DIGEST.sub(b"-", UUID.sub(b"-", answer.body))),
    )


def test_tokens_count_for_verbs_answered_directly(guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    with httpx.Client(base_url=server.url, verify=False) as http:
        for role, token in tokens.items():
            http.headers["Authorization"] = f"Bearer {token}"
            session_id = declare(http)
            assert http.post(f"/v1/sessions/{session_id}/eliminate", json=ELIMINATE).status_code == 200
            [_, event] = http.get(f"/v1/sessions/{session_id}/audit").json()["events"]
            assert event["actor"]["role"] == role
            http.headers["Authorization"] = f"Bearer {token}x"
            assert http.post(f"/v1/sessions/{session_id}/eliminate", json=ELIMINATE).status_code == 401


def test_requests_in_one_packet_are_answered_in_their_order(
    server: ServerProcess, http: httpx.Client
) -> None:
    path = f"/v1/sessions/{declare(http)}"
    head = f"Host: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
    post = f"POST {path}/eliminate HTTP/1.1\r\n{head}".encode() + BODY
    get = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    with connected(server) as connection:
        connection.send(post + get + post + post + get)
        answers = [connection.answer().json for _ in range(5)]
    assert [answer.get("snapshot", answer)["seq"] for answer in answers] == [2, 2, 3, 4, 4]


def test_a_body_may_come_byte_by_byte(server: ServerProcess, http: httpx.Client) -> None:
    with connected(server) as connection:
        for _ in range(2):
            connection.request(
                "POST", f"/v1/sessions/{declare(http)}/eliminate", b"", {"Content-Length": str(len(BODY))}
            )
            for byte in BODY:
                connection.send(bytes([byte]))
            assert connection.answer().status == 200


def test_a_caller_that_leaves_at_once_has_still_said_it(server: ServerProcess, http: httpx.Client) -> None:
    session_id = declare(http)
    with connected(server) as connection:
        connection.request("POST", f"/v1/sessions/{session_id}/eliminate", BODY)
    for _ in range(500):
        if http.get(f"/v1/sessions/{session_id}").json()["seq"] == 2:
            return
    pytest.fail("the elimination was lost with its caller")


def test_claims_and_permits_are_among_what_is_answered_directly() -> None:
    assert {"submit_claims", *VERBS} == set(SHORT_WAYS)
    assert set(HANDLED) == {"propose", "report_outcome"}


def test_a_bundle_without_white_space_is_made_of_its_bytes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    surface, parsed = Mock(), list[bytes]()
    surface.routes, surface.draining = Routes(OPERATIONS), Draining()
    surface.in_force.policy = Policy()
    monkeypatch.setattr(direct, "known_caller", lambda *_: Caller(LOCAL_AGENT, EVERYTHING))

    def noted(body: bytes) -> object:
        parsed.append(body)
        return json.loads(body)

    monkeypatch.setattr(direct, "parse_object", noted)
    verbs = Verbs(surface)
    verb = verbs.find(b"/v1/sessions/s/claims")
    assert verb is not None
    for body in (SHORT, CLAIMS):
        verbs.begin(verb, [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")], body)
    assert parsed == [CLAIMS]
    short, spaced = (call.args[1] for call in surface.submit.call_args_list)
    assert short == spaced
    assert short.bundle.origin_agent == LOCAL_AGENT.id


def test_only_a_permit_is_asked_for_without_the_application(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proposal whose tools the server runs may take long: the application looks after what is under way."""
    surface = Mock()
    begun: list[str] = []
    surface.routes, surface.draining = Routes(OPERATIONS), Draining()
    surface.runtime.background.start = begun.append
    monkeypatch.setattr(direct, "known_caller", lambda *_: Caller(LOCAL_AGENT, EVERYTHING))
    monkeypatch.setattr(Verbs, "_carried_out", lambda *_: "carried out")
    verbs = Verbs(surface)
    verb = verbs.find(b"/v1/sessions/s/proposals")
    assert verb is not None
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    assert verbs.begin(verb, headers, PERMIT.replace(b'"caller"', b'"server"')) is None
    surface.count_request.assert_not_called()  # the application counts it
    verbs.begin(verb, headers, PERMIT)
    surface.count_request.assert_called_once()
    assert begun == ["carried out"]
