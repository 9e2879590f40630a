"""An account that is suspended, or that no issuer and no rule lets in any more: neither what it says nor what
it has said counts."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.values import Principal, Role
from beliefd.steward.credentials import create_token
from beliefd.steward.signin import verifier as verifier_module
from beliefd.steward.signin.verifier import Verifier
from beliefd.steward.tokens import Authenticator
from beliefd.testing.world import Person, World, policy, refused
from tests.claims.credentials import fired, hired
from tests.claims.support import bundle, claim, delete
from tests.support.issuer import Issuer, settings

ANA, MALLORY = "human://corp/ana", "human://corp/mallory"
APPROVALS = {
    "require_human": ["MODIFY", "DELETE", "PRIVILEGE"],
    "approvers": {"DELETE": {"required": 2}},
}
Suspend = Callable[..., None]


@pytest.fixture
def suspend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Suspend:
    """Writes the file of settings; without names, with nobody suspended."""
    monkeypatch.setattr(verifier_module, "LOOK_SECONDS", 0.0)
    issuer, path, times = Issuer(), tmp_path / "sign-in.json", iter(range(1, 99))

    def write(*names: str, **fields: Any) -> None:
        settings(issuer, path, suspended=names, **fields)
        os.utime(path, (next(times),) * 2)

    write()
    return write


@pytest.fixture
def house(suspend: Suspend, tmp_path: Path) -> Iterator[World]:
    with World(policy=policy(approvals=APPROVALS), sign_in=Verifier(tmp_path / "sign-in.json")) as made:
        yield made


def signed_in(house: World, name: str, role: Role = Role.APPROVER) -> Person:
    return house.person(Principal(id=name, role=role, tier="PRIVILEGE", owner=name.rpartition("/")[2]))


def test_a_yes_of_a_suspended_account_does_not_count(house: World, suspend: Suspend) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    signed_in(house, ANA).approve(waiting)
    suspend(ANA)
    shown = house.ann.show_approval(str(waiting.approval_id))
    assert shown.progress is not None
    assert shown.progress.text == "0 of 2 approved"
    assert house.ann.approve(waiting).status == "pending"
    suspend()
    assert house.bob.approve(waiting).outcome == "PUBLISH"
    house.check(session)


def test_a_grant_of_a_suspended_account_does_not_count(house: World, suspend: Suspend) -> None:
    session = house.session()
    signed_in(house, ANA).give_grant(
        session, principal="agent://writer", tiers=["MODIFY"], expires_in_seconds=3600, max_uses=9
    )
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "PUBLISH"
    suspend(ANA)
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "ESCALATE"
    house.check(session)


def test_what_a_suspended_account_proposed_is_not_published(house: World, suspend: Suspend) -> None:
    session = house.session()
    waiting = signed_in(house, MALLORY, Role.AGENT).submit_claims(session, delete(origin_agent=MALLORY))
    suspend(MALLORY)
    card = house.ann.show_approval(str(waiting.approval_id))
    assert "suspended" in str(card.cannot_run)
    assert "suspended" in refused(Code.CONFLICT, lambda: house.ann.approve(card)).message
    assert house.ann.reject(card).status == "rejected"
    house.check(session)


GONE: dict[str, dict[str, Any]] = {
    "another issuer": {"name": "other"},
    "no such rule": {
        "roles": [{"claim": "groups", "value": "sre", "role": "approver", "spaces": ["default=read"]}]
    },
    "not in this space": {
        "roles": [{"claim": "groups", "value": "sre", "role": "approver", "spaces": ["lab=read,approve"]}]
    },
}


@pytest.mark.parametrize("change", GONE)
def test_what_no_issuer_or_rule_would_let_somebody_say_now_does_not_count(
    house: World, suspend: Suspend, change: str
) -> None:
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    signed_in(house, ANA).approve(waiting)
    signed_in(house, ANA).give_grant(
        session, principal="agent://writer", tiers=["MODIFY"], expires_in_seconds=3600, max_uses=9
    )
    theirs = signed_in(house, MALLORY, Role.AGENT).submit_claims(
        session, delete(origin_agent=MALLORY, id="m")
    )
    house.run(lambda: house.runtime.system.note_issuer("corp", "https://issuer.example"))
    suspend(**GONE[change])
    assert house.ann.approve(waiting).status == "pending", "that of Ana does not count"
    assert house.agent.submit_claims(session, bundle(claim("MODIFY"), id="w")).decision == "ESCALATE"
    refused(Code.CONFLICT, lambda: house.ann.approve(theirs))
    suspend()
    told = house.ann.show_approval(str(waiting.approval_id)).progress
    assert told is not None
    assert [one.approver for one in told.given] == [ANA, house.ann.principal.id]
    house.check(session)


def test_a_process_that_trusts_no_issuer_counts_nobody_whom_one_vouched_for(
    suspend: Suspend, tmp_path: Path
) -> None:
    rules, file = policy(approvals=APPROVALS), tmp_path / "beliefd.db"
    with World(file, policy=rules, sign_in=Verifier(tmp_path / "sign-in.json")) as house:
        session = house.session()
        house.run(lambda: house.runtime.system.note_issuer("corp", "https://issuer.example"))
        waiting = house.agent.submit_claims(session, delete())
        signed_in(house, ANA).approve(waiting)
    with World(file, policy=rules) as house:
        assert house.ann.approve(waiting).status == "pending"
        assert house.bob.approve(waiting).outcome == "PUBLISH"
        squatter = house.run(lambda: create_token(house.store, ANA, Role.ADMIN))
        guard = Authenticator(house.runtime.directory)
        with pytest.raises(BeliefdError, match="signs in"):
            house.run(lambda: guard.authenticate(f"Bearer {squatter}"))
        house.check(session)


def test_a_token_under_an_id_of_an_issuer_says_nothing_of_who_signs_in(
    house: World, suspend: Suspend
) -> None:
    """It lets nobody in: neither takes it away what the account said, nor gives it that back."""
    session = house.session()
    waiting = house.agent.submit_claims(session, delete())
    signed_in(house, ANA).approve(waiting)
    squatter = hired(house, ANA, Role.TOOL)
    fired(house, squatter)
    shown = house.ann.show_approval(str(waiting.approval_id))
    assert shown.progress is not None
    assert shown.progress.text.startswith("1 of 2")
    hired(house, ANA, Role.ADMIN)
    suspend(ANA)
    assert house.ann.approve(waiting).status == "pending", "Ana is suspended, whatever tokens say"
    house.check(session)
