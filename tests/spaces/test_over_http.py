"""Spaces over HTTP: tokens with rights, by the short way and by the long one, and what is recorded."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.steward.credentials import create_token
from beliefd.stores.base import SpaceRow
from beliefd.stores.sqlite import SqliteStore
from beliefd.testing.frozen import Clock
from beliefd.testing.world import NOW, World
from tests.http.calls import declare, eliminate, error_of
from tests.support.server import server_process

TOKENS = {
    "root": (Role.ADMIN, ()),
    "plain": (Role.AGENT, ()),
    "lab": (Role.AGENT, ("lab=propose",)),
    "reader": (Role.AGENT, ("lab=read", "default=read")),
    "boss": (Role.ADMIN, ("lab=admin",)),
    "metrics": (Role.TOOL, ("*=read",)),
}
Clients = dict[str, httpx.Client]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    data = tmp_path_factory.mktemp("spaces")
    secrets = asyncio.run(_prepared(data / "beliefd.db"))
    with server_process(data) as process:
        made = {
            name: httpx.Client(
                base_url=process.url, verify=False, headers={"Authorization": f"Bearer {secret}"}
            )
            for name, secret in secrets.items()
        }
        yield made
        for client in made.values():
            client.close()


async def _prepared(path: Path) -> dict[str, str]:
    store = await SqliteStore.open(path)
    await store.add_space(SpaceRow("lab", NOW, "human://root"))
    made = {
        name: await create_token(store, name, role, spaces=spaces) for name, (role, spaces) in TOKENS.items()
    }
    await store.close()
    return made


def test_a_session_begins_where_its_caller_is_at_home(clients: Clients) -> None:
    in_lab, plain = declare(clients["lab"]), declare(clients["plain"])
    for name, seen in (
        ("root", {in_lab, plain}),
        ("lab", {in_lab}),
        ("boss", {in_lab}),
        ("plain", {plain}),
        ("reader", {in_lab, plain}),
    ):
        listed = clients[name].get("/v1/sessions?limit=500").json()["sessions"]
        assert {one["session_id"] for one in listed} & {in_lab, plain} == seen
    listed = clients["root"].get("/v1/sessions?limit=500&space=lab").json()["sessions"]
    assert in_lab in {one["session_id"] for one in listed}
    assert plain not in {one["session_id"] for one in listed}
    assert clients["plain"].get("/v1/sessions?space=lab").json()["sessions"] == []


def test_the_ledger_says_where_a_session_began_unless_it_is_the_default_space(clients: Clients) -> None:
    root = clients["root"]
    for sent, recorded in (("lab", {"space": "lab"}), ("default", {})):
        session_id = declare(root, space=sent)
        (first,) = root.get(f"/v1/sessions/{session_id}/audit").json()["events"]
        assert {name: value for name, value in first["payload"].items() if name == "space"} == recorded
        assert root.get(f"/v1/sessions/{session_id}/audit/verify").json()["ok"]


def test_rights_hold_on_the_short_way_from_the_first_request_on(clients: Clients) -> None:
    """The first write to a session has its space looked up; those after it go the short way."""
    hidden, shared = declare(clients["lab"]), declare(clients["plain"])
    for _ in range(3):
        error_of(eliminate(clients["plain"], hidden, "a"), 404, Code.SESSION_NOT_FOUND)
        error_of(eliminate(clients["lab"], shared, "a"), 404, Code.SESSION_NOT_FOUND)
        for session_id in (hidden, shared):
            error_of(eliminate(clients["reader"], session_id, "a"), 403, Code.FORBIDDEN)
            assert clients["reader"].get(f"/v1/sessions/{session_id}").status_code == 200
        assert eliminate(clients["lab"], hidden, "b").status_code == 200
    events = clients["root"].get(f"/v1/sessions/{hidden}/audit").json()["events"]
    assert [one["actor"]["id"] for one in events] == ["agent://lab"] * 4


def test_content_is_for_the_space_it_was_brought_into(clients: Clients) -> None:
    lab, plain, root = clients["lab"], clients["plain"], clients["root"]
    media = {"Content-Type": "application/octet-stream"}
    name = lab.post("/v1/content", content=b"[1.0, 2.0]", headers=media).json()["sha256"]
    body = {"quantity": "x", "content": name, "pointer": ""}
    in_lab, elsewhere = declare(lab), declare(plain)
    assert lab.get(f"/v1/content/{name}").content == b"[1.0, 2.0]"
    error_of(plain.get(f"/v1/content/{name}"), 404, Code.CONTENT_NOT_FOUND)
    error_of(plain.get(f"/v1/content/{name}/about"), 404, Code.CONTENT_NOT_FOUND)
    assert lab.post(f"/v1/sessions/{in_lab}/observations", json=body).status_code == 201
    taken = plain.post(f"/v1/sessions/{elsewhere}/observations", json=body)
    assert taken.status_code >= 400, "nobody copies out of a space by naming a hash"
    assert "no content is stored under this hash" in taken.text
    again = root.post("/v1/content", params={"space": "default"}, content=b"[1.0, 2.0]", headers=media)
    assert again.json()["sha256"] == name
    brought = plain.get(f"/v1/content/{name}/about").json()["brought"]
    assert [one["id"] for one in brought] == ["human://root"], "who else has it is not told"
    assert plain.post(f"/v1/sessions/{elsewhere}/observations", json=body).status_code == 201


def test_an_administrator_of_a_space_makes_neither_spaces_nor_tokens(clients: Clients) -> None:
    boss, root = clients["boss"], clients["root"]
    asked = {"name": "new", "role": "agent", "spaces": {"lab": ["read"]}}
    error_of(boss.post("/v1/spaces", json={"name": "mine"}), 403, Code.FORBIDDEN)
    error_of(boss.post("/v1/tokens", json=asked), 403, Code.FORBIDDEN)
    error_of(boss.get("/v1/tokens"), 403, Code.FORBIDDEN)
    made = root.post("/v1/tokens", json=asked)
    assert made.status_code == 201
    token = made.json()["token"]
    assert token["spaces"] == {"lab": ["read"]}
    assert made.json()["secret"] not in root.get("/v1/tokens").text
    bearer = {"Authorization": f"Bearer {made.json()['secret']}"}
    with httpx.Client(base_url=root.base_url, verify=False, headers=bearer) as new:
        spaces = new.get("/v1/spaces").json()["spaces"]
        assert [(one["name"], one["rights"]) for one in spaces] == [("lab", ["read"])]
        assert root.delete(f"/v1/tokens/{token['token_id']}").json()["revoked_at"]
        error_of(new.get("/v1/spaces"), 401, Code.UNAUTHORIZED)
    error_of(root.delete(f"/v1/tokens/{token['token_id']}"), 404, Code.NOT_FOUND)


@pytest.mark.parametrize(
    ("role", "spaces", "says"),
    [
        ("agent", {"nowhere": ["read"]}, "no space `nowhere`"),
        ("agent", {"Lab": ["read"]}, "names no space"),
        ("agent", {"lab": ["approve"]}, "role `agent` cannot have `approve`"),
        ("approver", {"lab": ["admin"]}, "role `approver` cannot have `admin`"),
        ("admin", {"lab": ["propose"]}, "role `admin` has `read` or `admin`"),
        ("agent", {"lab": []}, "are no rights"),
    ],
)
def test_rights_that_make_no_sense_are_refused(
    clients: Clients, role: str, spaces: dict[str, list[str]], says: str
) -> None:
    before = clients["root"].get("/v1/tokens").json()
    answer = clients["root"].post("/v1/tokens", json={"name": "x", "role": role, "spaces": spaces})
    assert says in error_of(answer, 400, Code.INVALID_REQUEST)["message"]
    assert clients["root"].get("/v1/tokens").json() == before


def test_metrics_are_for_whoever_reads_every_space(clients: Clients) -> None:
    for name, status in (("root", 200), ("metrics", 200), ("boss", 403), ("lab", 403), ("plain", 403)):
        assert clients[name].get("/metrics").status_code == status
    error_of(clients["metrics"].post("/v1/sessions/x/eliminate", json={}), 404, Code.SESSION_NOT_FOUND)


def test_spaces_are_made_once_and_default_is_there(clients: Clients) -> None:
    root = clients["root"]
    assert root.post("/v1/spaces", json={"name": "ops"}).status_code == 201
    for name in ("ops", "default"):
        error_of(root.post("/v1/spaces", json={"name": name}), 409, Code.CONFLICT)
    for name in ("", "Ops", "a b", "*", "-x", "x" * 65):
        error_of(root.post("/v1/spaces", json={"name": name}), 400, Code.INVALID_REQUEST)
    assert [one["name"] for one in root.get("/v1/spaces").json()["spaces"]] == ["default", "lab", "ops"]
    assert [one["name"] for one in clients["plain"].get("/v1/spaces").json()["spaces"]] == ["default"]


def test_an_import_lands_where_the_administrator_says(clients: Clients) -> None:
    root, media = clients["root"], {"Content-Type": "application/x-ndjson"}
    with World(clock=Clock(lane=7)) as elsewhere:
        session_id = elsewhere.session()
        ledger = elsewhere.export(session_id)
    error_of(
        clients["boss"].post("/v1/ledgers?space=lab", content=ledger, headers=media), 403, Code.FORBIDDEN
    )
    assert root.post("/v1/ledgers?space=lab", content=ledger, headers=media).status_code == 201
    assert clients["lab"].get(f"/v1/sessions/{session_id}").status_code == 200
    error_of(clients["plain"].get(f"/v1/sessions/{session_id}"), 404, Code.SESSION_NOT_FOUND)
