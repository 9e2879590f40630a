"""Questions about kept content: those of one pass of the event loop are one, and nobody spoils another's."""

import asyncio
from collections.abc import Collection

import pytest

from beliefd.stores.base import StorageUnavailable
from beliefd.stores.sql.kept import AskedTogether
from beliefd.stores.within import Within

pytestmark = pytest.mark.anyio
HERE = ("default",)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Database:
    """Keeps `a` and `b`, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[set[str], Within]] = []
        self.failures = 0

    async def ask(self, names: Collection[str], within: Within) -> set[str]:
        self.asked.append((set(names), within))
        if self.failures:
            self.failures -= 1
            raise StorageUnavailable(f"question {len(self.asked)}")
        return {"a", "b"} & set(names)


async def test_who_asks_at_once_is_answered_by_one_question_and_learns_of_its_own_names_alone() -> None:
    database = Database()
    kept = AskedTogether(database.ask)
    found = await asyncio.gather(*(kept.among(names, HERE) for names in (["a"], ["a", "x"], ["b"], ["y"])))
    assert found == [{"a"}, {"a"}, {"b"}, set()]
    assert database.asked == [({"a", "b", "x", "y"}, frozenset(HERE))]


async def test_spaces_are_asked_about_apart() -> None:
    database = Database()
    kept = AskedTogether(database.ask)
    await asyncio.gather(kept.among(["a"], HERE), kept.among(["a"], ("lab",)), kept.among(["b"], None))
    assert [within for _, within in database.asked] == [frozenset(HERE), frozenset({"lab"}), None]


async def test_what_is_asked_later_is_looked_up_later() -> None:
    database = Database()
    kept = AskedTogether(database.ask)
    for _ in range(2):
        assert await kept.among(["a"], HERE) == {"a"}
    assert len(database.asked) == 2


async def test_an_error_is_nobody_elses() -> None:
    database = Database()
    database.failures = 2
    kept = AskedTogether(database.ask)
    found = await asyncio.gather(*(kept.among(["a"], HERE) for _ in range(3)), return_exceptions=True)
    assert [str(one) for one in found[:2]] == ["question 1", "question 2"]
    assert found[2] == {"a"}


@pytest.mark.parametrize("gone", [0, 1])
async def test_who_leaves_takes_nobody_along(gone: int) -> None:
    database = Database()
    kept = AskedTogether(database.ask)
    tasks = [asyncio.ensure_future(kept.among([name], HERE)) for name in "ab"]
    await asyncio.sleep(0)
    tasks[gone].cancel()
    assert await tasks[1 - gone] == {"ba"[gone]}
    assert await kept.among(["a"], HERE) == {"a"}
