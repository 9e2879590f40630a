"""A person at the console, without a browser: pages are read, and forms sent as browsers send them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import httpx

from beliefd.console.app import Page, Seen, Visitor
from beliefd.console.asking import Asker, Server
from beliefd.console.questions import Questions
from beliefd.console.rendering import now, page
from beliefd.protocol.rights import EVERYTHING
from beliefd.steward.bootstrap import Runtime
from beliefd.steward.call import Caller
from beliefd.testing.world import ANN, ONTOLOGY, World
from tests.support.server import ServerProcess

OWN = {"Sec-Fetch-Site": "same-origin"}
LINK = re.compile(r"look and decide at (\S+)")
STATEMENT = "Delete the slots of <b>standby</b> \u202e<script>alert(1)</script>"


class Person:
    """Signed in, by a token or by the link that the server printed."""

    def __init__(self, server: ServerProcess, token: str | None = None) -> None:
        self.http = httpx.Client(base_url=server.url, verify=False, timeout=60)
        if token is None:
            found = LINK.search(server.output)
            assert found is not None
            self.signed_in = self.http.get(found[1])
        else:
            self.signed_in = self.http.post("/sign-in", data={"token": token}, headers=OWN)

    def read(self, path: str) -> str:
        found = self.http.get(path)
        assert found.status_code == 200, found.text
        return found.text

    def decide(self, approval_id: str, **fields: str) -> httpx.Response:
        shown = self.read(f"/inbox/{approval_id}")
        held = re.search(r'name="content_hash" value="([0-9a-f]+)"', shown)
        form = {"content_hash": held[1] if held else "", **fields}
        return self.http.post(f"/inbox/{approval_id}", data=form, headers=OWN)

    def edit(self, approval_id: str, **fields: str) -> httpx.Response:
        shown = self.read(f"/inbox/{approval_id}/edit")
        held = re.search(r'name="content_hash" value="([0-9a-f]+)"', shown)
        form = {"content_hash": held[1] if held else "", **fields}
        return self.http.post(f"/inbox/{approval_id}/edit", data=form, headers=OWN)


def asked(http: httpx.Client, statement: str = STATEMENT, tier: str = "DELETE") -> tuple[str, str]:
    """The session and the inbox item of a decision that an agent proposes."""
    session_id = session_of(http)
    return session_id, submitted(http, session_id, claim_of(statement, tier))


def claim_of(statement: str, tier: str = "DELETE", **more: Any) -> dict[str, Any]:
    return {
        "statement": statement,
        "claim_type": "DECISION",
        "uncertainty": {"method": "confidence_score", "value": 0.12},
        "risk_tier": tier,
        "if_wrong_cost": "the standby must be <i>rebuilt</i>",
        **more,
    }


def submitted(http: httpx.Client, session_id: str, *claims: dict[str, Any]) -> str:
    """The inbox item of a bundle."""
    answer = http.post(f"/v1/sessions/{session_id}/claims", json={"claims": list(claims)}).json()
    assert answer["approval_id"], answer
    found: str = answer["approval_id"]
    return found


def session_of(http: httpx.Client, hypotheses: Sequence[str] = ("a", "b", "c")) -> str:
    body: dict[str, Any] = {"ontology": _plain(ONTOLOGY), "hypotheses": list(hypotheses)}
    found: str = http.post("/v1/sessions", json=body).json()["session_id"]
    return found


def _plain(value: object) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


class Served:
    """What a server is to the console, as far as pages without a feed need it."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime


EVERYBODY = Caller(ANN, EVERYTHING)


def seen(
    house: World,
    made: Page,
    path: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    caller: Caller = EVERYBODY,
    questions: Questions | None = None,
) -> Seen:
    """What a page is made of, without a server."""
    asker = Asker(cast(Server, Served(house.runtime)), caller)
    visitor = Visitor(asker, dict(path or {}), dict(query or {}), {}, questions or Questions())

    async def visited() -> Seen:
        return await made(visitor)

    return house.run(visited)


def shown(found: Seen) -> str:
    """The page itself."""
    return page(found.template, {**found.values, "who": None, "now": now(), "places": []}).decode()
