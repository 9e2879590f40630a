"""The server's own ledger: what operators did is on record, and nothing else counts as a token."""

import asyncio
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.decide import RULES as ALL_RULES
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.system import rules as system_rules
from beliefd.kernel.system.commands import ChangeKey, MakeSpace, RestoreStore, RevokeToken, SystemCommand
from beliefd.kernel.system.events import PolicyAdopted, TokenMade, TokenRevoked, TokensAdopted
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.values import Head, Role
from beliefd.ledger.envelope import read
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.credentials import create_token, revoke_token
from beliefd.steward.directory import Directory, TokenDifference, token_differences
from beliefd.steward.environment import now
from beliefd.steward.handlers.ledger import verify_session
from beliefd.steward.tokens import Authenticator
from beliefd.stores.base import Store, Token
from beliefd.stores.memory import MemoryStore
from beliefd.stores.opening import open_store
from beliefd.testing.world import AGENT, ANN, ROOT, Person, World, policy, refused
from tests.conformance.node import verify_with_node

pytestmark = pytest.mark.anyio


def eliminate(who: Person, session: str, name: str, observation: str = "o") -> None:
    who.eliminate(session, source_id="s", observation_id=observation, eliminated=[name], justification={})


@pytest.fixture
def world() -> Iterator[World]:
    with World() as opened:
        yield opened


async def events(store: Store) -> list[Any]:
    return [read(entry.record).delta for entry in await store.entries(SYSTEM)]


async def authenticated(store: Store, secret: str) -> str:
    """Who a secret stands for; the code of the error if for nobody."""
    try:
        caller = await Authenticator(bootstrap(store).directory).authenticate(f"Bearer {secret}")
        return caller.principal.id
    except BeliefdError as error:
        return error.code.value


async def differences(store: Store) -> list[TokenDifference]:
    system = await bootstrap(store).system.state()
    assert system is not None
    return token_differences(await store.tokens(), system)


async def test_tokens_are_made_and_revoked_by_events_that_hold_no_secret() -> None:
    store = MemoryStore()
    secret = await create_token(store, "ann", Role.APPROVER, owner="Ann")
    token_id = secret.split("_")[1]
    assert await authenticated(store, secret) == "human://ann"
    assert await revoke_token(store, token_id)
    assert not await revoke_token(store, token_id)
    assert await authenticated(store, secret) == Code.UNAUTHORIZED
    _, made, revoked = await events(store)
    assert isinstance(made, TokenMade)
    assert (made.token.token.name, made.token.token.owner, made.token.made_by) == (
        "ann",
        "Ann",
        "operator://local",
    )
    assert isinstance(revoked, TokenRevoked)
    (row,) = await store.tokens()
    written = b"".join(entry.record for entry in await store.entries(SYSTEM))
    assert row.secret_hash.encode() not in written
    assert secret.rpartition("_")[2].encode() not in written
    assert (await verify_session(store, SYSTEM)).ok


class _Refusing(MemoryStore):
    """A store that takes no appends: what is written in another way is seen."""

    async def append(self, batch: object) -> None:
        raise OSError("no room")


async def test_there_is_no_token_without_its_event() -> None:
    store = _Refusing()
    with pytest.raises(Exception, match="no room"):
        await create_token(store, "ann", Role.ADMIN)
    assert await store.tokens() == []


async def test_a_planted_token_is_not_honoured_and_is_named() -> None:
    store = MemoryStore()
    secret = await create_token(store, "ann", Role.AGENT)
    other = MemoryStore()
    planted = await create_token(other, "mallory", Role.ADMIN)
    (row,) = await other.tokens()
    await store.add_token(row)
    assert await authenticated(store, planted) == Code.UNAUTHORIZED
    assert await authenticated(store, secret) == "agent://ann"
    assert await differences(store) == [TokenDifference(row.token_id, "planted")]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"role": "admin"}, "changed"),
        ({"tier": "PRIVILEGE"}, "changed"),
        ({"owner": "somebody else"}, "changed"),
        ({"secret_hash": "0" * 64}, "changed"),
        ({"role": "king"}, "changed"),
    ],
)
async def test_a_row_that_was_changed_is_not_honoured(change: dict[str, str], problem: Any) -> None:
    store = MemoryStore()
    secret = await create_token(store, "ann", Role.AGENT)
    (row,) = await store.tokens()
    fields = {name: getattr(row, name) for name in row.__struct_fields__}
    await store.add_token(Token(**{**fields, **change}))
    assert await authenticated(store, secret) == Code.UNAUTHORIZED
    assert await differences(store) == [TokenDifference(row.token_id, problem)]


async def test_a_token_that_was_unarchived_stays_revoked() -> None:
    store = MemoryStore()
    secret = await create_token(store, "ann", Role.AGENT)
    (row,) = await store.tokens()
    await revoke_token(store, row.token_id)
    await store.add_token(row)  # as it was before
    assert await authenticated(store, secret) == Code.UNAUTHORIZED
    assert await differences(store) == [TokenDifference(row.token_id, "revived")]


async def test_tokens_older_than_the_ledger_are_adopted_by_its_first_event() -> None:
    store, elsewhere = MemoryStore(), MemoryStore()
    secrets = [await create_token(elsewhere, name, Role.AGENT) for name in ("ann", "bob")]
    for row in await elsewhere.tokens():
        await store.add_token(row)
    await store.revoke_token(secrets[1].split("_")[1], now())
    # Before, nothing says who made them.
    assert await authenticated(store, secrets[0]) == Code.UNAUTHORIZED
    await bootstrap(store).system.begin()
    assert await authenticated(store, secrets[0]) == "agent://ann"
    assert await authenticated(store, secrets[1]) == Code.UNAUTHORIZED
    _, adopted = await events(store)
    assert isinstance(adopted, TokensAdopted)
    assert len(adopted.tokens) == 2
    assert await differences(store) == []
    assert (await verify_session(store, SYSTEM)).ok


async def test_an_emptied_table_does_not_open_a_running_server() -> None:
    store = MemoryStore()
    await create_token(store, "ann", Role.AGENT)
    directory = bootstrap(store).directory
    authenticator = Authenticator(directory)
    assert await authenticator.configured()
    store._tokens.by_id.clear()
    store._entries.clear()
    await directory.refresh(force=True)
    assert directory.tokens == {}
    assert await authenticator.configured()
    assert not authenticator.is_open()
    with pytest.raises(BeliefdError, match="needs `Authorization"):
        await authenticator.authenticate(None)


async def test_tokens_made_at_once_by_several_processes_are_all_on_record(tmp_path: Path) -> None:
    stores = [await open_store(tmp_path / "beliefd.db") for _ in range(3)]
    try:
        await asyncio.gather(
            *(create_token(store, f"t{n}", Role.AGENT) for n, store in enumerate(stores) for _ in range(3))
        )
        assert len(await stores[0].tokens()) == 9
        assert await differences(stores[0]) == []
        assert (await verify_session(stores[0], SYSTEM)).ok
    finally:
        for store in stores:
            await store.close()


async def test_a_row_and_its_event_are_one_transaction_in_every_store(
    tmp_path: Path, postgres_url: str
) -> None:
    for target in (tmp_path / "beliefd.db", postgres_url):
        store = await open_store(target)
        try:
            secret = await create_token(store, "ann", Role.AGENT)
            assert await authenticated(store, secret) == "agent://ann"
            await revoke_token(store, secret.split("_")[1])
            assert [row.revoked_at is None for row in await store.tokens()] == [False]
            assert await differences(store) == []
        finally:
            await store.close()


def test_only_the_words_of_the_ledger_are_decided_in_it(world: World) -> None:
    session = world.session()
    world.run(lambda: world.runtime.system.make_space("lab", ROOT))
    said: list[SystemCommand] = [
        MakeSpace(space="x"),
        RevokeToken(token_id="t"),
        ChangeKey(name="k", fingerprint="0" * 64),
        RestoreStore(seen=Head(seq=1, event_id="e", hash="0" * 64), found=0),
    ]
    for command in said:
        outcome = world.submit(session, command)
        assert (outcome.event.code, outcome.head.seq > 1) == (Code.FORBIDDEN, True)  # type: ignore[union-attr]
    for act in (
        lambda: eliminate(world.root, SYSTEM, "system", "o"),
        lambda: world.root.request_termination(SYSTEM, context={"force": True}),
        lambda: world.root.speculate(SYSTEM, "c", [{"statement": "x"}]),
    ):
        refused(Code.FORBIDDEN, act)
    assert set(system_rules.RULES) < set(ALL_RULES)
    world.check(SYSTEM)
    world.check(session)


def test_nobody_but_an_admin_writes_or_reads_it(world: World) -> None:
    world.run(lambda: world.runtime.system.make_space("lab", ROOT))
    for who in (AGENT, ANN):
        outcome = world.submit(SYSTEM, MakeSpace(space="other"), who)
        assert outcome.event.code is Code.FORBIDDEN  # type: ignore[union-attr]
        person = world.person(who)
        for ask in (person.audit_trace, person.export, person.query_belief):
            refused(Code.SESSION_NOT_FOUND, partial(ask, SYSTEM))
        refused(Code.SESSION_NOT_FOUND, partial(eliminate, person, SYSTEM, "system"))
        assert person.list_sessions().sessions == person.list_sessions(space=SYSTEM).sessions == []
    assert world.root.list_sessions().sessions == []
    assert [one.session_id for one in world.root.list_sessions(space=SYSTEM).sessions] == [SYSTEM]
    assert len(world.root.audit_trace(SYSTEM).events) == 4


def test_an_adopted_policy_is_on_record_before_it_is_decided_by(world: World) -> None:
    world.root.adopt_policy(policy(uncertainty={"defer_above": 0.7}))
    (adopted,) = [one for one in world.deltas(SYSTEM) if isinstance(one, PolicyAdopted)]
    assert adopted.policy_hash == world.root.show_policy().policy_hash
    assert read(world.entries(SYSTEM)[-1].record).actor == ROOT
    world.check(SYSTEM)


def test_spaces_are_made_once_and_keys_are_noted_when_they_change(world: World) -> None:
    system = world.runtime.system
    world.run(lambda: system.make_space("lab", ROOT))
    refused(Code.CONFLICT, lambda: world.run(lambda: system.make_space("lab", ROOT)))
    for fingerprint in ("0" * 64, "0" * 64, "1" * 64):
        world.run(partial(system.note_key, "capability.key", fingerprint))
    state = world.state(SYSTEM).system
    assert dict(state.spaces) == {"lab": ROOT.id}
    assert dict(state.keys) == {"capability.key": "1" * 64}
    assert [one.fingerprint[0] for one in world.deltas(SYSTEM) if hasattr(one, "fingerprint")] == ["0", "1"]


def test_it_is_exported_and_verified_elsewhere_like_any_other(world: World) -> None:
    system = world.runtime.system
    for n in range(300):  # past the first hash of the whole state
        world.run(partial(system.make_space, f"space {n}", ROOT))
    world.run(lambda: create_token(world.store, "ann", Role.APPROVER))
    world.root.adopt_policy(policy(uncertainty={"defer_above": 0.7}))
    export = world.root.export(SYSTEM)
    assert verify_with_node(export).code == 0
    with World() as other:
        refused(Code.FORBIDDEN, lambda: other.root.import_ledger(export))
    world.check(SYSTEM)


def test_a_rewritten_event_of_it_is_found_and_nobody_is_let_in(tmp_path: Path) -> None:
    path = tmp_path / "beliefd.db"

    async def made() -> str:
        store = await open_store(path)
        try:
            return await create_token(store, "ann", Role.AGENT)
        finally:
            await store.close()

    secret = asyncio.run(made())
    with sqlite3.connect(path) as database:
        database.execute("DROP TRIGGER audit_events_keep_update")
        database.execute("UPDATE audit_events SET record = replace(record, 'agent', 'admin') WHERE seq = 2")

    async def tried() -> bool:
        store = await open_store(path)
        try:
            with pytest.raises(Exception, match="hash"):
                await Authenticator(Directory(store, bootstrap(store).system.state)).authenticate(
                    f"Bearer {secret}"
                )
            return (await verify_session(store, SYSTEM)).ok
        finally:
            await store.close()

    assert asyncio.run(tried()) is False
