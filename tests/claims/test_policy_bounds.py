"""What reading a policy costs: aliases are counted before they are expanded, and nobody waits meanwhile."""

import asyncio
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from beliefd import kits
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.policy import Policy
from beliefd.policy import watch
from beliefd.policy.files import load_policy, parse_policy
from beliefd.policy.trial import try_cases
from beliefd.steward import policies
from beliefd.steward.handlers import policy as handlers
from tests.claims.test_policy_reload import over_http

PATIENCE_SECONDS = 30


def bomb(levels: int, under: str = "schemas") -> str:
    """A kilobyte of aliases that comes to nine to the power of `levels`."""
    lines = ["v: 1", f"{under}:", "  s0: &a0 {x: [x,x,x,x,x,x,x,x,x]}"]
    for level in range(1, levels):
        inner = ", ".join(f"k{number}: *a{level - 1}" for number in range(9))
        lines.append(f"  s{level}: &a{level} {{{inner}}}")
    return "\n".join(lines) + "\n"


def test_aliases_are_counted_before_they_are_expanded(tmp_path: Path) -> None:
    for under in ("schemas", "constraints", "tools"):
        data = bomb(9, under).encode()
        assert len(data) < 1_500
        tracemalloc.start()
        with pytest.raises(BeliefdError, match=r"aliases repeat too much.* line \d+"):
            parse_policy(data, "p.yaml")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 * 1024 * 1024
    path = tmp_path / "kit.yaml"
    path.write_text(bomb(9))
    with pytest.raises(BeliefdError, match="aliases repeat too much"):
        kits.load(path)
    with pytest.raises(BeliefdError, match="aliases repeat too much"):
        try_cases(Policy(), path, "2026-01-01T00:00:00.000000Z")


def test_merged_aliases_are_counted_too() -> None:
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, 12):
        lines.append(f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}")
    with pytest.raises(BeliefdError, match="aliases repeat too much"):
        parse_policy("\n".join(lines).encode(), "p.yaml")


def test_aliases_as_people_use_them_are_welcome() -> None:
    text = (
        "constraints:\n  constraint.a: &deny {v: 1, effect: deny, subject: {tool_id: x}}\n"
        "  constraint.b: *deny\n"
    )
    read = parse_policy(text.encode(), "p.yaml")
    assert read.constraints["constraint.a"] == read.constraints["constraint.b"]


def test_an_alias_in_itself_is_a_complaint() -> None:
    with pytest.raises(BeliefdError, match="stands in itself at line 1"):
        parse_policy(b"schemas: &a {x: *a}", "p.yaml")


class Long:
    """Work that ends once others have been answered; on the event loop, it would keep them from that."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work
        self.begun, self.answered = threading.Event(), threading.Event()

    def __call__(self, *args: Any) -> Any:
        self.begun.set()
        assert self.answered.wait(PATIENCE_SECONDS / 3), "nobody else was answered meanwhile"
        return self._work(*args)

    async def meanwhile(self) -> None:
        assert await asyncio.to_thread(self.begun.wait, PATIENCE_SECONDS)
        self.answered.set()


@pytest.mark.parametrize(("place", "name"), [(policies, "compiled"), (handlers, "convert")])
def test_others_are_answered_while_a_policy_is_read_and_compiled(
    place: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = Long(getattr(place, name))
    monkeypatch.setattr(place, name, long)

    async def story(client: httpx.AsyncClient, headers: dict[str, Any], _: Any) -> None:
        adopting = asyncio.ensure_future(client.put("/v1/policy", json={}, headers=headers["admin"]))
        await long.meanwhile()
        assert (await client.get("/v1/policy", headers=headers["agent"])).json()["source"] == "default"
        assert (await adopting).status_code == 200

    over_http(story)


def test_others_are_answered_while_a_changed_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, long = tmp_path / "policy.yaml", Long(load_policy)
    path.write_text("{}")
    monkeypatch.setattr(watch, "load_policy", long)

    async def story() -> Policy:
        adopted: asyncio.Future[Policy] = asyncio.get_running_loop().create_future()

        async def adopt(read: Policy) -> None:
            adopted.set_result(read)

        watching = asyncio.ensure_future(watch.watch_policy(path, adopt, 0.01))
        await asyncio.sleep(0)
        path.write_text("security: {rate_limit: 7}")
        await long.meanwhile()
        either: set[asyncio.Future[Any]] = {adopted, watching}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        watching.cancel()
        return adopted.result()

    assert asyncio.run(story()).security.rate_limit == 7
