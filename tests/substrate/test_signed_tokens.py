"""Signed tokens: verified and narrowed down without the server, judged by it all the same."""

import base64
import builtins
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import biscuit_auth
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.substrate.capabilities import Narrowing
from beliefd.testing.world import AGENT, refused
from beliefd.tools.biscuit import PREFIX, BadToken, Signer, attenuate, narrowing_of, read_token, source_of
from tests.substrate.support import ALLOW_ALL, SUB_AGENT, ToolWorld, codes, deny, one, rules, tool_call, when

SOON = "2026-01-01T00:10:00Z"


@pytest.fixture
def signing(tmp_path: Path) -> Iterator[ToolWorld]:
    with ToolWorld(policy=rules(all=ALLOW_ALL), signer=Signer(tmp_path / "capability.key")) as opened:
        yield opened


def issue(house: ToolWorld, session: str, agent: str = AGENT.id, **scope: Any) -> str:
    given = {"tools": ["*"], "fs_read_roots": ["/"], "net_allowlist": ["*"], **scope}
    return house.root.issue_capability(session, agent_id=agent, scope=given, signed=True).token


def asked(house: ToolWorld, session: str, token: str, tool: str = "note.read", **args: Any) -> Any:
    return one(house.agent.propose(session, [tool_call(tool, token, **args)]))


def test_a_signed_token_is_good_for_what_a_plain_one_is_good_for(signing: ToolWorld) -> None:
    session = signing.session()
    token = issue(signing, session, budgets={"calls": 2})
    assert token.startswith(PREFIX)
    assert asked(signing, session, token).result == "a note"
    assert asked(signing, session, token).result == "a note"
    assert codes(asked(signing, session, token)) == ["BUDGET_EXHAUSTED"]
    signing.check(session)


def test_a_signed_token_ends_revoked_and_expired_and_is_its_agents_in_its_session(signing: ToolWorld) -> None:
    session, other = signing.session(), signing.session()
    token = issue(signing, session)
    assert codes(one(signing.helper.propose(session, [tool_call("note.read", token)]))) == ["BAD_CAPABILITY"]
    assert codes(asked(signing, other, token)) == ["BAD_CAPABILITY"]
    signing.clock.advance(3_600)
    assert codes(asked(signing, session, token)) == ["BAD_CAPABILITY"]
    again = signing.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]}, signed=True)
    signing.root.revoke_capability(again.capability.capability_id)
    assert codes(asked(signing, session, again.token)) == ["BAD_CAPABILITY"]
    assert signing.toolbox.count == 0
    signing.check(session)


NARROWED: dict[
    str, tuple[dict[str, Any], list[tuple[str, dict[str, Any]]], list[tuple[str, dict[str, Any]]]]
] = {
    "tools": (
        {"tools": ["note.read", "calc.add"]},
        [("note.read", {}), ("calc.add", {"a": 1, "b": 2})],
        [("fs.read", {"path": "/data/x"})],
    ),
    "a root": (
        {"root": "/data"},
        [("fs.read", {"path": "/data"}), ("fs.read", {"path": "/data/x/../y"}), ("note.read", {})],
        [
            ("fs.read", {"path": "/database"}),
            ("fs.read", {"path": "/data/../etc"}),
            ("fs.read", {"path": ["/data/x", "/etc"]}),
        ],
    ),
    "hosts": (
        {"hosts": ["a.example.org", "b.example.org"]},
        [("net.get", {"url": "https://A.example.org/x"}), ("note.read", {})],
        [("net.get", {"url": "https://c.example.org"}), ("net.get", {"url": "https://a.example.org@c.org"})],
    ),
    "the agent": ({"agent_id": AGENT.id}, [("note.read", {})], []),
    "another agent": ({"agent_id": SUB_AGENT.id}, [], [("note.read", {})]),
    "nothing": ({}, [("note.read", {})], []),
    "everything": (
        {"tools": ["fs.read"], "root": "/data", "hosts": ["x"], "expires_at": SOON, "agent_id": AGENT.id},
        [("fs.read", {"path": "/data/x"})],
        [("fs.read", {"path": "/x"}), ("note.read", {})],
    ),
}


@pytest.mark.parametrize(("narrowing", "good", "bad"), NARROWED.values(), ids=NARROWED.keys())
def test_a_holder_narrows_a_token_down_offline(
    signing: ToolWorld,
    narrowing: dict[str, Any],
    good: list[tuple[str, dict[str, Any]]],
    bad: list[tuple[str, dict[str, Any]]],
) -> None:
    session = signing.session()
    token = attenuate(issue(signing, session), key_of(signing), **narrowing)
    for tool, args in good:
        answer = asked(signing, session, token, tool, **args)
        assert answer.verdict == "allow", answer.reasons
    for tool, args in bad:
        answer = asked(signing, session, token, tool, **args)
        assert set(codes(answer)) == {"OUT_OF_SCOPE"}
        assert "narrowed down" in answer.reasons[-1].text
    assert signing.toolbox.count == len(good)
    signing.check(session)


def test_a_narrowed_token_ends_when_its_holder_said(signing: ToolWorld) -> None:
    session = signing.session()
    token = attenuate(issue(signing, session), key_of(signing), expires_at=SOON)
    signing.clock.advance(599)
    assert asked(signing, session, token).verdict == "allow"
    signing.clock.advance(1)
    assert codes(asked(signing, session, token)) == ["OUT_OF_SCOPE"]


def test_narrowing_again_only_narrows(signing: ToolWorld) -> None:
    session = signing.session()
    token = attenuate(issue(signing, session), key_of(signing), tools=["note.read"], root="/data/in")
    key = key_of(signing)
    wider = attenuate(attenuate(token, key, tools=["note.read", "fs.read"]), key, root="/")
    assert asked(signing, session, wider).verdict == "allow"
    assert codes(asked(signing, session, wider, "fs.read", path="/data/in/x")) == ["OUT_OF_SCOPE"]
    assert codes(asked(signing, session, attenuate(token, key, tools=["calc.add"]))) == ["OUT_OF_SCOPE"]


def test_a_token_for_any_agent_can_be_handed_to_one(signing: ToolWorld) -> None:
    session = signing.session()
    token = attenuate(issue(signing, session, "*"), key_of(signing), agent_id=SUB_AGENT.id)
    assert codes(asked(signing, session, token)) == ["OUT_OF_SCOPE"]
    assert one(signing.helper.propose(session, [tool_call("note.read", token)])).verdict == "allow"


def key_of(house: ToolWorld) -> str:
    assert house.signer is not None
    return house.signer.public_key


def raw(token: str, public_key: str) -> biscuit_auth.Biscuit:
    key = biscuit_auth.PublicKey(public_key)
    return biscuit_auth.Biscuit.from_base64(token.removeprefix(PREFIX), key)


def with_block(token: str, public_key: str, source: str) -> str:
    return PREFIX + raw(token, public_key).append(biscuit_auth.BlockBuilder(source)).to_base64()


FOREIGN = {
    "a fact that would satisfy a check before it": 'tool("note.read");',
    "another capability": 'capability("cap-other");',
    "a rule": "tool($x) <- agent($x);",
    "a check of another form": 'check if tool($t), $t.matches("(a|a)*$");',
    "a check that is true": "check if true;",
    "the opposite check": 'check if tool($t), !{"x"}.contains($t);',
    "a disjunction": 'check if tool($t), {"x"}.contains($t) or true;',
    "a check twice": 'check if agent($a), $a == "x"; check if agent($a), $a == "y";',
    "a path and another's beginning": 'reject if path($p), !($p == "/a" || $p.starts_with("/"));',
    "trust in somebody": 'check if tool($t), {"x"}.contains($t) trusting authority;',
    "minutes of work": " ".join(f"a({n});" for n in range(60)) + " b($x,$y,$z) <- a($x), a($y), a($z);",
}


@pytest.mark.parametrize("source", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_token_with_anything_else_in_it_is_refused_unread(signing: ToolWorld, source: str) -> None:
    session = signing.session()
    token = with_block(
        attenuate(issue(signing, session), key_of(signing), tools=["note.read"]), key_of(signing), source
    )
    answer = asked(signing, session, token)
    assert codes(answer) == ["BAD_CAPABILITY"]
    assert signing.toolbox.count == 0
    signing.check(session)


def cut(token: str, _: str) -> str:
    data = base64.urlsafe_b64decode(token.removeprefix(PREFIX))
    return PREFIX + base64.urlsafe_b64encode(data[: len(data) // 2]).decode()


def other_key(token: str, public_key: str) -> str:
    source = raw(token, public_key).block_source(0)
    made = biscuit_auth.BiscuitBuilder(source).build(biscuit_auth.KeyPair().private_key)
    return PREFIX + made.to_base64()


def third_party(token: str, public_key: str) -> str:
    key, held = biscuit_auth.KeyPair(), raw(token, public_key)
    block = held.third_party_request().create_block(key.private_key, biscuit_auth.BlockBuilder("x(1);"))
    return PREFIX + held.append_third_party(key.public_key, block).to_base64()


FORGED: dict[str, Callable[[str, str], str]] = {
    "another key": other_key,
    "its beginning": cut,
    "a letter changed": lambda token, _: token[:60] + ("A" if token[60] != "A" else "B") + token[61:],
    "no prefix": lambda token, _: token.removeprefix(PREFIX),
    "nothing": lambda token, _: PREFIX,
    "no base64": lambda token, _: PREFIX + "!!!",
    "not ascii": lambda token, _: PREFIX + "\u00e9" * 20,
    "a plain secret": lambda token, _: PREFIX + "cap-x.y",
    "a third party's block": third_party,
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())
def test_a_forged_token_is_refused_and_repeated_nowhere(
    signing: ToolWorld, forge: Callable[[str, str], str]
) -> None:
    session = signing.session()
    issued = signing.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]}, signed=True)
    forged = forge(issued.token, key_of(signing))
    answer = asked(signing, session, forged)
    assert codes(answer) == ["BAD_CAPABILITY"]
    assert len(forged) < 20 or forged[10:].encode() not in signing.ledger(session)[-1]
    assert signing.toolbox.count == 0
    signing.check(session)


def test_no_byte_of_a_signed_token_is_recorded(signing: ToolWorld) -> None:
    session = signing.session()
    token = attenuate(issue(signing, session), key_of(signing), tools=["note.read"])
    asked(signing, session, token)
    ledger = b"".join(signing.ledger(session))
    body = token.removeprefix(PREFIX)
    assert all(body[at : at + 24].encode() not in ledger for at in range(0, len(body) - 24, 8))
    assert b'"narrowed":[{' in ledger, "what it was narrowed down to is"


def test_a_confirmed_call_is_held_to_what_its_token_was_narrowed_down_to(signing: ToolWorld) -> None:
    ask = deny("note.read", when=when("missing", "fact.source"), on_fail="ask")
    signing.steward.in_force.adopt(rules(all=ALLOW_ALL, ask=ask))
    session = signing.session()
    token = attenuate(issue(signing, session), key_of(signing), expires_at=SOON)
    in_time, late = asked(signing, session, token), asked(signing, session, token)
    decided = signing.ann.approve(signing.ann.show_approval(in_time.approval_id))
    assert decided.call is not None
    assert decided.call.status == "ok"
    signing.clock.advance(601)
    card = signing.ann.show_approval(late.approval_id)
    error = refused(Code.CONFLICT, lambda: signing.ann.approve(card))
    assert (error.details or {})["reasons"] == ["OUT_OF_SCOPE"]
    assert signing.toolbox.count == 1
    signing.check(session)


def test_a_token_is_verified_offline_with_the_public_key(signing: ToolWorld) -> None:
    session = signing.session()
    issued = signing.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]}, signed=True)
    assert issued.public_key is not None
    key = issued.public_key
    token = attenuate(attenuate(issued.token, key, tools=["b", "a"]), key, root="/data/x", hosts=["h"])
    found = read_token(token, issued.public_key)
    assert issued.capability.capability_id == f"{session}/{found.capability_id}"
    assert found.narrowed == (Narrowing(tools=("a", "b")), Narrowing(root="/data/x", hosts=("h",)))
    with pytest.raises(BadToken):
        read_token(token, str(biscuit_auth.KeyPair().public_key))


def test_a_narrowed_token_is_not_handed_on_by_the_server_for_what_it_was(signing: ToolWorld) -> None:
    session = signing.session()
    token = issue(signing, session)
    child = signing.agent.issue_capability(
        session, agent_id=SUB_AGENT.id, scope={"tools": ["note.read"]}, parent_token=token
    )
    assert child.capability.parent is not None
    narrowed = attenuate(token, key_of(signing), tools=["calc.add"])
    refused(
        Code.FORBIDDEN,
        lambda: signing.agent.issue_capability(
            session, agent_id=SUB_AGENT.id, scope={"tools": ["note.read"]}, parent_token=narrowed
        ),
    )


def test_a_server_without_a_key_neither_signs_nor_reads(house: ToolWorld, signing: ToolWorld) -> None:
    session = house.session()
    given = {"tools": ["*"]}
    refused(
        Code.INVALID_REQUEST,
        lambda: house.root.issue_capability(session, agent_id=AGENT.id, scope=given, signed=True),
    )
    assert len(house.state(session).substrate.capabilities) == 0
    answer = asked(house, session, issue(signing, signing.session()))
    assert codes(answer) == ["BAD_CAPABILITY"]
    assert "no key" in answer.reasons[0].text


def test_without_the_extra_everything_else_works_and_the_error_names_it(
    signing: ToolWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = signing.session()
    token = issue(signing, session)
    load = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "biscuit_auth":
            raise ModuleNotFoundError(name)
        return load(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "biscuit_auth")
    monkeypatch.setattr(builtins, "__import__", without)
    answer = asked(signing, session, token)
    assert codes(answer) == ["BAD_CAPABILITY"]
    assert "beliefd[biscuit]" in answer.reasons[0].text
    before = len(signing.ledger(session))
    error = refused(Code.INVALID_REQUEST, lambda: issue(signing, session))
    assert "beliefd[biscuit]" in error.message
    assert len(signing.ledger(session)) == before
    assert asked(signing, session, signing.token(session)).verdict == "allow"


# -- forms ----------------------------------------------------------------------------------------------

texts = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"], exclude_characters='"\\'),
    min_size=1,
    max_size=8,
)
narrowings = st.builds(
    Narrowing,
    tools=st.none()
    | st.lists(texts, min_size=1, max_size=3, unique=True).map(lambda some: tuple(sorted(some))),
    root=st.none() | texts.map(lambda name: f"/{name}"),
    hosts=st.none()
    | st.lists(texts, min_size=1, max_size=3, unique=True).map(lambda some: tuple(sorted(some))),
    expires_at=st.none() | st.just(SOON),
    agent_id=st.none() | texts,
)


@settings(max_examples=200, deadline=None)
@given(narrowings)
def test_a_narrowing_survives_being_written_into_a_token_and_read_from_it(narrowing: Narrowing) -> None:
    assert narrowing_of(source_of(narrowing)) == narrowing
    key = biscuit_auth.KeyPair()
    bare = PREFIX + biscuit_auth.BiscuitBuilder('capability("cap-1");').build(key.private_key).to_base64()
    given_fields = {name: getattr(narrowing, name) for name in narrowing.__struct_fields__}
    token = attenuate(bare, str(key.public_key), **given_fields)
    (found,) = read_token(token, str(key.public_key)).narrowed
    assert {name: set(getattr(found, name) or ()) for name in ("tools", "hosts")} == {
        name: set(getattr(narrowing, name) or ()) for name in ("tools", "hosts")
    }
    assert (found.root, found.expires_at, found.agent_id) == (
        narrowing.root,
        narrowing.expires_at,
        narrowing.agent_id,
    )


@pytest.mark.parametrize(
    "given_fields",
    [
        {"tools": ['a"b']},
        {"tools": ["a\\b"]},
        {"tools": []},
        {"agent_id": "a\nb"},
        {"root": '/x"'},
        {"expires_at": "soon"},
    ],
    ids=str,
)
def test_what_cannot_be_said_in_a_token_is_refused_by_who_would_say_it(given_fields: dict[str, Any]) -> None:
    key = biscuit_auth.KeyPair()
    bare = PREFIX + biscuit_auth.BiscuitBuilder('capability("cap-1");').build(key.private_key).to_base64()
    with pytest.raises((BeliefdError, ValueError)):
        attenuate(bare, str(key.public_key), **given_fields)
