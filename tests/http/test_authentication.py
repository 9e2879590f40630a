"""Who may speak: tokens where there are any, this machine's own programs where there are none."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.steward.credentials import create_token
from beliefd.steward.environment import now
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.world import ONTOLOGY_JSON
from tests.http.calls import LINES, declare, eliminate, error_of
from tests.http.conftest import Tokens
from tests.support.server import ServerProcess, server_process


def client(server: ServerProcess, token: str | None = None, **headers: str) -> httpx.Client:
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    return httpx.Client(base_url=server.url, headers=headers, verify=False, timeout=60)


def actors(http: httpx.Client, session_id: str) -> list[dict[str, Any]]:
    return [entry["actor"] for entry in http.get(f"/v1/sessions/{session_id}/audit").json()["events"]]


def test_without_tokens_everybody_here_is_the_local_agent(http: httpx.Client, session_id: str) -> None:
    eliminate(http, session_id, "a")
    local = {"id": "agent://local", "role": "agent", "tier": "PRIVILEGE"}
    assert actors(http, session_id) == [local, local]


def test_a_token_where_none_is_known_is_refused(server: ServerProcess) -> None:
    with client(server, "bd_000000000000_x") as stranger:
        error_of(stranger.get("/v1/sessions"), 401, Code.UNAUTHORIZED)


def test_each_token_speaks_under_its_own_name_and_role(guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    for role, token in tokens.items():
        with client(server, token) as http:
            actor = actors(http, declare(http))[0]
            scheme = "human" if role in (Role.APPROVER, Role.ADMIN) else role.value
            assert (actor["id"], actor["role"]) == (f"{scheme}://test-{role}", role.value)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer bd_",
        "Bearer bd__",
        "Bearer bd_000000000000_wrong",
        "Bearer {token}x",
        "Bearer {token} x",
        "bearer{token}",
        "Basic {token}",
        "{token}",
        "Bearer {id}",
        "Bearer \xe9",
        "Bearer " + "x" * 10_000,
    ],
)
def test_malformed_and_wrong_tokens_are_refused(header: str, guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    token = tokens[Role.ADMIN]
    given = header.format(token=token, id=token.rsplit("_", 1)[0]).encode("latin-1")
    answer = httpx.get(f"{server.url}/v1/sessions", headers={b"Authorization": given}, verify=False)
    error_of(answer, 401, Code.UNAUTHORIZED)


def test_the_scheme_is_case_insensitive(guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    header = {"Authorization": f"bEARER {tokens[Role.AGENT]}"}
    assert httpx.get(f"{server.url}/v1/sessions", headers=header, verify=False).status_code == 200


def test_a_role_in_the_body_counts_for_nothing(guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    with client(server, tokens[Role.AGENT], Role="admin") as agent:
        session_id = declare(agent, metadata={"role": "admin", "actor": {"role": "admin"}})
        body = {"context": {"force": True, "role": "admin", "principal": {"role": "admin"}}}
        answer = agent.post(f"/v1/sessions/{session_id}/terminate", json=body).json()
        assert answer["approved"] is False
        refused = agent.post(f"/v1/sessions/{session_id}/terminate", json={"role": "admin"})
        assert error_of(refused, 400, Code.INVALID_REQUEST)["details"]["path"] == "$.role"


def test_force_is_for_the_roles_that_policy_names(guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    force = {"context": {"force": True}}
    for role in Role:
        with client(server, tokens[role]) as http:
            session_id = declare(http)
            answer = http.post(f"/v1/sessions/{session_id}/terminate", json=force).json()
            assert answer["approved"] is (role in (Role.APPROVER, Role.ADMIN)), role
            assert f"`{role}`" in answer["reason"]


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_ledgers_are_taken_in_by_operators_only(role: Role, guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    with client(server, tokens[role]) as http:
        session_id = declare(http)
        ledger = http.get(f"/v1/sessions/{session_id}/audit/export").content
        before = len(actors(http, session_id))
        for path in ("/v1/ledgers", f"/v1/sessions/{session_id}/merge"):
            error_of(http.post(path, content=ledger, headers=LINES), 403, Code.FORBIDDEN)
        assert len(actors(http, session_id)) == before
    with client(server, tokens[Role.ADMIN]) as admin:
        merged = admin.post(f"/v1/sessions/{session_id}/merge", content=ledger, headers=LINES)
        assert merged.status_code == 200


def test_who_may_not_do_it_is_told_before_the_body_is_read(guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    with client(server, tokens[Role.AGENT]) as http:
        nonsense = http.post("/v1/ledgers", content=b"\xff", headers={"Content-Type": "image/png"})
        error_of(nonsense, 403, Code.FORBIDDEN)


def test_a_token_works_until_it_is_revoked(tmp_path: Path) -> None:
    async def change(revoke: str | None) -> str:
        store = await SqliteStore.open(tmp_path / "beliefd.db")
        try:
            if revoke is None:
                return await create_token(store, "passing", Role.AGENT)
            await store.revoke_token(revoke.split("_")[1], now())
            return revoke
        finally:
            await store.close()

    with server_process(tmp_path) as server:
        with client(server) as local:
            assert local.get("/v1/sessions").status_code == 200
        token = asyncio.run(change(None))
        with client(server, token) as http:
            assert http.get("/v1/sessions").status_code == 200
            asyncio.run(change(token))
            # The server looks at the tokens once a second.
            while http.get("/v1/sessions").status_code == 200:
                pass
            error_of(http.get("/v1/sessions"), 401, Code.UNAUTHORIZED)
        with client(server) as local:  # one token was made: from then on nobody is let in without
            error_of(local.get("/v1/sessions"), 401, Code.UNAUTHORIZED)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8642", "127.0.0.1.evil.example", "[", "[::1", "localhost:x", ""]
)
def test_a_name_that_is_not_loopback_is_refused_without_tokens(host: str, server: ServerProcess) -> None:
    with client(server, Host=host) as http:
        answer = http.post("/v1/sessions", json={"ontology": ONTOLOGY_JSON, "hypotheses": ["a"]})
        if host == "localhost:x":  # the name is what counts
            assert answer.status_code == 201
        else:
            assert error_of(answer, 403, Code.FORBIDDEN)["details"]["path"] == "Host"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/metrics"),
        ("GET", "/healthz"),
        ("GET", "/openapi.json"),
        ("GET", "/sign-in"),
        ("GET", "/sign-in?key=x"),
        ("GET", "/static/console.js"),
        ("GET", "/inbox"),
        ("POST", "/inbox/x"),
        ("GET", "/no/such/page"),
    ],
)
def test_no_page_is_answered_to_another_name_without_tokens(
    method: str, path: str, server: ServerProcess, guarded: tuple[ServerProcess, Tokens]
) -> None:
    own = {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"}
    with client(server, Host="evil.example") as http:
        answer = http.request(method, path, headers=own)
        assert error_of(answer, 403, Code.FORBIDDEN)["details"]["path"] == "Host"
    with client(guarded[0], Host="beliefd.example") as http:
        assert b"loopback" not in http.request(method, path).content


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:8642"])
def test_loopback_names_are_welcome_without_tokens(host: str, server: ServerProcess) -> None:
    with client(server, Host=host) as http:
        assert http.get("/v1/sessions").status_code == 200


def test_any_name_will_do_with_a_token(guarded: tuple[ServerProcess, Tokens]) -> None:
    server, tokens = guarded
    with client(server, tokens[Role.AGENT], Host="beliefd.example") as http:
        assert http.get("/v1/sessions").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://127.0.0.1"},  # another port is another site
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=lambda headers: "".join(headers.values()),
)
def test_pages_of_other_sites_are_refused_with_and_without_tokens(
    headers: dict[str, str], server: ServerProcess, guarded: tuple[ServerProcess, Tokens]
) -> None:
    secured, tokens = guarded
    for place, token in ((server, None), (secured, tokens[Role.ADMIN])):
        with client(place, token, **headers) as http:
            answer = http.post("/v1/sessions", json={"ontology": ONTOLOGY_JSON, "hypotheses": ["a"]})
            error_of(answer, 403, Code.FORBIDDEN)


def test_pages_of_the_server_itself_are_welcome(server: ServerProcess) -> None:
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    with client(server, **own) as http:
        declare(http)
