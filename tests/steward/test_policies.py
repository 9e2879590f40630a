"""Which policy holds: the file's, else the one that was adopted last, in this process and in all others."""

import asyncio
import hashlib
from pathlib import Path

import pytest
from msgspec.structs import replace

import beliefd
from beliefd.kernel.canonical import canonical
from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.chain import policy_hash
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.policies import FROM_FILE
from beliefd.stores.base import Adoption, StorageUnavailable
from beliefd.stores.memory import MemoryStore
from beliefd.testing.appends import eventually
from tests.steward.places import Place

pytestmark = pytest.mark.anyio
ADMIN = Principal(id="admin://zoe", role=Role.ADMIN)
STRICT = Policy(uncertainty=UncertaintyPolicy(explain_above=0.1, defer_above=0.2))
STRICTER = Policy(uncertainty=UncertaintyPolicy(explain_above=0.05, defer_above=0.1))


async def test_what_was_adopted_holds_for_who_comes_later(place: Place) -> None:
    here = await place.steward()
    assert here.in_force.origin.source == "default"
    await here.in_force.bring_into_force(STRICT, ADMIN)
    await here.in_force.bring_into_force(STRICTER, ADMIN)
    later = await place.steward()
    await later.in_force.recall()
    for steward in (here, later):
        assert (steward.in_force.policy, steward.in_force.hash) == (STRICTER, policy_hash(STRICTER))
        assert steward.in_force.origin.source == "adopted"
        assert steward.in_force.origin.adopted_by == "admin://zoe"
    assert here.in_force.origin == later.in_force.origin


async def test_who_is_there_already_follows(place: Place) -> None:
    here, there = await place.steward(), await place.steward()
    following = asyncio.ensure_future(there.in_force.follow(every=0.01))
    for policy in (STRICT, STRICTER, STRICT):
        await here.in_force.bring_into_force(policy, ADMIN)
        await eventually(lambda policy=policy: there.in_force.policy == policy)  # type: ignore[misc]
        assert there.in_force.origin == here.in_force.origin
    following.cancel()


async def test_a_server_that_decides_by_a_file_takes_no_other_policy() -> None:
    steward = bootstrap(MemoryStore()).steward
    steward.in_force.adopt(STRICT, FROM_FILE)
    with pytest.raises(BeliefdError, match="change the file") as raised:
        await steward.in_force.bring_into_force(STRICTER, ADMIN)
    assert raised.value.code is Code.CONFLICT
    assert steward.in_force.policy == STRICT
    assert await steward.store.adopted() is None


async def test_a_policy_that_could_not_be_written_is_not_in_force() -> None:
    class Full(MemoryStore):
        async def adopt(self, adoption: Adoption) -> None:
            raise StorageUnavailable("nothing was written: no room")

    steward = bootstrap(Full()).steward
    with pytest.raises(StorageUnavailable):
        await steward.in_force.bring_into_force(STRICT, ADMIN)
    assert steward.in_force.policy == Policy()


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"document": b'{"rules_of_the_future":1}'}, "cannot be read: .*rules_of_the_future"),
        ({"document": b"{"}, "cannot be read: not JSON"),
        ({"document": b"{}"}, "not the one its hash names"),
    ],
)
async def test_an_adopted_policy_that_cannot_be_trusted_changes_nothing_and_says_so_once(
    changed: dict[str, object], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    await bootstrap(store).steward.in_force.bring_into_force(STRICT, ADMIN)
    adopted = await store.adopted()
    assert adopted is not None
    await store.adopt(replace(adopted, **changed))
    steward = bootstrap(store).steward
    with pytest.raises(BeliefdError, match=told):
        await steward.in_force.recall()
    following = asyncio.ensure_future(steward.in_force.follow(every=0))
    for _ in range(50):
        await asyncio.sleep(0)
    following.cancel()
    assert steward.in_force.policy == Policy()
    assert len([one for one in caplog.records if one.levelname == "ERROR"]) == 1


async def test_a_store_that_is_away_for_a_while_is_followed_again() -> None:
    class Away(MemoryStore):
        away = True

        async def adopted(self, policy_hash: str | None = None) -> Adoption | None:
            if self.away:
                raise StorageUnavailable("gone")
            return await super().adopted(policy_hash)

    store = Away()
    await bootstrap(store).steward.in_force.bring_into_force(STRICT, ADMIN)
    steward = bootstrap(store).steward
    following = asyncio.ensure_future(steward.in_force.follow(every=0))
    for _ in range(20):
        await asyncio.sleep(0)
    assert steward.in_force.policy == Policy()
    store.away = False
    for _ in range(20):
        await asyncio.sleep(0)
    assert steward.in_force.policy == STRICT
    following.cancel()


def test_the_embedded_library_decides_by_what_was_adopted_unless_it_is_given_another(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with beliefd.open(path, principal=ADMIN) as ledger:
        assert ledger.show_policy().source == "default"
        answer = ledger.adopt_policy(STRICT)
        assert (answer.source, answer.adopted_by, answer.policy) == ("adopted", "admin://zoe", STRICT)
    with beliefd.open(path) as ledger:
        assert ledger.show_policy() == answer
    with beliefd.open(path, policy=STRICTER) as ledger:
        assert (ledger.show_policy().source, ledger.show_policy().policy) == ("given", STRICTER)


async def test_what_an_earlier_version_adopted_still_holds(place: Place) -> None:
    """Its document knows fewer members. Its hash is over what was written; today's defaults fill it in."""
    here = await place.steward()
    document = canonical({"v": 1, "uncertainty": {"explain_above": 0.1, "defer_above": 0.2}})
    earlier = Adoption(
        policy_hash=hashlib.sha256(document).hexdigest(),
        document=document,
        adopted_at="2026-01-01T00:00:00.000000Z",
        adopted_by="admin://zoe",
    )
    await here.store.adopt(earlier)
    await here.in_force.recall()
    assert here.in_force.policy == STRICT
    assert here.in_force.hash == policy_hash(STRICT)
    first = here.in_force.origin
    await here.in_force.recall()
    assert here.in_force.origin is first, "it is not adopted again and again"
