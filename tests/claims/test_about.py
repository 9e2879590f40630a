"""What a claim is about is looked up in its session: nobody states as a fact what was ruled out."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from beliefd.kernel.claims.about import About
from beliefd.kernel.claims.bundle import ClaimBundle, content_hash
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.errors import Code
from beliefd.kernel.intents.state import Proposition
from beliefd.kernel.state import Session
from beliefd.kernel.subjects import subjects
from beliefd.protocol.claims import JudgedBundle
from beliefd.testing.world import ONTOLOGY, World, refused
from tests.claims.support import DECLARED, UNNAMED, bundle, claim, stored
from tests.firewall.lab import Lab

GONE = {"hypothesis": "gone"}


@pytest.fixture
def house() -> Iterator[World]:
    with World() as opened:
        yield stored(opened)


def opened(house: World, *hypotheses: str) -> str:
    return house.agent.declare_session(["gone", *hypotheses], ONTOLOGY).session_id


def eliminate(house: World, session: str, *names: str) -> str:
    said = house.agent.eliminate(session, source_id="s", observation_id="o", eliminated=names)
    return said.audit_event_id


def submit(
    house: World, session: str, kind: str, about: dict[str, str], tier: str = "READ_ONLY"
) -> JudgedBundle:
    return house.agent.submit_claims(session, bundle(claim(tier, kind, about=about)))


@pytest.mark.parametrize("kind", ["FACT", "INFERENCE", "DECISION"])
def test_a_fact_about_what_fell_is_refused_and_the_event_is_named(house: World, kind: str) -> None:
    session = opened(house, "a", "b")
    eliminate(house, session, "a")
    event_id = eliminate(house, session, "gone")
    eliminate(house, session, "gone")
    answer = submit(house, session, kind, GONE)
    told = f"hypothesis `gone` was eliminated by event `{event_id}`"
    (result,) = (one for one in answer.gates if one.observed == "eliminated")
    assert (result.gate, result.claim_id, result.reason) == ("evidence", "c1", told)
    if kind == "FACT":
        assert (answer.decision, answer.reason) == ("REFUSE", f"evidence gate: {told}")
    else:
        # A DECISION that names no action waits for a person, whatever it is about.
        expected = "PUBLISH" if kind == "INFERENCE" else "ESCALATE"
        assert (answer.decision, answer.caveats) == (expected, [UNNAMED, f"c1: {told}", DECLARED])
    house.check(session)


def test_one_of_several_carries_how_many_others_stand(house: World) -> None:
    session = opened(house, "a", "b", "c")
    about = {"hypothesis": "a"}
    expected = {"gone": "2 others stand", "b": "1 other stands"}
    for name, told in expected.items():
        eliminate(house, session, name)
        answer = submit(house, session, "FACT", about)
        assert answer.decision == "PUBLISH"
        assert answer.caveats == [f"c1: hypothesis `a` is not the only one: {told}", DECLARED]
    eliminate(house, session, "c")
    assert submit(house, session, "FACT", about).caveats == [DECLARED]


def test_where_nothing_stands_that_is_said_and_where_all_has_ended_nothing_is(house: World) -> None:
    session = opened(house)
    eliminate(house, session, "gone")
    answer = submit(house, session, "INFERENCE", GONE)
    assert answer.caveats[1].endswith("; no hypothesis of the session stands")
    house.request_termination(session, context={"force": True})
    refused(Code.SESSION_TERMINATED, lambda: submit(house, session, "INFERENCE", GONE))


def test_what_was_never_declared_is_no_subject(house: World) -> None:
    session = opened(house, "a")
    claims = bundle(claim(), claim(id="c2", about={"hypothesis": "zebra"}))
    error = refused(Code.INVALID_REQUEST, lambda: house.agent.submit_claims(session, claims))
    assert error.details is not None
    assert error.details["path"] == "$.claims[1].about.hypothesis"
    assert "audit_event_id" in error.details, "it is recorded"


def test_an_edit_is_held_to_the_same(house: World) -> None:
    session = opened(house, "a")
    card = submit(house, session, "DECISION", {"hypothesis": "a"}, "DELETE")
    zebra = claim("DELETE", about={"hypothesis": "zebra"})
    error = refused(Code.INVALID_REQUEST, lambda: house.ann.modify(card, zebra))
    assert (error.details or {})["path"] == "$.claims[0].about.hypothesis"
    eliminate(house, session, "gone")
    house.ann.modify(card, claim("DELETE", "FACT", about=GONE))
    (edited,) = (one for one in house.agent.list_claims(session).claims if one.claims[0].claim_type == "FACT")
    assert edited.decision == "REFUSE"
    house.check(session)


def test_it_is_judged_again_when_a_person_decides(house: World) -> None:
    """A person's yes is to what stood when it was asked for; what fell since then is refused all the same."""
    session = opened(house, "a")
    card = submit(house, session, "FACT", GONE, "DELETE")
    assert card.decision == "ESCALATE"
    event_id = eliminate(house, session, "gone")
    decided = house.ann.approve(card)
    assert decided.bundle is not None
    assert decided.bundle.decision == "REFUSE"
    assert event_id in decided.bundle.reason
    house.check(session)


def test_an_approval_binds_what_a_claim_is_about() -> None:
    def read(**more: Any) -> ClaimBundle:
        return msgspec.convert(bundle(claim(**more)), ClaimBundle)

    plain, about, other = read(), read(about=GONE), read(about={"proposition": "gone"})
    assert len({content_hash(one) for one in (plain, about, other)}) == 3
    assert "about" not in msgspec.to_builtins(plain.claims[0]), "what says nothing hashes as it always did"


@pytest.mark.parametrize("given", [{}, {"hypothesis": "h", "proposition": "p"}], ids=["neither", "both"])
def test_a_claim_is_about_one_thing(house: World, given: dict[str, str]) -> None:
    session = opened(house)
    error = refused(Code.INVALID_REQUEST, lambda: submit(house, session, "FACT", given))
    assert error.message == "give exactly one of `hypothesis` and `proposition`"
    assert error.details == {"path": "$.claims[0].about"}


def test_without_a_session_nothing_is_known_of_it(house: World) -> None:
    answer = house.agent.check_claims(bundle(claim(kind="FACT", about=GONE)))
    assert answer.decision == "PUBLISH"
    assert answer.caveats == ["c1: what it is about is looked up only in a session", DECLARED]


def test_samples_and_kebab_case_keep_what_a_claim_is_about(house: World) -> None:
    session = opened(house, "a")
    measured = {"method": "semantic_entropy", "samples": ["yes", "yes"]}
    sent = bundle(claim(kind="INFERENCE", about=GONE, uncertainty=measured))
    assert house.agent.submit_claims(session, sent).claims[0].about == About(hypothesis="gone")


# ---- propositions --------------------------------------------------------------------------------


def judged(house: World, session: str, kind: str) -> JudgedBundle:
    return submit(house, session, kind, {"proposition": "p"})


def test_a_claim_about_no_proposition_is_refused_whatever_it_is(house: World) -> None:
    session = opened(house)
    for kind in ("FACT", "INFERENCE", "DECISION"):
        answer = judged(house, session, kind)
        assert answer.decision == "REFUSE"
        assert answer.reason == "evidence gate: there is no proposition `p` in this session"


def test_the_status_of_a_proposition_is_told(house: World) -> None:
    session = opened(house, "a")
    change = {"type": "create_proposition", "claim_id": "p", "statement": "it is so"}
    staged = house.agent.stage_intent(session, change)
    assert staged.approval_id is not None
    card = house.ann.show_approval(staged.approval_id)
    house.ann.decide_approval(card.approval_id, "APPROVED", content_hash=card.content_hash)
    for kind in ("FACT", "INFERENCE"):
        answer = judged(house, session, kind)
        assert answer.decision == "PUBLISH"
        unnamed = [] if kind == "FACT" else [UNNAMED]
        assert answer.caveats == [*unnamed, "c1: proposition `p` has the status: unresolved", DECLARED]


def with_proposition(**changes: Any) -> Session:
    lab = Lab()
    lab.proposition("p")
    known: Proposition = lab.state.intents.propositions["p"]
    changed = msgspec.structs.replace(known, **changes)
    intents = lab.state.intents.changed_by((), (changed,))
    return msgspec.structs.replace(lab.state, intents=intents)


@pytest.mark.parametrize(
    ("changes", "state", "words"),
    [
        ({"status": "refuted", "evidence_ids": ("ev-1",)}, "gone", "refuted by ev-1"),
        ({"status": "proven", "evidence_ids": ("ev-1", "ev-2")}, "stands", "proven by ev-1, ev-2"),
        (
            {"status": "supported", "evidence_ids": tuple(f"ev-{n}" for n in range(7))},
            "stands",
            "supported by ev-0, ev-1, ev-2, ev-3, ev-4 and 2 more",
        ),
        ({"status": "unresolved", "quarantined": True}, "stands", "unresolved, quarantined"),
        (
            {"status": "unresolved", "evidence_ids": ("ev-1",), "fell": "it was supported"},
            "stands",
            "unresolved; it was supported",
        ),
    ],
    ids=lambda one: one["status"] if isinstance(one, dict) else "",
)
def test_how_a_proposition_stands_in_words(changes: dict[str, Any], state: str, words: str) -> None:
    claims = msgspec.convert(bundle(claim(about={"proposition": "p"})), ClaimBundle).claims
    found = subjects(with_proposition(**changes), claims, {})["c1"]
    assert (found.state, found.words) == (state, f"proposition `p` has the status: {words}")


def test_a_fact_about_what_was_refuted_is_refused() -> None:
    lab = Lab()
    lab.proposition("p")
    lab.clock.advance(60)
    evidence = lab.evidence("p", "refute")
    lab.stage("refute_claim", "p", evidence_ids=(evidence.evidence_id,))
    lab.decide("APPROVED")
    assert lab.status("p") == "refuted"
    for kind, decision in (("FACT", "REFUSE"), ("INFERENCE", "DEFER")):
        given = msgspec.convert(bundle(claim(kind=kind, about={"proposition": "p"})), ClaimBundle)
        event: Any = lab.ask(SubmitClaims(bundle=given))
        told = f"proposition `p` has the status: refuted by {evidence.evidence_id}"
        assert event.gated.bundle.decision == decision, "where no detector ran, a person is asked"
        assert [one.reason for one in event.gated.results if one.observed == "refuted"] == [told]
