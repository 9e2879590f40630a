"""Provenance is checked: who may say what they are, which inputs there are, which capabilities are held."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace
from rpds import HashTrieMap

from beliefd.kernel.canonical import canonical, digest
from beliefd.kernel.decide import decide
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.policy import recorded
from beliefd.kernel.substrate.commands import IssueCapability, Propose
from beliefd.kernel.substrate.events import CapabilityIssued
from beliefd.kernel.substrate.proposals import DeltaCandidate, Patch
from beliefd.kernel.substrate.provenance import CLAIMED_BY, SOURCES, Provenance
from beliefd.kernel.substrate.provenance_rules import MOST_INPUTS, RECORDS, is_recorded
from beliefd.kernel.substrate.state import GENESIS_SNAPSHOT
from beliefd.kernel.values import Role
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.envelope import read
from beliefd.ledger.transfer import entry_lines, header_line
from beliefd.testing.kernel import KernelSession
from beliefd.testing.world import AGENT, BY_ROLE, OTHER_AGENT, ROOT, World, policy, refused
from tests.substrate.conftest import Build
from tests.substrate.kernel import facts_of, session_with
from tests.substrate.support import (
    ALLOW_ALL,
    SUB_AGENT,
    ToolWorld,
    delta,
    one,
    rules,
    scope,
    tool_call,
    with_tools,
)

SAID = {
    Role.AGENT: {"agent"},
    Role.ENCODER: {"agent", "encoder", "observer"},
    Role.TOOL: {"agent", "tool", "observer"},
    Role.APPROVER: {"agent", "observer"},
    Role.ADMIN: {"agent", "observer"},
}
GOAL = [delta(goal__x=1)]
ENTRY = {"memory_id": "m", "kind": "derived", "value": 1, "confidence": 0.5, "ttl_ms": 9}
Act = Callable[..., Any]


def proposing(house: ToolWorld, session: str, who: Any = AGENT, **told: Any) -> Any:
    return house.person(who).propose(session, GOAL, **told)


def remembering(house: ToolWorld, session: str, who: Any = AGENT, **told: Any) -> Any:
    said = {"source": "agent", **told}
    return house.person(who).remember(session, {**ENTRY, "source_chunk_ids": ["c"], "provenance": said})


ACTS = pytest.mark.parametrize("act", [proposing, remembering])


def stopped(house: ToolWorld, session: str, code: Code, path: str, act: Callable[[], Any]) -> None:
    """Refused with its code and its path, and that is on record."""
    error = refused(code, act)
    assert (error.details or {})["path"] == path
    last = house.deltas(session)[-1]
    assert isinstance(last, Refused)
    assert (last.code, last.details["path"]) == (code, path)
    house.check(session)


def test_every_call_says_where_it_came_from_whoever_runs_it_and_if_a_person_was_asked() -> None:
    asks = {"v": 1, "effect": "deny", "subject": {"tool_id": "note.read"}, "on_fail": "ask"}
    with ToolWorld(policy=with_tools(rules(all=ALLOW_ALL, ask=asks), mine={"executor": "caller"})) as house:
        session = house.session()
        token = house.token(session)
        told: dict[str, Any] = {"source": "agent", "inputs": [GENESIS_SNAPSHOT]}
        house.agent.propose(session, [tool_call("calc.add", token, a=1, b=2)], **told)
        mine = {**tool_call("mine", token), "join_key": "j"}
        house.agent.propose(session, [mine], execute="caller", **told)
        waits = one(house.agent.propose(session, [tool_call("note.read", token)], **told))
        house.ann.approve(house.ann.show_approval(waits.approval_id or ""))
        calls = house.state(session).substrate.calls.values()
        said = msgspec.convert(told, Provenance)
        assert sorted((one.tool_id, one.provenance == said) for one in calls) == [
            *(("calc.add", True), ("mine", True)),
            ("note.read", True),
        ]
        house.check(session)


def test_the_table_of_sources_is_the_one_that_is_documented() -> None:
    assert {role: {one for one in SOURCES if role in CLAIMED_BY[one]} for role in Role} == SAID


@ACTS
@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("source", SOURCES)
def test_nobody_says_to_be_what_their_role_is_not(
    house: ToolWorld, act: Act, role: Role, source: Any
) -> None:
    session, who = house.session(), BY_ROLE[role]
    if source in SAID[role]:
        act(house, session, who, source=source)
        house.check(session)
    else:
        path = "$.provenance.source"
        stopped(house, session, Code.FORBIDDEN, path, lambda: act(house, session, who, source=source))


@ACTS
def test_inputs_are_records_of_the_session(build: Build, act: Act) -> None:
    house = build(policy=rules(all=ALLOW_ALL))
    session, other = house.session(), house.session()
    call = one(house.agent.propose(session, [tool_call("note.read", house.token(session))])).call_id or ""
    content = house.agent.store_content(b"a page").sha256
    house.agent.remember(session, {**ENTRY, "kind": "hypothesis", "memory_id": "known"})
    events = [entry.event_id for entry in house.entries(session)]
    known = [events[0], events[-1], call, f"call://{call}", content, "known", "genesis"]
    act(house, session, inputs=known)
    act(house, session, inputs=[])
    house.check(session)
    foreign = house.entries(other)[0].event_id
    unknown = ("nobody", foreign, hashlib.sha256(b"never stored").hexdigest(), f"call://{foreign}", "1")
    for name in unknown:
        stopped(
            house,
            session,
            Code.NOT_FOUND,
            "$.provenance.inputs[1]",
            lambda name=name: act(house, session, inputs=[call, name]),  # type: ignore[misc]
        )
    house.steward.in_force.adopt(
        policy(constraints={"constraint.a": ALLOW_ALL}, provenance={"inputs": "any"})
    )
    act(house, session, inputs=list(unknown))
    house.check(session)


PLACES = [
    ("substrate", "calls"),
    ("substrate", "memory"),
    ("claims", "bundles"),
    ("approvals", "by_id"),
    ("observations", "by_id"),
    ("measurements", "by_id"),
    ("experiments", "by_id"),
    ("experiments", "runs"),
    ("experiments", "evidence"),
]


@pytest.mark.parametrize(("part", "name"), PLACES)
def test_each_kind_of_record_is_looked_up(part: str, name: str) -> None:
    empty = session_with()
    assert not is_recorded(empty, "x")
    held: Any = replace(getattr(empty, part), **{name: HashTrieMap({"x": None})})
    assert is_recorded(replace(empty, **{part: held}), "x")
    assert len(PLACES) == len(RECORDS)


def test_content_of_another_space_is_no_input(house: ToolWorld) -> None:
    house.root.create_space("lab")
    content = house.root.store_content(b"of the lab", space="lab").sha256
    session = house.session()
    path = "$.provenance.inputs[0]"
    stopped(house, session, Code.NOT_FOUND, path, lambda: proposing(house, session, inputs=[content]))


def test_more_inputs_than_are_looked_up_are_refused(house: ToolWorld) -> None:
    session = house.session()
    event = house.entries(session)[0].event_id
    proposing(house, session, inputs=[event] * MOST_INPUTS)
    stopped(
        house,
        session,
        Code.INVALID_REQUEST,
        "$.provenance.inputs",
        lambda: proposing(house, session, inputs=[event] * (MOST_INPUTS + 1)),
    )


@ACTS
def test_permissions_are_capabilities_that_are_held(house: ToolWorld, act: Act) -> None:
    session = house.session()
    mine, gone = (house.token(session).partition(".")[0] for _ in range(2))
    theirs = house.token(session, SUB_AGENT).partition(".")[0]
    issued = house.root.issue_capability(
        session, agent_id=AGENT.id, scope={"tools": ["*"]}, expires_in_seconds=1
    )
    brief = issued.capability.capability_id
    act(house, session, permissions=[mine, f"{session}/{mine}"])
    act(house, session, permissions=[brief])
    house.root.revoke_capability(f"{session}/{gone}")
    house.clock.advance(5)
    for name in (theirs, gone, brief, "cap-nobody", f"other/{mine}"):
        stopped(
            house,
            session,
            Code.FORBIDDEN,
            "$.provenance.permissions[1]",
            lambda name=name: act(house, session, permissions=[mine, name]),  # type: ignore[misc]
        )


def test_a_snapshot_says_who_made_it_when_from_what_and_under_which_policy(build: Build) -> None:
    first = rules(all=ALLOW_ALL)
    house = build(policy=first)
    session = house.session()
    made = house.agent.propose(session, GOAL, inputs=["genesis"])
    entries = {one.event_id: read(one.record) for one in house.entries(session)}
    house.clock.advance(60)
    house.steward.in_force.adopt(rules(every=ALLOW_ALL))
    house.encoder.propose(session, [delta(fact__x=1)], source="encoder")
    now, past = house.agent.show_state(session), house.agent.show_state(session, at=made.audit_event_id)
    assert (now.agent_id, now.provenance and now.provenance.source) == ("encoder://eye", "encoder")
    assert now.created_at > past.created_at == entries[made.audit_event_id].ts
    assert past.agent_id == AGENT.id
    assert past.provenance is not None
    assert past.provenance.inputs == ("genesis",)
    assert past.created_under == past.policy_hash == policy_hash(first) != now.created_under
    begun = house.agent.show_state(session, at="genesis")
    assert (begun.agent_id, begun.provenance, begun.s_core) == (AGENT.id, None, None)
    assert begun.created_at == min(entry.ts for entry in entries.values())


def test_a_capability_says_under_which_policy_and_at_whose_word(house: ToolWorld) -> None:
    session = house.session()
    given = house.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]})
    narrowed = house.agent.issue_capability(
        session, agent_id=OTHER_AGENT.id, scope={"tools": ["note.read"]}, parent_token=given.token
    )
    for one_, through in ((given, ()), (narrowed, (given.capability.capability_id.rpartition("/")[2],))):
        view = one_.capability
        assert view.policy_hash == policy_hash(house.steward.in_force.policy)
        assert view.provenance is not None
        assert (view.provenance.source, view.provenance.permissions) == ("agent", through)
        assert view.provenance.timestamp == view.issued_at
    house.root.revoke_capability(narrowed.capability.capability_id)
    shown = house.agent.show_capability(session, narrowed.capability.capability_id)
    assert shown.provenance == narrowed.capability.provenance, "what ends it does not make it another one"
    house.check(session)


def test_what_policy_issues_says_so_too() -> None:
    issuing = {"name": "a", "roles": ["agent"], "scope": {"tools": ["*"]}}
    with ToolWorld(policy=policy(constraints={"constraint.a": ALLOW_ALL}, capabilities=[issuing])) as house:
        session = house.session()
        house.agent.propose(session, [tool_call("note.read", None)])
        (view,) = house.agent.list_capabilities(session).capabilities
        assert view.policy_hash == policy_hash(house.steward.in_force.policy)
        assert view.provenance is not None
        assert view.provenance.source == "agent"
        house.check(session)


def test_ledgers_whose_policy_says_nothing_of_it_are_decided_as_they_were() -> None:
    """INVARIANT: what was let through before anybody checked is let through when it is decided again."""
    earlier = recorded({"v": 1})
    assert earlier.provenance != policy().provenance
    command = IssueCapability(agent_id="a", scope=scope(), expires_in_seconds=9, secret_hash="0" * 64)
    event = decide(session_with(), command, facts_of(earlier, principal=ROOT))
    assert isinstance(event, CapabilityIssued)
    assert (event.capability.policy_hash, event.capability.provenance) == (UNSET, UNSET)


def test_an_exported_ledger_of_before_is_decided_again_byte_for_byte() -> None:
    """An agent that called itself an encoder, with inputs and permissions that nobody has."""
    told = Earlier(policy=recorded({"v": 1}))
    told.tell(IssueCapability(agent_id="a", scope=scope(), expires_in_seconds=9, secret_hash="0" * 64), ROOT)
    lies = Provenance(source="encoder", inputs=("nobody",), permissions=("cap-nobody",))
    change = DeltaCandidate(patch=Patch(set={"goal.x": {"v": 1}}))
    told.tell(Propose(provenance=lies, candidates=(change,)))
    with World() as world:
        world.import_ledger(told.export)
        world.check(told.session_id)
        (view,) = world.list_capabilities(told.session_id).capabilities
        assert (view.policy_hash, view.provenance) == (None, None)


class Earlier(KernelSession):
    """A session under a policy whose document has no `provenance`, as earlier versions wrote it."""

    @property
    def document(self) -> dict[str, Any]:
        written: dict[str, Any] = msgspec.to_builtins(self.policy)
        del written["provenance"]
        return written

    def _facts(self, *given: Any) -> Any:
        return replace(super()._facts(*given), policy_hash=digest(self.document))

    @property
    def export(self) -> bytes:
        header = header_line(self.session_id, self.head, {digest(self.document): canonical(self.document)})
        return header + b"".join(entry_lines(self.entries))
