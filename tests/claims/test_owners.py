"""Nobody is two people by spelling whose they are in two ways."""

import asyncio
from pathlib import Path

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.system.commands import MakeToken
from beliefd.kernel.values import MAX_ID_LENGTH, Role
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.credentials import create_token
from beliefd.steward.directory import LOCAL_OPERATOR, facts_of, principal_of
from beliefd.steward.owners import owner_form
from beliefd.steward.signin.verifier import Verifier
from beliefd.stores.base import Token
from beliefd.stores.memory import MemoryStore
from beliefd.testing.world import NOW, Person, World
from tests.claims.credentials import hired
from tests.claims.support import delete, nothing_happens
from tests.support.issuer import Issuer, settings


def made_before(house: World, name: str, owner: str) -> Person:
    """Somebody whose token is of a time when owners were taken as they came."""
    row = Token("0a1b2c3d4e5f", name, "agent", "PRIVILEGE", "hash", NOW, owner=owner)

    async def make() -> None:
        await bootstrap(house.store).system.record(MakeToken(token=facts_of(row)), LOCAL_OPERATOR, row)

    house.run(make)
    return house.person(principal_of(row))


@pytest.mark.parametrize(
    "owner", ["ANA", "Ana", "ana ", "\u00a0ana", "\uff41na", "a\u200bna", "an\ufe0fa", "an\u0430"]
)
def test_another_spelling_is_no_other_person(house: World, owner: str) -> None:
    session = house.session()
    agent = made_before(house, "b", owner)
    ana = hired(house, "human://ana", Role.APPROVER)
    waiting = agent.submit_claims(session, delete(origin_agent="agent://b"))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: ana.approve(waiting))
    assert house.bob.approve(waiting).outcome == "PUBLISH"
    house.check(session)


def test_names_stand_for_owners_in_all_spellings(house: World) -> None:
    session = house.session()
    agent = hired(house, "Ana", Role.AGENT)
    waiting = agent.submit_claims(session, delete(origin_agent="agent://Ana"))
    ana = hired(house, "aNA", Role.APPROVER)
    assert (agent.principal.id, ana.principal.id) == ("agent://Ana", "human://aNA"), "ids stay as they are"
    nothing_happens(house, session, Code.FORBIDDEN, lambda: ana.approve(waiting))


def test_an_account_of_a_provider_is_the_owner_of_a_token_in_any_case(house: World, tmp_path: Path) -> None:
    issuer = Issuer()
    rule = {"claim": "groups", "value": "sre", "role": "approver", "tier": "PRIVILEGE"}
    file = settings(issuer, tmp_path / "sign-in.json", owner="email", roles=[rule])
    signed = asyncio.run(Verifier(file).caller(issuer.token(email="Ana@X.example")))
    ana = house.person(signed.principal)
    session = house.session()
    agent = hired(house, "agent://b", Role.AGENT, owner="ana@x.example")
    waiting = agent.submit_claims(session, delete(origin_agent="agent://b"))
    nothing_happens(house, session, Code.FORBIDDEN, lambda: ana.approve(waiting))
    assert house.bob.approve(waiting).outcome == "PUBLISH"
    house.check(session)


@pytest.mark.parametrize("field", ["name", "owner"])
@pytest.mark.parametrize("written", ["dor\u0430", "\u0391na", "\u0430na"])
def test_a_token_of_two_alphabets_is_not_made(field: str, written: str) -> None:
    names = {"name": "x", "owner": "y", field: written}
    with pytest.raises(BeliefdError) as told:
        asyncio.run(create_token(MemoryStore(), names["name"], Role.AGENT, owner=names["owner"]))
    assert (told.value.code, (told.value.details or {})["path"]) == (Code.INVALID_REQUEST, field)
    assert "one alphabet" in told.value.message


@pytest.mark.parametrize("another", ["ren\u00e9", "\u0441\u043e\u0440\u0430"])
def test_an_owner_that_looks_like_another_is_not_made(house: World, another: str) -> None:
    """`copa` in Cyrillic letters is read as that owner; `ren\u00e9` is somebody else than `rene`."""
    hired(house, "human://rene", Role.APPROVER)
    copa = hired(house, "human://copa", Role.APPROVER)
    if another.startswith("r"):
        with pytest.raises(BeliefdError, match="looks like the owner `rene`"):
            hired(house, "x", Role.AGENT, owner=another)
    else:
        assert hired(house, "x", Role.AGENT, owner=another).principal.owner == copa.principal.owner


@pytest.mark.parametrize(
    "owner", ["\u0434\u043e\u0440\u0430", "y\u0131ld\u0131z", "\u6771\u4eac ana", "jos\u00e9"]
)
def test_names_of_all_alphabets_are_owners(owner: str) -> None:
    assert owner_form(owner) == owner
    assert asyncio.run(create_token(MemoryStore(), "x", Role.AGENT, owner=owner))


@pytest.mark.parametrize("field", ["name", "owner"])
@pytest.mark.parametrize(
    ("written", "fits"),
    [
        ("ana ", "`ana` would fit"),
        (" ana", "`ana` would fit"),
        ("\uff41na", "`ana` would fit"),
        ("an\ufe0fa", "`ana` would fit"),
        ("a\u3164na", "`ana` would fit"),
        ("\u2800", "invisible"),
        ("ana\u200b", "printable"),
        ("\ufb01n", "`fin` would fit"),
    ],
)
@pytest.mark.anyio
async def test_what_is_not_written_as_it_is_read_is_refused(field: str, written: str, fits: str) -> None:
    name, owner = (written, None) if field == "name" else ("b", written)
    store = MemoryStore()
    with pytest.raises(BeliefdError, match=fits) as refused:
        await create_token(store, name, Role.AGENT, owner=owner)
    assert refused.value.details == {"path": field}
    assert await store.tokens() == []


@pytest.mark.anyio
async def test_the_owner_of_a_token_is_a_name_and_not_somebodys_id() -> None:
    store = MemoryStore()
    with pytest.raises(BeliefdError, match="no other's id") as refused:
        await create_token(store, "b", Role.AGENT, owner="human://Ana")
    assert refused.value.details == {"path": "owner"}
    await create_token(store, "hook://B", Role.TOOL, owner="hook://B")
    await create_token(store, "b", Role.AGENT, owner="https://id.example/Ana")
    await create_token(store, "Zoë Straße", Role.AGENT)
    owners = {principal_of(one).person for one in await store.tokens()}
    assert owners == {"hook://B", "https://id.example/ana", "zoë strasse"}


def test_the_form_of_an_owner_is_an_id_and_its_own_form() -> None:
    for text in ("A\u0301na", "\u0390" * 400, "\u2800", "\u0130", "\u1e9e", "ﬀ"):
        form = owner_form(text)
        assert 1 <= len(form) <= MAX_ID_LENGTH
        assert owner_form(form) == form
