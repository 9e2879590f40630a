"""Signing in at a real server, with tokens of an identity provider that somebody else wrote."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from beliefd.kernel.errors import Code
from tests.conformance.node import node
from tests.http.calls import declare, eliminate, error_of
from tests.support.issuer import Issuer, settings
from tests.support.npm import npm_package
from tests.support.server import ServerProcess, server_process

PEER = """
import { createInterface } from "node:readline";
import { OAuth2Server } from "oauth2-mock-server";
const server = new OAuth2Server();
await server.issuer.keys.generate("RS256");
await server.start(0, "127.0.0.1");
server.issuer.url = `http://127.0.0.1:${server.address().port}`;
console.log(server.issuer.url);
for await (const line of createInterface({ input: process.stdin })) {
  const claims = JSON.parse(line);
  if (claims.rotate) await server.issuer.keys.generate("RS256");
  const scopesOrTransform = (_, payload) => Object.assign(payload, claims);
  console.log(await server.issuer.buildToken({ scopesOrTransform }));
}
"""


class Peer:
    """oauth2-mock-server: its discovery document, keys and tokens owe nothing to us."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin: IO[str] = process.stdin
        self._stdout: IO[str] = process.stdout
        self.url = self._stdout.readline().strip()

    def token(self, **claims: Any) -> str:
        self._stdin.write(json.dumps({"aud": "beliefd", "sub": "ann", "groups": ["sre"], **claims}) + "\n")
        self._stdin.flush()
        return self._stdout.readline().strip()


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    folder = npm_package("oauth2-mock-server", "8.2.3")
    script = folder / "peer.mjs"
    script.write_text(PEER)
    process = subprocess.Popen(
        [node(), str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
    )
    yield Peer(process)
    process.kill()
    process.wait()


@pytest.fixture(scope="module")
def signed_in(peer: Peer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("signin")
    with pytest.MonkeyPatch.context() as patch:
        file = settings(Issuer(peer.url), folder / "sign-in.json", discover=True)
        patch.setenv("BELIEFD_SIGN_IN", str(file))
        with server_process(folder / "data") as process:
            yield process


def client(server: ServerProcess, token: str | None) -> httpx.Client:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.Client(base_url=server.url, headers=headers, verify=False, timeout=60)


def test_a_person_signs_in_and_stands_in_the_ledger(signed_in: ServerProcess, peer: Peer) -> None:
    with client(signed_in, peer.token(groups=["admins"])) as http:
        session_id = declare(http)
        eliminate(http, session_id, "a")  # the second request takes the short way
        actors = [entry["actor"] for entry in http.get(f"/v1/sessions/{session_id}/audit").json()["events"]]
    ann = {"id": "human://corp/ann", "role": "admin", "tier": "PRIVILEGE", "owner": "ann"}
    assert actors == [ann, ann]


def test_nobody_comes_in_without(signed_in: ServerProcess, peer: Peer) -> None:
    for token in (None, "bd_000000000000_x", peer.token(aud="other"), peer.token(exp=1), "a.b.c"):
        with client(signed_in, token) as http:
            answer = http.get("/v1/sessions")
            error_of(answer, 401, Code.UNAUTHORIZED)
            assert answer.headers["www-authenticate"].startswith("Bearer")
    with client(signed_in, peer.token(groups=["guests"])) as http:
        error_of(http.get("/v1/sessions"), 403, Code.FORBIDDEN)


def test_a_token_ends_when_it_says(signed_in: ServerProcess, peer: Peer) -> None:
    with client(signed_in, peer.token(exp=int(time.time()) - 28)) as http:  # 30 seconds of leeway
        while http.get("/v1/sessions").status_code == 200:
            time.sleep(0.2)
        error_of(http.get("/v1/sessions"), 401, Code.UNAUTHORIZED)


def test_a_new_key_of_the_issuer_is_found(signed_in: ServerProcess, peer: Peer) -> None:
    token, deadline = peer.token(rotate=True), time.monotonic() + 60
    with client(signed_in, token) as http:
        while http.get("/v1/sessions").status_code != 200:  # keys are asked for at most every ten seconds
            assert time.monotonic() < deadline
            time.sleep(0.5)


def test_a_file_that_cannot_be_used_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BELIEFD_SIGN_IN", str(tmp_path / "none.json"))
    with pytest.raises(RuntimeError, match="cannot read"), server_process(tmp_path / "data"):
        pass
