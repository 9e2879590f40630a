"""There is one way into force: what counts is compiled and written down before, by whomever it is brought."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal, Role
from beliefd.ledger.chain import policy_hash
from beliefd.steward.bootstrap import bootstrap, start
from beliefd.steward.policies import Origin
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import policy
from tests.substrate.support import ALLOW_ALL, ToolWorld, codes, delta, one

ADMIN = Principal(id="admin://zoe", role=Role.ADMIN)


@pytest.mark.anyio
async def test_every_adoption_is_written_down_with_who_and_from_where_before_it_counts(
    tmp_path: Path,
) -> None:
    runtime = await start(MemoryStore())
    in_force, seen = runtime.steward.in_force, list[tuple[str, Origin, str]]()

    async def record(new: Policy, origin: Origin, by: Principal, _: str) -> None:
        assert by.id == origin.adopted_by
        seen.append((policy_hash(new), origin, in_force.hash))

    in_force.record = record
    adopted, filed = policy(security={"rate_limit": 3}), policy(security={"rate_limit": 4})
    defaults = in_force.hash
    await in_force.bring_into_force(adopted, ADMIN)
    await in_force.take_file(filed, tmp_path / "p.yaml")
    ((first, by_admin, before), (second, by_file, between)) = seen
    assert (first, before, second, between) == (policy_hash(adopted), defaults, policy_hash(filed), first)
    assert (by_admin.source, by_admin.adopted_by) == ("adopted", "admin://zoe")
    assert (by_file.source, by_file.adopted_by) == ("file", "operator://local")
    assert by_file.place == str(tmp_path / "p.yaml")
    await runtime.close()


@pytest.mark.anyio
async def test_what_cannot_be_written_down_does_not_come_into_force(tmp_path: Path) -> None:
    in_force = bootstrap(MemoryStore()).steward.in_force

    async def away(_: Policy, __: Origin, ___: Principal, ____: str) -> None:
        raise StorageUnavailable("nothing was written: no room")

    in_force.record = away
    with pytest.raises(StorageUnavailable):
        await in_force.take_file(policy(security={"rate_limit": 4}), tmp_path / "p.yaml")
    assert in_force.policy == Policy()


@pytest.mark.anyio
async def test_what_an_earlier_version_adopted_denies_as_it_did_and_is_complained_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = MemoryStore()
    there = await start(store)
    following = asyncio.ensure_future(there.steward.in_force.follow(every=0))
    bad = policy(constraints={"constraint.x": {"v": 3}}, security={"rate_limit": 3})
    earlier = bootstrap(store).steward.in_force
    await earlier._store.adopt(_adoption(bad))
    for _ in range(20):
        await asyncio.sleep(0)
    following.cancel()
    assert there.steward.in_force.policy == Policy(), "who decides by another goes on doing so"
    (told,) = caplog.records
    assert "old policy stays" in told.getMessage()
    caplog.clear()
    later = await start(store)
    assert later.steward.in_force.policy == bad, "its other rules still hold after an upgrade"
    (told, *_) = caplog.records
    assert "$.constraints.constraint.x.v" in told.getMessage()


def _adoption(bad: Policy) -> Any:
    import msgspec

    from beliefd.kernel.canonical import canonical
    from beliefd.stores.base import Adoption

    written = canonical(msgspec.to_builtins(bad))
    return Adoption(
        policy_hash=policy_hash(bad),
        document=written,
        adopted_at="2026-01-01T00:00:00.000000Z",
        adopted_by="admin://zoe",
    )


def test_no_change_of_the_state_writes_a_constraint() -> None:
    rules = policy(constraints={"constraint.all": ALLOW_ALL})
    with ToolWorld(policy=rules) as house:
        session = house.session()
        for key in ("constraint__mine", "constraint", "policy__x", "rules__mine"):
            answer = one(house.agent.propose(session, [delta(**{key: ALLOW_ALL})]))
            assert answer.verdict == "deny"
            assert set(codes(answer)) <= {"KERNEL_OWNED", "UNKNOWN_NAMESPACE"}
