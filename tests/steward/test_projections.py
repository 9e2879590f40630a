"""Rows follow the events that change them, and cost nothing where none do."""

from collections.abc import Iterator

import pytest

from beliefd.kernel.beliefs.commands import RequestTermination
from beliefd.kernel.beliefs.events import Eliminated, TerminationRuled
from beliefd.kernel.experiments.commands import StartRun
from beliefd.kernel.values import Principal, Role
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.projections import INBOX, PROJECTIONS, TOUCHED_BY
from beliefd.stores.base import Append
from beliefd.stores.memory import MemoryStore
from tests.knowledge.story import Story
from tests.steward.places import ALICE, declared, eliminate

pytestmark = pytest.mark.anyio
ROOT = Principal(id="human://root", role=Role.ADMIN, tier="PRIVILEGE")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Noting(MemoryStore):
    """A store that keeps what it was handed."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[Append] = []

    async def append(self, batch: Append) -> None:
        self.batches.append(batch)
        await super().append(batch)


async def test_an_event_that_touches_no_projection_carries_no_rows() -> None:
    store = Noting()
    runtime = bootstrap(store)
    steward = runtime.steward
    await steward.submit(await declared(steward), eliminate("h0000"), ALICE)
    assert [dict(batch.projected) for batch in store.batches] == [{}, {}]
    assert Eliminated not in TOUCHED_BY
    await runtime.close()


def _pairs() -> Iterator[tuple[type, str]]:
    return ((kind, one.name) for one in PROJECTIONS for kind in one.touching)


async def test_every_projection_is_found_by_the_events_that_touch_it() -> None:
    found = {(kind, one.name) for kind, some in TOUCHED_BY.items() for one in some}
    assert found == set(_pairs())


async def test_nothing_is_due_in_a_session_that_was_ended_under_a_run() -> None:
    story = Story()
    story.tell(StartRun(experiment_id=story.design("c")))
    assert [row.expires_at for row in story.projected["inbox"].values()] != [None]  # type: ignore[attr-defined]
    ended = story.tell(RequestTermination(context={"force": True}), ROOT)
    assert isinstance(ended, TerminationRuled)
    assert ended.approved
    assert set(story.projected["inbox"].values()) == set(INBOX.all_rows(story.session))
    assert [row.expires_at for row in story.projected["inbox"].values()] == [None]  # type: ignore[attr-defined]
