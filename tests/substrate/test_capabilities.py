"""Capabilities: who may use them, for what and for how long; and that no token is told twice."""

from typing import Any

import msgspec
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role
from beliefd.testing.world import AGENT, BY_ROLE, refused
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, SUB_AGENT, ToolWorld, codes, one, rules, tool_call


def test_a_call_takes_a_capability(house: ToolWorld) -> None:
    session = house.session()
    answer = one(house.agent.propose(session, [tool_call("note.read", None)]))
    assert (answer.verdict, codes(answer)) == ("deny", ["NO_CAPABILITY"])
    assert (
        one(house.agent.propose(session, [tool_call("note.read", house.token(session))])).result == "a note"
    )
    assert house.toolbox.count == 1


@pytest.mark.parametrize("role", list(Role))
def test_only_admins_issue_out_of_nothing(house: ToolWorld, role: Role) -> None:
    session = house.session()
    person = house.person(BY_ROLE[role])

    def issue() -> Any:
        return person.issue_capability(session, agent_id="agent://x", scope={"tools": ["*"]})

    if role is Role.ADMIN:
        assert issue().capability.agent_id == "agent://x"
    else:
        refused(Code.FORBIDDEN, issue)
        assert house.deltas(session)[-1].code is Code.FORBIDDEN, "the refusal is on record"


def mangled(token: str) -> list[str]:
    name, _, secret = token.partition(".")
    return [
        name,
        f"{name}.",
        f".{secret}",
        secret,
        f"{name}.{secret[:-1]}",
        f"{name}.{secret}x",
        f"{name}.{secret[::-1]}",
        f"{name}.{'A' * len(secret)}",
        f"{name[:-1]}0.{secret}",
        f"{secret}.{name}",
        f" {token}",
        f"{token}\n",
        f"{token}.{token}",
        token.upper(),
        "",
        ".",
        "x" * 4096,
        "\u0000.\u0000",
        "bd_0123_secret",
    ]


@pytest.mark.parametrize("number", range(len(mangled("cap-x.y"))))
def test_a_forged_token_proves_nothing_and_leaves_no_trace_of_itself(house: ToolWorld, number: int) -> None:
    session = house.session()
    forged = mangled(house.token(session))[number]
    answer = one(house.agent.propose(session, [tool_call("note.read", forged)]))
    assert (answer.verdict, codes(answer)) == ("deny", ["BAD_CAPABILITY"])
    assert house.toolbox.count == 0
    last = house.ledger(session)[-1]
    assert len(forged) < 4 or forged.startswith("cap-") or forged.encode() not in last
    house.check(session)


def test_tokens_are_told_once_and_are_in_no_ledger_and_no_other_answer(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    issued = house.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]})
    child = house.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={"tools": ["note.read"]}, parent_token=issued.token
    )
    answers: list[Any] = [
        house.agent.propose(session, [tool_call("note.read", issued.token)]),
        house.helper.propose(
            session, [tool_call("note.read", child.token), tool_call("calc.add", child.token)]
        ),
        house.agent.show_capability(session, issued.capability.capability_id),
        house.agent.audit_trace(session),
        house.agent.export(session),
        house.root.revoke_capability(issued.capability.capability_id),
        house.agent.show_state(session),
    ]
    told = b"".join(one if isinstance(one, bytes) else msgspec.json.encode(one) for one in answers)
    told += b"".join(house.ledger(session)) + msgspec.json.encode(issued.capability)
    for token in (issued.token, child.token):
        secret = token.partition(".")[2].encode()
        assert len(secret) > 40
        assert secret not in told
    house.check(session)


def test_a_capability_is_good_for_its_agent_only(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session, AGENT)
    answer = one(house.helper.propose(session, [tool_call("note.read", token)]))
    assert codes(answer) == ["BAD_CAPABILITY"]
    assert "issued to" in answer.reasons[0].text


def test_a_capability_for_any_agent_is_good_for_any_agent(house: ToolWorld) -> None:
    session = house.session()
    issued = house.root.issue_capability(session, agent_id="*", scope={"tools": ["note.read"]})
    for person in (house.agent, house.helper):
        assert one(person.propose(session, [tool_call("note.read", issued.token)])).verdict == "allow"


def test_a_capability_is_good_in_its_session_only(house: ToolWorld) -> None:
    session, other = house.session(), house.session()
    answer = one(house.agent.propose(other, [tool_call("note.read", house.token(session))]))
    assert codes(answer) == ["BAD_CAPABILITY"]


def test_a_capability_ends_when_its_time_is_up(house: ToolWorld) -> None:
    session = house.session()
    token = house.root.issue_capability(
        session, agent_id=AGENT.id, scope={"tools": ["*"]}, expires_in_seconds=60
    ).token
    house.clock.advance(59.999)
    assert one(house.agent.propose(session, [tool_call("note.read", token)])).verdict == "allow"
    house.clock.advance(0.001)
    answer = one(house.agent.propose(session, [tool_call("note.read", token)]))
    assert codes(answer) == ["BAD_CAPABILITY"]
    assert "expired" in answer.reasons[0].text


def test_revoking_ends_a_capability_and_all_that_came_out_of_it(build: Build) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session = house.session()
    top = house.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["note.read"]})
    middle = house.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={"tools": ["note.read"]}, parent_token=top.token
    )
    bottom = house.helper.issue_capability(
        session, agent_id=AGENT.id, scope={"tools": ["note.read"]}, parent_token=middle.token
    )
    assert one(house.agent.propose(session, [tool_call("note.read", bottom.token)])).verdict == "allow"
    house.root.revoke_capability(top.capability.capability_id)
    for person, issued in ((house.agent, top), (house.helper, middle), (house.agent, bottom)):
        answer = one(person.propose(session, [tool_call("note.read", issued.token)]))
        assert codes(answer) == ["BAD_CAPABILITY"]
        assert "revoked" in answer.reasons[0].text
    refused(
        Code.FORBIDDEN,
        lambda: house.helper.issue_capability(
            session, agent_id="agent://x", scope={"tools": []}, parent_token=middle.token
        ),
    )
    assert house.toolbox.count == 1
    house.check(session)


def test_only_who_issued_it_or_an_admin_revokes(house: ToolWorld) -> None:
    session = house.session()
    top = house.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]})
    name = top.capability.capability_id
    refused(Code.FORBIDDEN, lambda: house.agent.revoke_capability(name))
    child = house.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={"tools": ["*"]}, parent_token=top.token
    )
    refused(Code.FORBIDDEN, lambda: house.helper.revoke_capability(child.capability.capability_id))
    first = house.agent.revoke_capability(child.capability.capability_id).revoked_at
    house.clock.advance(10)
    assert house.root.revoke_capability(child.capability.capability_id).revoked_at == first
    refused(Code.NOT_FOUND, lambda: house.root.revoke_capability(f"{session}/cap-nobody"))
    refused(Code.NOT_FOUND, lambda: house.root.revoke_capability("cap-nobody"))
    refused(Code.NOT_FOUND, lambda: house.root.show_capability(session, "cap-nobody"))
