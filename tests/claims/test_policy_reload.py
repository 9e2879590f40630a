"""A policy comes into force whole or not at all: from a changed file, or from an admin over HTTP."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from beliefd.http.app import create_app
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Role
from beliefd.ledger.chain import policy_hash
from beliefd.policy import watch
from beliefd.policy.watch import watch_policy
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.credentials import create_token
from beliefd.steward.write.steward import Steward
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import World, policy
from tests.claims.support import bundle, claim

STRICT = "uncertainty:\n  explain_above: 0.1\n  defer_above: 0.2\n"


class Watched:
    """A policy file under watch; the watcher looks when it is told to."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.adopted: list[Policy] = []
        self._looks: asyncio.Queue[None] = asyncio.Queue()
        self._looked: asyncio.Queue[None] = asyncio.Queue()
        monkeypatch.setattr(watch, "asyncio", SimpleNamespace(sleep=self._sleep))
        self._task = asyncio.ensure_future(watch_policy(path, self._adopt))

    async def _adopt(self, policy: Policy) -> None:
        self.adopted.append(policy)

    async def _sleep(self, _: float) -> None:
        self._looked.put_nowait(None)
        await self._looks.get()

    async def begin(self) -> None:
        await self._looked.get()

    async def look(self) -> int:
        """Let the watcher look once; how many policies it has adopted by now."""
        self._looks.put_nowait(None)
        await self._looked.get()
        return len(self.adopted)

    def write(self, text: str) -> None:
        self.path.write_text(text)
        # File systems may count time in coarse steps; every write is later than the one before.
        self._moment = getattr(self, "_moment", 1_700_000_000) + 1
        os.utime(self.path, (self._moment, self._moment))

    def end(self) -> None:
        self._task.cancel()


def watching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, story: Callable[[Watched], Awaitable[None]]
) -> None:
    async def run() -> None:
        path = tmp_path / "policy.yaml"
        path.write_text("{}")
        watched = Watched(path, monkeypatch)
        await watched.begin()
        try:
            await story(watched)
        finally:
            watched.end()

    asyncio.run(run())


def test_a_changed_file_is_adopted_once_it_has_come_to_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(file: Watched) -> None:
        assert await file.look() == 0
        file.write(STRICT)
        assert await file.look() == 0
        assert await file.look() == 1
        assert file.adopted[0].uncertainty.defer_above == 0.2
        assert await file.look() == 1

    watching(tmp_path, monkeypatch, story)


def test_half_a_file_is_not_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(file: Watched) -> None:
        file.write("")
        await file.look()
        file.write("evidence:\n  hash: strict\n")
        await file.look()
        file.write("evidence:\n  hash: strict\n" + STRICT)
        await file.look()
        assert await file.look() == 1
        assert file.adopted[0].uncertainty.defer_above == 0.2
        assert file.adopted[0].evidence.hash == "strict"

    watching(tmp_path, monkeypatch, story)


@pytest.mark.parametrize(
    "bad", ["", "v: [", "v: 2\n", "nonsense: 1\n", "uncertainty:\n  explain_above: 0.9\n"]
)
def test_a_bad_file_leaves_the_old_policy_in_force_and_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, bad: str
) -> None:
    async def story(file: Watched) -> None:
        file.write(bad)
        for _ in range(3):
            assert await file.look() == 0
        file.write(STRICT)
        await file.look()
        assert await file.look() == 1

    with caplog.at_level(logging.ERROR, "beliefd.policy"):
        watching(tmp_path, monkeypatch, story)
    (record,) = caplog.records
    assert "old one stays" in record.getMessage()
    assert "policy.yaml" in record.getMessage()


def test_a_file_that_is_gone_leaves_the_old_policy_in_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(file: Watched) -> None:
        file.path.unlink()
        for _ in range(3):
            assert await file.look() == 0
        file.write(STRICT)
        await file.look()
        assert await file.look() == 1

    watching(tmp_path, monkeypatch, story)


def test_a_file_replaced_by_another_is_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As careful editors do: write beside it, then rename."""

    async def story(file: Watched) -> None:
        same = file.path.stat()
        beside = tmp_path / "beside"
        beside.write_text("[]")  # of the same size as `{}`
        os.utime(beside, ns=(same.st_atime_ns, same.st_mtime_ns))
        beside.rename(file.path)
        file.path.write_text("{}")
        os.utime(file.path, ns=(same.st_atime_ns, same.st_mtime_ns))
        await file.look()
        assert await file.look() == 1

    watching(tmp_path, monkeypatch, story)


def test_a_steward_decides_under_the_file_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("{}")
    with World() as house:
        session = house.session()

        async def story() -> str:
            adopted = asyncio.Event()

            async def adopt(read: Policy) -> None:
                await house.steward.in_force.take_file(read, path)
                adopted.set()

            task = asyncio.ensure_future(watch_policy(path, adopt, 0.01))
            await asyncio.sleep(0)
            path.write_text(STRICT)
            await adopted.wait()
            task.cancel()
            return house.steward.in_force.hash

        assert house.agent.submit_claims(session, bundle(claim(value=0.3))).decision == "PUBLISH"
        assert house.run(story) == policy_hash(policy(uncertainty={"explain_above": 0.1, "defer_above": 0.2}))
        assert house.agent.submit_claims(session, bundle(claim(value=0.3))).decision == "DEFER"
        assert house.agent.verify(session).ok


# -- over HTTP -------------------------------------------------------------------------------------


@asynccontextmanager
async def served() -> AsyncIterator[tuple[httpx.AsyncClient, dict[str, dict[str, str]], Steward]]:
    store = MemoryStore()
    runtime = bootstrap(store)
    headers = {
        role.value: {"Authorization": f"Bearer {await create_token(store, role.value, role)}"}
        for role in Role
    }
    transport = httpx.ASGITransport(create_app(runtime))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client, headers, runtime.steward
    await runtime.close()


def over_http(story: Callable[..., Awaitable[None]]) -> None:
    async def run() -> None:
        async with served() as (client, headers, steward):
            await story(client, headers, steward)

    asyncio.run(run())


def test_only_an_admin_brings_a_policy_into_force() -> None:
    async def story(client: httpx.AsyncClient, headers: dict[str, Any], steward: Steward) -> None:
        wanted = {"uncertainty": {"explain_above": 0.1, "defer_above": 0.2}}
        before = steward.in_force.hash
        for role in Role:
            shown = await client.get("/v1/policy", headers=headers[role.value])
            assert shown.json()["policy_hash"] == before
            if role is not Role.ADMIN:
                answer = await client.put("/v1/policy", json=wanted, headers=headers[role.value])
                assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
        assert (await client.put("/v1/policy", json=wanted)).status_code == 401
        assert steward.in_force.hash == before
        answer = await client.put("/v1/policy", json=wanted, headers=headers["admin"])
        assert answer.status_code == 200
        assert answer.json()["policy_hash"] == steward.in_force.hash != before
        assert answer.json()["policy"]["uncertainty"].items() >= wanted["uncertainty"].items()
        assert steward.in_force.policy == policy(**wanted)

    over_http(story)


def test_a_bad_policy_over_http_changes_nothing_and_names_the_field() -> None:
    async def story(client: httpx.AsyncClient, headers: dict[str, Any], steward: Steward) -> None:
        before = steward.in_force.hash
        for body, path in (
            ({"evidence": {"min_confidence": 2}}, "$.evidence.min_confidence"),
            ({"approvals": {"require_human": []}}, "$.approvals"),
            (
                {"approvals": {"approvers": {"DELETE": {"roles": ["boss"]}}}},
                "$.approvals.approvers.DELETE.roles[0]",
            ),
            ({"surprise": 1}, "$.surprise"),
        ):
            answer = await client.put("/v1/policy", json=body, headers=headers["admin"])
            assert answer.status_code == 400
            assert answer.json()["error"]["details"]["path"] == path
        assert steward.in_force.hash == before

    over_http(story)


def test_a_web_page_that_policy_names_gets_as_far_as_the_gates_and_no_other_does() -> None:
    async def story(client: httpx.AsyncClient, headers: dict[str, Any], steward: Steward) -> None:
        page = {**headers["agent"], "Origin": "https://a.example"}
        assert (await client.post("/v1/claims/check", json=bundle(), headers=page)).status_code == 403
        steward.in_force.adopt(policy(security={"allowed_origins": ["https://a.example"]}))
        answer = await client.post("/v1/claims/check", json={"claims": [claim()]}, headers=page)
        assert answer.json()["decision"] == "PUBLISH"
        other = {**page, "Origin": "https://b.example"}
        assert (await client.post("/v1/claims/check", json=bundle(), headers=other)).status_code == 403

    over_http(story)
