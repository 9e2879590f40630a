"""What a claim rests on: pointers that lead somewhere, and states that nobody writes himself."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.policy import EvidencePolicy, EvidenceState
from beliefd.kernel.claims.resolving import standings
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.claims.tiers import NAMES
from beliefd.kernel.errors import Code
from beliefd.kernel.substrate.echo import MOST_PUT_IN
from beliefd.kernel.values import Tier
from beliefd.protocol.claims import JudgedBundle
from beliefd.steward.facts import examining
from beliefd.steward.facts.citing import MOST_HEARD
from beliefd.steward.handlers.claims import read_bundle
from beliefd.testing.world import AGENT, ANN, ENCODER, World, policy, refused
from tests.claims.support import DECLARED, bundle, claim, pointer
from tests.firewall.data import WAITS
from tests.firewall.lab import Lab
from tests.firewall.test_observing import ANYTHING, OTHER, RULES, called, opened, tools

NOBODY = "00" * 32
KNOWN = get_args(EvidenceState)
AGREED = ["the pool is full", "the pool is full.", "The pool is full"]
TORN = ["the pool is full", "the disk is slow", "a deploy went wrong"]


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with World(":memory:" if request.param == "memory" else tmp_path / "beliefd.db") as made:
        yield made


def fact(tier: str = "READ_ONLY", kind: str = "FACT", **changes: Any) -> dict[str, Any]:
    return claim(tier, kind, evidence_pointers=[pointer(**{"source_confidence": 1.0, **changes})])


def state(answer: JudgedBundle, name: str = "c1") -> tuple[str, str]:
    (one,) = answer.standings[name].evidence
    return one.state, one.by


def test_a_made_up_source_is_published_as_attested_and_never_as_a_standard_met(world: World) -> None:
    answer = world.agent.submit_claims(world.session(), bundle(fact(evidence_hash=NOBODY)))
    assert answer.decision == "PUBLISH"
    assert state(answer) == ("attested", "")
    told = "evidence is attested only: `https://example.org/paper` (nobody here has seen it)"
    assert answer.caveats == [f"c1: {told}", DECLARED]
    assert answer.gates[0].reason == told
    assert "meets the standard" not in str(answer)


@pytest.mark.parametrize("tier", [tier.name for tier in Tier if tier > Tier.READ_ONLY])
def test_from_write_limited_on_a_fact_needs_more_than_somebody_s_word(world: World, tier: str) -> None:
    answer = world.agent.submit_claims(world.session(), bundle(fact(tier, evidence_hash=NOBODY)))
    assert (answer.decision, answer.audit_trail.gates_failed) == ("DEFER", ("evidence",))
    assert "needs evidence that is stored here; the best of it is attested" in answer.reason
    published = world.ann.approve(answer)
    if published.outcome != "PUBLISH":  # the human gate asks for itself
        published = world.ann.approve(world.ann.list_approvals().approvals[0])
    assert published.bundle is not None
    assert any("attested only" in caveat for caveat in published.bundle.caveats)
    assert state(published.bundle)[0] == "attested"


def test_bytes_that_the_proposer_brought_are_fixed_and_still_attested(world: World) -> None:
    session = world.session()
    kept = world.agent.store_content(b"pool: 200 of 200")
    mine = world.agent.submit_claims(session, bundle(fact(evidence_hash=kept.sha256)))
    who = world.agent.principal.id
    told = f"its bytes are here, brought by {who} alone; no agent is a witness"
    assert state(mine) == ("attested", told)
    world.ann.store_content(b"pool: 200 of 200")
    hers = world.agent.submit_claims(session, bundle(fact("WRITE_LIMITED", evidence_hash=kept.sha256)))
    assert hers.decision == "PUBLISH"
    assert state(hers) == ("stored", f"brought by {world.ann.principal.id}")
    assert hers.gates[0].reason == "evidence meets the standard"


def test_who_edits_with_what_she_brought_herself_is_no_witness_of_it(world: World) -> None:
    kept = world.ann.store_content(b"hers")
    session = world.session()
    waiting = world.agent.submit_claims(session, bundle(fact("DELETE", evidence_hash=NOBODY)))
    edited = msgspec.to_builtins(
        msgspec.convert(fact("DELETE", evidence_hash=kept.sha256), type(waiting.claims[0]))
    )
    done = world.ann.decide(waiting, "MODIFIED", claims=[edited])
    assert done.bundle is not None
    assert state(done.bundle)[0] == "attested"


@given(
    st.sampled_from(["FACT", "INFERENCE", "DECISION"]),
    st.sampled_from(list(Tier)),
    st.dictionaries(st.sampled_from([tier.name for tier in Tier]), st.sampled_from(KNOWN)),
)
def test_what_is_said_of_a_tier_holds_until_the_next(kind: Any, tier: Tier, said: dict[Any, Any]) -> None:
    rules = EvidencePolicy(require={kind: said})
    below = [name for name in said if Tier[name] <= tier]
    asked = said[max(below, key=lambda name: Tier[name].value)] if below else "attested"
    before = msgspec.structs.replace(rules, otherwise="attested")
    assert before.required(kind, NAMES[tier]) == asked
    # The default of facts begins at WRITE_LIMITED: whoever names no tier from there on has not lowered it.
    named = any(Tier[name] >= Tier.WRITE_LIMITED for name in below)
    usual = "stored" if kind == "FACT" and tier >= Tier.WRITE_LIMITED and not named else "attested"
    assert rules.required(kind, NAMES[tier]) == max(asked, usual, key=KNOWN.index)
    assert EvidencePolicy(require="witnessed").required(kind, NAMES[tier]) == "witnessed"


@pytest.mark.parametrize("named", list(Tier))
@pytest.mark.parametrize("tier", list(Tier))
@pytest.mark.parametrize("word", KNOWN)
def test_naming_a_tier_never_loosens_the_default_of_one_that_is_not_named(
    named: Tier, tier: Tier, word: Any
) -> None:
    usual = EvidencePolicy().required("FACT", NAMES[tier])
    found = EvidencePolicy(require={"FACT": {NAMES[named]: word}}).required("FACT", NAMES[tier])
    if tier < named:
        assert found == usual
    elif named >= Tier.WRITE_LIMITED:
        assert found == word
    else:
        assert found == max(word, usual, key=KNOWN.index)


def test_a_fact_that_changes_things_waits_though_policy_restates_the_default_of_reading() -> None:
    with World(policy=policy(evidence={"require": {"FACT": {"READ_ONLY": "attested"}}})) as world:
        said = bundle(fact("MODIFY", evidence_hash=NOBODY))
        assert world.agent.submit_claims(world.session(), said).decision == "DEFER"


def test_policy_asks_for_witnessed_evidence_of_what_it_likes() -> None:
    rules = policy(evidence={"require": {"INFERENCE": {"MODIFY": "witnessed"}}})
    with World(policy=rules) as world:
        kept = world.ann.store_content(b"a page")
        session = world.session()
        said = world.agent.submit_claims(
            session, bundle(fact("MODIFY", "INFERENCE", evidence_hash=kept.sha256))
        )
        assert "needs evidence that is witnessed here; the best of it is stored" in said.reason
        bare = claim("MODIFY", "INFERENCE", evidence_pointers=[])
        assert "the best of it is none" in world.agent.submit_claims(session, bundle(bare)).reason
        low = world.agent.submit_claims(
            session, bundle(fact("READ_ONLY", "INFERENCE", evidence_hash=kept.sha256))
        )
        assert low.decision == "PUBLISH"


def test_a_well_known_source_that_is_not_good_does_not_lift_a_good_one_that_nobody_knows(
    world: World,
) -> None:
    kept = world.ann.store_content(b"a rumour, but stored")
    sources = [pointer(evidence_hash=kept.sha256, source_confidence=0.1), pointer(evidence_hash=NOBODY)]
    said = claim("WRITE_LIMITED", "FACT", evidence_pointers=sources)
    answer = world.agent.submit_claims(world.session(), bundle(said))
    assert (answer.decision, answer.audit_trail.gates_failed) == ("DEFER", ("evidence",))


def test_a_bundle_names_a_thousand_sources_and_no_more(world: World) -> None:
    many = [claim(kind="FACT", id=f"c{n}", evidence_pointers=[pointer()] * 100) for n in range(11)]
    session = world.session()
    error = refused(Code.INVALID_REQUEST, lambda: world.agent.submit_claims(session, bundle(*many)))
    assert "more than 1000 pointers in all" in error.message
    assert (
        world.agent.submit_claims(session, bundle(*many[:10])).standings["c9"].evidence[99].state
        == "attested"
    )


def test_the_result_of_a_call_is_witnessed_and_what_was_put_in_before_is_not() -> None:
    with World(policy=RULES, registry=tools()) as world:
        agent, session = opened(world)
        calls = {
            "pool.waits": called(world, session, "pool.waits"),
            "echo": called(world, session, "echo", said="the pool is full, 200 of 200 are in use"),
        }
        called(world, session, "keep", said="the disk is empty, nothing was ever written to it")
        calls["kept"] = called(world, session, "kept")
        state = world.state(session)
        for tool, call_id in calls.items():
            digest = state.substrate.calls[call_id].result_hash
            said = fact("WRITE_LIMITED", source=f"call://{call_id}", evidence_hash=digest)
            answer = agent.submit_claims(session, bundle(said))
            (one,) = answer.standings["c1"].evidence
            if tool == "pool.waits":
                assert (one.state, one.by) == ("witnessed", "the server saw `pool.waits` answer it")
                assert answer.decision == "PUBLISH"
            else:
                assert (one.state, answer.decision) == ("attested", "DEFER")
                assert one.by == f"the result of `{tool}` repeats what callers put in"
        other = fact("WRITE_LIMITED", source=f"call://{calls['pool.waits']}", evidence_hash=NOBODY)
        (one,) = agent.submit_claims(session, bundle(other)).standings["c1"].evidence
        assert (one.state, one.by) == ("attested", "the call has another hash")
        none = fact("WRITE_LIMITED", source="call://made-up", evidence_hash=NOBODY)
        (one,) = agent.submit_claims(session, bundle(none)).standings["c1"].evidence
        assert (one.state, one.by) == ("attested", "this session has no such call")
        elsewhere = opened(world)[1]
        said = fact("WRITE_LIMITED", source=f"call://{calls['pool.waits']}")
        said["evidence_pointers"][0]["evidence_hash"] = state.substrate.calls[calls["pool.waits"]].result_hash
        assert agent.submit_claims(elsewhere, bundle(said)).standings["c1"].evidence[0].state == "attested"
        world.check(session)


def test_too_many_sources_are_no_command_and_leave_nothing_behind(world: World) -> None:
    """What cannot be read is refused before it is one: no event, no item, no key used, by whichever way."""
    session = world.session()
    waiting = world.agent.submit_claims(session, bundle(claim("DELETE"), id="waits"))
    entries, listed = len(world.entries(session)), world.ann.list_approvals().approvals
    alone = [claim(evidence_pointers=[pointer()] * 101)]
    in_all = [claim(kind="FACT", id=f"c{n}", evidence_pointers=[pointer()] * 100) for n in range(11)]
    for claims in (alone, in_all):
        spoken = bundle(*claims, id="many")
        for act in (
            lambda spoken=spoken: world.agent.submit_claims(session, spoken, idempotency_key="k"),
            lambda spoken=spoken: world.agent.check_claims(spoken),
            lambda claims=claims: world.ann.modify(waiting, *claims),
        ):
            refused(Code.INVALID_REQUEST, act)
        (line,) = world.agent.batch(session, [{"verb": "SUBMIT_CLAIMS", **spoken}])
        assert line["error"]["code"] == Code.INVALID_REQUEST
    assert len(world.entries(session)) == entries
    assert world.ann.list_approvals().approvals == listed
    refused(Code.BUNDLE_NOT_FOUND, lambda: world.agent.show_claims(session, "many"))
    assert world.agent.submit_claims(session, bundle(claim()), idempotency_key="k").decision == "PUBLISH"
    assert world.ann.approve(waiting).outcome == "PUBLISH"
    world.check(session)


def test_calls_that_were_not_looked_at_say_so_and_are_not_called_repetitions() -> None:
    with World(policy=RULES, registry=tools()) as world:
        agent, session = opened(world)
        calls = [called(world, session, "pool.waits") for _ in range(MOST_HEARD + 1)]
        known = world.state(session).substrate.calls
        cited = [pointer(source=f"call://{one}", evidence_hash=str(known[one].result_hash)) for one in calls]
        said = claim("WRITE_LIMITED", "FACT", evidence_pointers=cited)
        found = agent.submit_claims(session, bundle(said)).standings["c1"].evidence
        assert [one.state for one in found] == ["witnessed"] * MOST_HEARD + ["attested"]
        assert found[-1].by == "not looked at: more than 16 calls are cited"
        told = agent.submit_claims(session, bundle(claim(evidence_pointers=cited)))
        assert any("(not looked at: more than 16 calls are cited)" in one for one in told.caveats)
        # One elimination cites so many things at most, and all of them are looked at.
        cites = [{"call": one} for one in calls[:-1]]
        gone = agent.eliminate(session, source_id="tool://x", observation_id="o", eliminated=[], cites=cites)
        assert gone.label == "witnessed"
        world.check(session)


def test_what_another_agent_puts_in_by_the_megabyte_takes_no_witness_from_a_result() -> None:
    with World(policy=RULES, registry=tools()) as world:
        agent, session = opened(world)
        # More than is compared, from one who is not the caller.
        for mark in "abc":
            called(world, session, "echo", OTHER, said=mark * 400_000)
        call_id = called(world, session, "pool.waits")
        digest = world.state(session).substrate.calls[call_id].result_hash
        said = fact("WRITE_LIMITED", source=f"call://{call_id}", evidence_hash=digest)
        answer = agent.submit_claims(session, bundle(said))
        assert (answer.decision, answer.standings["c1"].evidence[0].state) == ("PUBLISH", "witnessed")
        cites = [{"call": call_id}]
        gone = agent.eliminate(session, source_id="tool://x", observation_id="o", eliminated=[], cites=cites)
        assert gone.label == "witnessed"
        # To his own results it counts, and the reason is the true one.
        for mark in "abc":
            called(world, session, "echo", said=mark * 400_001)
        answer = agent.submit_claims(session, bundle(fact("WRITE_LIMITED", **_cited(world, session))))
        (one,) = answer.standings["c1"].evidence
        assert one.state == "attested"
        assert one.by == f"not looked at: {AGENT.id} had put more than {MOST_PUT_IN} characters into calls"
        world.check(session)


def _cited(world: World, session: str) -> dict[str, str]:
    """What cites a call that is made now."""
    call_id = called(world, session, "pool.waits")
    digest = world.state(session).substrate.calls[call_id].result_hash
    return {"source": f"call://{call_id}", "evidence_hash": str(digest)}


def test_content_that_was_not_hashed_again_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examining, "MOST_HASHED", 2)
    kept = sorted(world.ann.store_content(f"reading {n}".encode()).sha256 for n in range(3))
    said = claim(evidence_pointers=[pointer(evidence_hash=one) for one in kept])
    session = world.session()
    found = world.agent.submit_claims(session, bundle(said)).standings["c1"].evidence
    assert [one.state for one in found] == ["stored", "stored", "attested"]
    assert found[2].by == "not looked at: more than 2 stored contents are cited"
    world.check(session)


def test_observations_are_as_good_as_their_witnesses(world: World) -> None:
    session = world.session()
    hers = world.ann.observe(session, quantity="wait", values=[1.0, 2.0])
    mine = world.agent.observe(session, quantity="wait", values=[1.0, 2.5])
    for seen, expected in ((hers, "witnessed"), (mine, "attested")):
        said = fact(source=f"observation://{seen.observation_id}", evidence_hash=seen.digest)
        answer = world.agent.submit_claims(session, bundle(said))
        assert answer.standings["c1"].evidence[0].state == expected


def test_minted_evidence_is_witnessed_if_its_data_are() -> None:
    lab = Lab()
    lab.proposition("p1")
    good, fragile = lab.evidence("p1"), lab.evidence("p1", body=1, fragile=True)
    typed = lab.evidence("p1", typed=True)
    for minted, expected in ((good, "witnessed"), (fragile, "attested"), (typed, "attested")):
        source = f"evidence://{minted.evidence_id}"
        said = read_bundle(bundle(fact(source=source, evidence_hash=minted.result_hash)))
        known = standings(said, lab.state, ClaimFindings(threat=Threat(detector="d")), (AGENT.id,))
        assert known["c1"].evidence[0].state == expected


def test_what_is_passed_on_to_another_tool_stays_witnessed() -> None:
    with World(policy=RULES, registry=tools()) as world:
        agent, session = opened(world)
        call_id = called(world, session, "pool.waits")
        call = world.state(session).substrate.calls[call_id]
        said = fact("WRITE_LIMITED", source=f"call://{call_id}", evidence_hash=call.result_hash)
        assert agent.submit_claims(session, bundle(said)).standings["c1"].evidence[0].state == "witnessed"
        world.clock.advance(60)
        called(world, session, "keep", OTHER, waits=WAITS, rows=[{"wait": {"ms": one}} for one in WAITS])
        assert agent.submit_claims(session, bundle(said)).standings["c1"].evidence[0].state == "witnessed"
        seen = agent.observe(session, quantity="wait", unit="ms", call_id=call_id, pointer="/waits")
        assert seen.label == "witnessed"


def test_evidence_is_attested_to_whoever_brought_its_data() -> None:
    lab = Lab()
    lab.proposition("p1")
    minted = lab.evidence("p1")
    said = read_bundle(
        bundle(fact(source=f"evidence://{minted.evidence_id}", evidence_hash=minted.result_hash))
    )
    for who, expected in ((AGENT, "witnessed"), (ENCODER, "attested")):
        known = standings(said, lab.state, ClaimFindings(threat=Threat(detector="d"), tools={}), (who.id,))
        assert known["c1"].evidence[0].state == expected


def test_whom_a_relay_speaks_for_is_no_witness_and_no_approver() -> None:
    with World(policy=policy(security={"relays": {AGENT.id: [ANN.id]}})) as world:
        kept = world.ann.store_content(b"hers")
        session = world.session()
        said = {**bundle(fact("DELETE", evidence_hash=kept.sha256)), "origin_agent": ANN.id}
        answer = world.agent.submit_claims(session, said)
        assert state(answer)[0] == "attested"
        refused(Code.FORBIDDEN, lambda: world.ann.approve(answer))
        assert world.bob.approve(answer).status == "approved"


def test_what_was_rejected_still_says_what_it_rested_on(world: World) -> None:
    session = world.session()
    waiting = world.agent.submit_claims(session, bundle(fact("WRITE_LIMITED", evidence_hash=NOBODY)))
    world.ann.reject(waiting)
    assert state(world.agent.show_claims(session, waiting.id))[0] == "attested"


def test_a_quotation_does_not_look_like_our_words(world: World) -> None:
    source = "a` (the server saw it answer),\n `b"
    answer = world.agent.submit_claims(world.session(), bundle(fact(source=source, evidence_hash=NOBODY)))
    assert answer.caveats == [
        "c1: evidence is attested only: `a' (the server saw it answer), 'b` (nobody here has seen it)",
        DECLARED,
    ]


def test_what_goes_into_a_tool_while_a_call_runs_can_be_repeated_by_it() -> None:
    registry, running, told = tools(), threading.Event(), threading.Event()

    @registry.tool("late", schema=ANYTHING)
    def late(**_: Any) -> dict[str, Any]:
        running.set()
        assert told.wait(30)
        return {"waits": WAITS, "note": "the pool is empty and nobody can pay any more"}

    with World(policy=RULES, registry=registry) as world, ThreadPoolExecutor(1) as apart:
        agent, session = opened(world)
        asked = apart.submit(called, world, session, "late")
        assert running.wait(30)
        world.clock.advance(60)
        called(world, session, "keep", waits=WAITS, note="the pool is empty and nobody can pay any more")
        told.set()
        call_id = asked.result()
        call = world.state(session).substrate.calls[call_id]
        said = fact("WRITE_LIMITED", source=f"call://{call_id}", evidence_hash=call.result_hash)
        assert agent.submit_claims(session, bundle(said)).standings["c1"].evidence[0].state == "attested"
        seen = agent.observe(session, quantity="wait", unit="ms", call_id=call_id, pointer="/waits")
        assert seen.label == "attested"
