"""Ledgers from elsewhere are marked, and nothing that was said in them is authority here."""

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.intents.warrant import counted, warrant_of
from beliefd.kernel.policy import FirewallPolicy
from beliefd.kernel.system.events import LedgerImported
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.transfers.events import LedgerReceived
from beliefd.kernel.transfers.folds import ledger_received
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Head
from beliefd.ledger.state_hash import STATE_HASH_EVERY
from beliefd.testing.frozen import Clock
from beliefd.testing.world import AGENT, ROOT, Person, World, policy, refused
from tests.claims.support import bundle, claim
from tests.claims.test_resting import fact
from tests.cli.runner import beliefd
from tests.conformance.node import verify_with_node
from tests.firewall.lab import Lab
from tests.firewall.test_observing import RULES, called, opened, tools
from tests.ledger.ledgers import parts

TWO = policy(
    approvals={
        "require_human": ["MODIFY", "DELETE", "PRIVILEGE"],
        "approvers": {"DELETE": {"required": 2}},
    }
)
ONE = policy(approvals={"require_human": ["MODIFY", "DELETE", "PRIVILEGE"]})


def eliminate(who: Person, session: str, name: str, observation: str = "o") -> None:
    who.eliminate(session, source_id="s", observation_id=observation, eliminated=[name], justification={})


def folds_alike_in_node(world: World, session: str) -> None:
    """The hash of a state that was taken in is in the ledger, and node comes to it, too."""
    conclude = {"verb": "DECLARE_CONCLUSION", "conclusion_id": "c"}
    world.agent.batch(session, [conclude] * STATE_HASH_EVERY)
    export = world.root.export(session)
    assert any("state_hash" in entry for entry in parts(export)[1])
    told = verify_with_node(export)
    assert told.code == 0, told


@pytest.fixture
def there() -> Iterator[World]:
    with World(policy=ONE) as world:
        yield world


@pytest.fixture
def here() -> Iterator[World]:
    with World(policy=ONE, clock=Clock(1)) as world:
        yield world


def test_an_import_names_who_what_and_from_where_and_the_ledger_stays_as_it_came(
    there: World, here: World
) -> None:
    session = there.session()
    export = there.root.export(session)
    imported = here.root.import_ledger(export, source="the lab in Bern")
    assert here.root.export(session) == export
    (told,) = [one for one in here.deltas(SYSTEM) if isinstance(one, LedgerImported)]
    assert (told.session_id, told.foreign.by, told.foreign.source) == (session, ROOT.id, "the lab in Bern")
    assert told.foreign.file_sha256 == hashlib.sha256(export).hexdigest()
    assert told.foreign.head == there.run(lambda: there.store.head(session))
    assert imported.snapshot.foreign == told.foreign
    shown = here.agent
    assert shown.query_belief(session).foreign == told.foreign
    assert shown.query_belief(session, at=1).foreign == told.foreign
    assert [one.foreign for one in shown.list_sessions().sessions] == [told.foreign]
    assert shown.why(session, "h1").foreign == told.foreign
    here.check(session)
    here.check(SYSTEM)


def test_the_first_event_here_says_where_it_came_from(there: World, here: World) -> None:
    session = there.session()
    here.root.import_ledger(there.root.export(session))
    here.forget()  # another process knows it, too
    eliminate(here.agent, session, "h1", "o")
    _, taken, eliminated = here.deltas(session)
    assert isinstance(taken, LedgerReceived)
    assert taken.foreign.by == ROOT.id
    assert eliminated.eliminated == ("h1",)
    eliminate(here.agent, session, "h1", "o2")
    assert sum(isinstance(one, LedgerReceived) for one in here.deltas(session)) == 1
    assert here.agent.query_belief(session).foreign == taken.foreign
    here.check(session)
    assert verify_with_node(here.root.export(session)).code == 0


def test_a_grant_from_elsewhere_is_not_honoured(there: World, here: World) -> None:
    session = there.session()
    there.ann.give_grant(session, principal=AGENT.id, tiers=["MODIFY"], expires_in_seconds=10_000, max_uses=9)
    assert there.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "PUBLISH"
    here.root.import_ledger(there.root.export(session))
    (grant,) = here.agent.list_grants(session).grants
    assert grant.revoked_at is not None
    assert here.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "ESCALATE"
    here.check(session)


def test_words_that_were_said_elsewhere_do_not_count() -> None:
    with World(policy=TWO) as there, World(policy=TWO, clock=Clock(1)) as here:
        session = there.session()
        judged = there.agent.submit_claims(session, bundle(claim("DELETE")))
        assert there.ann.approve(judged).approval.status == "pending"
        here.root.import_ledger(there.root.export(session))
        card = here.bob.show_approval(str(judged.approval_id))
        assert card.approvals == []
        assert card.foreign is not None
        assert here.bob.approve(card).approval.status == "pending"
        assert here.ann.approve(card).approval.status == "approved"
        here.check(session)
        assert verify_with_node(here.root.export(session)).code == 0


def test_who_brings_a_ledger_does_not_approve_what_waits_in_it(there: World, here: World) -> None:
    """An admin can have written every word in it, in anybody's name."""
    session = there.session()
    judged = there.agent.submit_claims(session, bundle(claim("MODIFY")))
    here.root.import_ledger(there.root.export(session))
    card = here.root.show_approval(str(judged.approval_id))
    assert ROOT.id in card.proposers
    refused(Code.FORBIDDEN, lambda: here.root.approve(card))
    assert here.ann.approve(card).approval.status == "approved"


def test_a_capability_from_elsewhere_is_not_honoured(there: World, here: World) -> None:
    session = there.session()
    there.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]}, expires_in_seconds=10_000)
    here.root.import_ledger(there.root.export(session))
    eliminate(here.agent, session, "h1", "o")
    (capability,) = here.state(session).substrate.capabilities.values()
    assert capability.revoked_at is not None
    here.check(session)


def test_a_boost_from_elsewhere_is_none_here_and_what_was_interrupted_there_stays_so(
    there: World, here: World
) -> None:
    """What makes a session do less is kept: nobody but a person of this server makes it do more."""
    session = there.session()
    there.ann.set_mode(session, "boost", "an incident there")
    there.ann.interrupt(session, "user_intent", "wait")
    here.root.import_ledger(there.root.export(session))
    assert here.agent.show_schedule(session).mode == "normal"
    eliminate(here.agent, session, "h1", "o")
    shown = here.agent.show_schedule(session)
    assert (shown.mode, shown.interruption is not None) == ("normal", True)
    refused(Code.FORBIDDEN, lambda: here.agent.resume(session, "I brought it"))
    here.check(session)
    assert verify_with_node(here.root.export(session)).code == 0


@pytest.mark.parametrize("first", [True, False])
def test_a_yes_from_elsewhere_confirms_no_memory(there: World, here: World, first: bool) -> None:
    session = there.session()
    yes = there.ann.approve(there.agent.submit_claims(session, bundle(claim("DELETE")))).audit_event_id
    entry = {"memory_id": "m", "kind": "fact", "value": "it is so", "confidence": 0.9}
    there.agent.remember(session, {**entry, "confirmed_by_event_id": yes})
    here.root.import_ledger(there.root.export(session))
    if not first:
        eliminate(here.agent, session, "h1", "o")
    (kept,) = here.agent.list_memory(session).entries
    assert (kept.confirmed, kept.review_due) == (False, True)
    assert "elsewhere" in kept.doubt
    another = {**entry, "memory_id": "n", "confirmed_by_event_id": yes}
    again = partial(here.agent.remember, session, another)
    assert "imported" in refused(Code.INVALID_REQUEST, again).message
    own = here.ann.approve(here.agent.submit_claims(session, bundle(claim("DELETE")))).audit_event_id
    folds_alike_in_node(here, session)
    assert here.agent.remember(session, {**entry, "confirmed_by_event_id": own}).memory.confirmed
    assert [one.doubt for one in here.agent.list_memory(session).entries] == [""]
    here.check(session)


def test_a_result_from_elsewhere_was_not_seen_by_this_server() -> None:
    with (
        World(policy=RULES, registry=tools()) as there,
        World(policy=RULES, registry=tools(), clock=Clock(1)) as here,
    ):
        agent, session = opened(there)
        call_id = called(there, session, "pool.waits")
        result = there.state(session).substrate.calls[call_id].result_hash
        here.root.import_ledger(there.export(session))
        agent = here.person(agent.principal)
        said: dict[str, Any] = {"source_id": "s", "observation_id": "o", "justification": {}}
        cited = said | {"cites": [{"call": call_id}]}
        assert agent.eliminate(session, **cited, eliminated=["disk_full"]).label == "attested"
        seen = agent.observe(session, quantity="wait", unit="ms", call_id=call_id, pointer="/waits")
        assert seen.label == "attested"
        claimed = fact("WRITE_LIMITED", source=f"call://{call_id}", evidence_hash=result)
        (standing,) = agent.submit_claims(session, bundle(claimed)).standings["c1"].evidence
        assert (standing.state, "elsewhere" in standing.by) == ("attested", True)
        own = called(here, session, "pool.waits")
        seen = agent.observe(session, quantity="wait", unit="ms", call_id=own, pointer="/waits")
        assert seen.label == "witnessed"
        here.check(session)
        folds_alike_in_node(here, session)


def test_what_somebody_saw_elsewhere_nobody_has_seen_here(there: World, here: World) -> None:
    session = there.session()
    seen = there.ann.observe(session, quantity="q", values=[1.0, 2.0]).observation_id
    said: dict[str, Any] = {"source_id": "s", "observation_id": "o", "justification": {}}
    cited = said | {"cites": [{"observation": seen}]}
    told = there.agent.eliminate(session, **cited, eliminated=["h1"])
    assert (told.label, told.snapshot.rests_on.witnessed) == ("witnessed", 1)
    there.agent.declare_conclusion(session, "free")
    imported = here.root.import_ledger(there.root.export(session))
    assert (imported.snapshot.rests_on.witnessed, imported.snapshot.rests_on.attested) == (0, 1)
    seen_there, seen_here = (
        one.agent.query_belief(session).conclusions_rest_on["free"].witnessed for one in (there, here)
    )
    assert (seen_there, seen_here) == (1, 0)
    told = here.agent.eliminate(session, **cited, eliminated=["h2"])
    assert (told.label, told.snapshot.rests_on.witnessed) == ("attested", 0)
    assert here.agent.query_belief(session).conclusions_rest_on["free"].witnessed == 0
    here.check(session)
    folds_alike_in_node(here, session)


def test_evidence_from_elsewhere_is_attested_and_so_is_what_runs_on_its_data() -> None:
    lab = Lab()
    lab.proposition("c")
    lab.observed(2)
    minted = lab.evidence("c", body=1)
    assert minted.witnessed
    before = lab.state
    foreign = Foreign(head=Head(seq=9, event_id="e", hash="0" * 64), by=ROOT.id, at="", file_sha256="")
    after = ledger_received(before, LedgerReceived(foreign=foreign, at=""))
    assert {one.label for one in after.experiments.evidence.values()} == {"attested"}
    assert {one.label for one in after.experiments.by_id.values()} == {"attested"}
    assert {one.witnesses for one in after.observations.by_id.values()} == {()}
    warrant = warrant_of(counted(after, "c"), FirewallPolicy())
    assert (warrant.attested, warrant_of(counted(before, "c"), FirewallPolicy()).attested) == (True, False)


def test_a_terminated_session_is_marked_too(there: World, here: World) -> None:
    session = there.session()
    there.root.request_termination(session, context={"force": True})
    here.root.import_ledger(there.root.export(session))
    refused(Code.SESSION_TERMINATED, lambda: eliminate(here.agent, session, "h1", "o"))
    assert isinstance(here.deltas(session)[-2], LedgerReceived)
    here.check(session)


def test_where_it_came_from_is_said_in_few_words(there: World, here: World) -> None:
    export = there.root.export(there.session())
    for odd in ("", "x" * 513, "two\nlines"):
        refused(Code.INVALID_REQUEST, partial(here.root.import_ledger, export, source=odd))
    assert here.run(lambda: here.store.head(SYSTEM)) is None
    here.root.import_ledger(export, source="x" * 512)


def test_a_session_of_our_own_does_not_become_foreign(there: World) -> None:
    session = there.session()
    refused(Code.CONFLICT, lambda: there.root.import_ledger(there.root.export(session)))
    assert there.run(lambda: there.store.head(SYSTEM)) is None
    assert there.agent.query_belief(session).foreign is None


def test_what_went_through_several_hands_is_foreign_again(there: World, here: World) -> None:
    session = there.session()
    here.root.import_ledger(there.root.export(session), source="first")
    here.ann.give_grant(session, principal=AGENT.id, tiers=["MODIFY"], expires_in_seconds=9_999, max_uses=9)
    with World(policy=ONE, clock=Clock(2)) as third:
        third.root.import_ledger(here.root.export(session), source="second")
        assert third.agent.submit_claims(session, bundle(claim("MODIFY"))).decision == "ESCALATE"
        foreign = third.agent.query_belief(session).foreign
        assert foreign is not None
        assert foreign.source == "second"
        assert sum(isinstance(one, LedgerReceived) for one in third.deltas(session)) == 2
        third.check(session)


def test_people_see_it_on_the_command_line(there: World, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("cli")
    session = there.session()
    (folder / "ledger.jsonl").write_bytes(there.root.export(session))
    at = ("--data", folder / "data")
    taken = beliefd("audit", "import", folder / "ledger.jsonl", "--source", "Bern", *at)
    assert "foreign up to event 1: imported by operator://local from Bern" in taken.output
    assert "foreign" in beliefd("session", "list", *at).output
    assert "from Bern" in beliefd("session", "why", session, "h1", *at).output
    assert "IMPORT_LEDGER" in beliefd("audit", "show", "system", *at).output
