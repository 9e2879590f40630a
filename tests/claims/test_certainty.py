"""Certainty that was measured of these very words: receipts, whose they are, and which of them count."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from beliefd.kernel.claims.policy import MeasurementRule, UncertaintyPolicy
from beliefd.kernel.claims.standing import ClaimStanding
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.measurements.state import gist_digest, words_digest
from beliefd.protocol.claims import JudgedBundle
from beliefd.testing.world import World, policy, refused
from tests.claims.support import DECLARED, UNNAMED, bundle, claim, nothing_happens
from tests.firewall.test_observing import OTHER

NOBODY = "00" * 32
AGREED = ["the pool is full", "the pool is full.", "The pool is full"]
OWN = (
    "c1: uncertainty is attested only: semantic_entropy by the lexical judge over 3 answers, "
    "given by agent://writer"
)
TORN = ["the pool is full", "the disk is slow", "a deploy went wrong"]


@pytest.fixture(params=["memory", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    with World(":memory:" if request.param == "memory" else tmp_path / "beliefd.db") as made:
        yield made


def sampled(samples: list[str], value: float | None = None, **changes: Any) -> dict[str, Any]:
    told = {"method": "semantic_entropy", "samples": samples, **({} if value is None else {"value": value})}
    return claim(uncertainty=told, claim_type="INFERENCE", **changes)


def citing(name: str, method: str = "semantic_entropy", **changes: Any) -> dict[str, Any]:
    told = {"method": method, "measurement_id": name}
    return claim(uncertainty=told, claim_type="INFERENCE", **changes)


def measured(answer: JudgedBundle) -> Any:
    return answer.standings.get("c1", ClaimStanding()).measured


def test_declared_and_measured_never_change_places(world: World) -> None:
    answer = world.agent.submit_claims(world.session(), bundle(sampled(AGREED, 0.6)))
    assert answer.claims[0].uncertainty.value == 0.6
    assert measured(answer).value == 0
    assert answer.caveats == [UNNAMED, OWN, "c1: declared uncertainty of 0.6 is above 0.5"]


def test_an_edit_does_not_put_a_declared_number_in_place_of_a_measured_one(world: World) -> None:
    waiting = world.agent.submit_claims(world.session(), bundle(sampled(TORN)))
    assert waiting.decision == "DEFER"
    calm = {"method": "semantic_entropy", "value": 0.0}
    edited = world.ann.decide(waiting, "MODIFIED", claims=[claim(uncertainty=calm, claim_type="INFERENCE")])
    assert edited.bundle is not None
    assert (edited.bundle.decision, measured(edited.bundle).value) == ("DEFER", 1)
    assert "measured uncertainty of 1.0" in edited.bundle.reason


def test_an_edit_of_the_words_makes_the_measurement_void_and_says_so(world: World) -> None:
    waiting = world.agent.submit_claims(world.session(), bundle(sampled(TORN)))
    name = str(waiting.claims[0].uncertainty.measurement_id)
    other = "rotate every log file"
    session = world.ann.list_approvals().approvals[0].session_id
    why = nothing_happens(
        world,
        session,
        Code.CONFLICT,
        lambda: world.ann.decide(waiting, "MODIFIED", claims=[citing(name, statement=other)]),
    )
    assert "was made for other words" in why
    calm = {"method": "semantic_entropy", "value": 0.0}
    edited = world.ann.decide(
        waiting, "MODIFIED", claims=[claim(uncertainty=calm, claim_type="INFERENCE", statement=other)]
    )
    assert edited.bundle is not None
    assert measured(edited.bundle) is UNSET
    void = "c1: the measured uncertainty of 1.0 was of other words and is void"
    assert void in edited.bundle.caveats
    published = world.bob.approve(edited.bundle)
    assert published.bundle is not None
    assert (published.bundle.decision, void in published.bundle.caveats) == ("PUBLISH", True)


def test_what_was_measured_stays_after_approval_and_the_card_shows_the_answers(world: World) -> None:
    waiting = world.agent.submit_claims(world.session(), bundle(sampled(TORN)))
    assert waiting.approval_id is not None
    card = world.ann.show_approval(waiting.approval_id)
    assert card.standings["c1"].measured.value == 1
    assert [one.answers for one in card.measurements] == [TORN]
    decided = world.ann.approve(waiting)
    assert decided.bundle is not None
    assert decided.bundle.decision == "PUBLISH"
    assert measured(decided.bundle).value == 1
    assert any("measured uncertainty of 1.0" in caveat for caveat in decided.bundle.caveats)
    shown = world.agent.show_claims(card.session_id, waiting.id)
    assert measured(shown).value == 1
    after = world.ann.show_approval(card.approval_id)
    assert (after.standings, after.measurements) == (card.standings, card.measurements)


def test_receipts_that_are_made_up_or_of_other_words_or_sessions_are_refused(world: World) -> None:
    session, other = world.session(), world.session()
    receipt = world.agent.measure(
        session, statement="rotate the log file", method="semantic_entropy", answers=AGREED
    )
    cited = world.agent.submit_claims(session, bundle(citing(receipt.measurement_id)))
    assert (cited.decision, measured(cited).measurement_id) == ("PUBLISH", receipt.measurement_id)
    spaced = citing(receipt.measurement_id, statement=" rotate  the log file.")
    assert world.agent.submit_claims(session, bundle(spaced)).decision == "PUBLISH"
    for where, said, code in (
        (session, citing("msr-made-up"), Code.MEASUREMENT_NOT_FOUND),
        (other, citing(receipt.measurement_id), Code.MEASUREMENT_NOT_FOUND),
        (session, citing(receipt.measurement_id, statement="rotate no log file"), Code.CONFLICT),
        (session, citing(receipt.measurement_id, method="model_disagreement"), Code.CONFLICT),
    ):
        nothing_happens(world, where, code, partial(world.agent.submit_claims, where, bundle(said)))
    assert world.agent.verify(session).ok


def test_all_receipts_of_the_same_words_count_so_nobody_picks(world: World) -> None:
    session = world.session()
    for answers in (TORN, AGREED):
        receipt = world.agent.measure(
            session, statement="rotate the log file", method="semantic_entropy", answers=answers
        )
    answer = world.agent.submit_claims(session, bundle(citing(receipt.measurement_id)))
    assert (answer.decision, measured(answer).value, measured(answer).receipts) == ("DEFER", 1, 2)
    # What counts is told with its own receipt, and the one that is cited beside it.
    first, second = world.agent.list_measurements(session).measurements
    assert measured(answer).measurement_id == first.measurement_id
    assert measured(answer).cited.measurement_id == second.measurement_id
    assert [one.measurement_id for one in world.ann.show_approval(str(answer.approval_id)).measurements] == [
        first.measurement_id,
        second.measurement_id,
    ]
    calm = claim(uncertainty={"method": "semantic_entropy", "value": 0.0}, claim_type="INFERENCE")
    assert world.agent.submit_claims(session, bundle(calm)).decision == "DEFER"


def test_what_another_agent_measured_cannot_hold_up_who_did_not(world: World) -> None:
    session = world.session()
    said: dict[str, Any] = {
        "statement": "rotate the log file",
        "method": "semantic_entropy",
        "answers": TORN,
    }
    world.person(OTHER).measure(session, **said)
    calm = claim(uncertainty={"method": "semantic_entropy", "value": 0.0}, claim_type="INFERENCE")
    assert world.agent.submit_claims(session, bundle(calm)).decision == "PUBLISH"
    world.ann.measure(session, **said)
    answer = world.agent.submit_claims(session, bundle(calm))
    assert (answer.decision, measured(answer).label) == ("DEFER", "witnessed")


def test_a_value_is_told_as_that_of_who_measured_it(world: World) -> None:
    session, words = world.session(), "rotate the log file"
    world.agent.measure(session, statement=words, method="semantic_entropy", answers=TORN)
    hers = world.ann.measure(session, statement=words, method="semantic_entropy", answers=AGREED)
    answer = world.agent.submit_claims(session, bundle(citing(hers.measurement_id)))
    found = measured(answer)
    assert (found.value, found.label, found.cited.label, found.cited.value) == (1, "attested", "witnessed", 0)
    assert f"given by {world.agent.principal.id}" in answer.reason
    assert world.ann.principal.id not in answer.reason


@pytest.mark.parametrize(
    ("rule", "lacks"),
    [
        ({}, None),
        ({"min_k": 3}, None),
        ({"min_k": 4}, "over 4 answers or more; semantic_entropy compared 3"),
        ({"judges": ["lexical"]}, None),
        ({"judges": ["embedding"]}, "with the judge embedding, not lexical"),
        ({"methods": ["conformal_set"]}, "by conformal_set, not by semantic_entropy"),
        ({"witnessed": True}, "whose answers somebody else has drawn, such as the server (`asked`)"),
    ],
)
def test_policy_says_what_a_measurement_must_be(rule: dict[str, Any], lacks: str | None) -> None:
    with World(policy=policy(uncertainty={"require": {"WRITE_LIMITED": rule}})) as world:
        session = world.session()
        answer = world.agent.submit_claims(session, bundle({**sampled(AGREED), "risk_tier": "MODIFY"}))
        assert answer.decision == ("PUBLISH" if lacks is None else "DEFER")
        if lacks is not None:
            assert answer.reason == f"uncertainty gate: MODIFY needs a measurement {lacks}"
        low = claim(uncertainty={"method": "semantic_entropy", "value": 0.1}, claim_type="INFERENCE")
        assert world.agent.submit_claims(session, bundle(low)).decision == "PUBLISH"
        high = world.agent.submit_claims(session, bundle({**low, "risk_tier": "WRITE_LIMITED"}))
        assert "needs a measurement and cites none; make one of " in high.reason


def test_one_word_asks_for_measurements_everywhere() -> None:
    assert UncertaintyPolicy(require="measured").required("READ_ONLY") == MeasurementRule()
    assert UncertaintyPolicy(require="witnessed").required("READ_ONLY") == MeasurementRule(witnessed=True)
    assert UncertaintyPolicy().required("PRIVILEGE") is None


def test_an_uncertainty_says_something_or_is_refused_with_its_path(world: World) -> None:
    session = world.session()
    bare = claim(uncertainty={"method": "semantic_entropy"})
    error = refused(Code.INVALID_REQUEST, lambda: world.agent.submit_claims(session, bundle(bare)))
    assert (error.details or {})["path"] == "$.claims[0].uncertainty.value"
    both = {"method": "semantic_entropy", "samples": AGREED, "measurement_id": "msr-1"}
    with pytest.raises(BeliefdError, match="either `samples` or a `measurement_id`"):
        world.agent.submit_claims(session, bundle(claim(uncertainty=both)))


def test_all_four_methods_reach_a_claim(world: World) -> None:
    session = world.session()
    scores = [n / 100 for n in range(100)]
    world.root.store_calibration("causes", model="m", scores=scores)
    labelled = {"confidences": [0.9] * 40, "correct": [True, False] * 20}
    raw: dict[str, dict[str, Any]] = {
        "semantic_entropy": {"answers": AGREED},
        "model_disagreement": {"answers": TORN},
        "confidence_score": {"confidence": {"stated": 0.9, "calibration": labelled}},
        "conformal_set": {"conformal": {"probabilities": [0.7, 0.2, 0.1], "calibration_set": "causes"}},
    }
    for place, (method, material) in enumerate(raw.items()):
        words = f"words {place}"
        receipt = world.agent.measure(session, statement=words, method=method, **material)
        assert (receipt.method, receipt.label, receipt.statement) == (method, "attested", words)
        answer = world.agent.submit_claims(
            session, bundle(citing(receipt.measurement_id, method, statement=words))
        )
        assert measured(answer).value == receipt.value
    # Stated 0.9, and half of such answers were right: calibrated, the confidence is about a half.
    assert 0.4 < world.agent.list_measurements(session).measurements[2].value < 0.6
    assert world.agent.verify(session).ok


RIGHT = {"confidences": [0.5 + n / 100 for n in range(40)], "correct": [n != 3 for n in range(40)]}
PAIRS = ", ".join(f"{0.5 + n / 100:g} {'wrong' if n == 3 else 'right'}" for n in range(20))


@pytest.mark.parametrize(
    ("method", "material", "told"),
    [
        (
            "confidence_score",
            {"confidence": {"stated": 0.9, "calibration": RIGHT}},
            [
                "a stated confidence of 0.9",
                f"calibrated by 40 pairs that agent://writer gave, 39 of them right: {PAIRS} and 20 more",
            ],
        ),
        (
            "confidence_score",
            {"confidence": {"token_logprobs": [-0.5] * 30}},
            [f"30 log-probabilities of tokens: {', '.join(['-0.5'] * 20)} and 10 more"],
        ),
        (
            "conformal_set",
            {"conformal": {"probabilities": [0.7, 0.2, 0.1], "calibration_set": "causes", "group": "g"}},
            [
                "probabilities of 3 labels: 0.7, 0.2, 0.1",
                "calibrated by the kept set causes, alpha 0.1, group g",
            ],
        ),
    ],
)
def test_the_card_shows_the_numbers_that_were_measured_and_who_chose_the_yardstick(
    world: World, method: str, material: dict[str, Any], told: list[str]
) -> None:
    scores = [n / 100 for n in range(100)]
    world.root.store_calibration("causes", model="m", scores=scores, groups=["g"] * 100)
    session = world.session()
    receipt = world.agent.measure(session, statement="words", method=method, **material)
    assert (receipt.numbers, receipt.answers, receipt.label) == (told, [], "attested")
    assert world.agent.list_measurements(session).measurements[0].numbers == []
    said = {**citing(receipt.measurement_id, method, statement="words"), "risk_tier": "DELETE"}
    waiting = world.agent.submit_claims(session, bundle(said))
    assert f"c1: uncertainty is attested only: {method}, given by agent://writer" in waiting.caveats
    assert world.ann.show_approval(str(waiting.approval_id)).measurements[0].numbers == told


@pytest.mark.parametrize(
    ("method", "material", "told"),
    [
        ("confidence_score", {"confidence": {"stated": 0.9}}, "a stated number alone measures nothing"),
        ("confidence_score", {"answers": AGREED}, "is measured from `confidence`"),
        ("semantic_entropy", {}, "give one of"),
        ("semantic_entropy", {"answers": ["", " "]}, "all answers are empty"),
        (
            "conformal_set",
            {"conformal": {"probabilities": [0.5, 0.5], "calibration_set": "none"}},
            "no calibration",
        ),
        ("semantic_entropy", {"asked": {}}, "no model to ask"),
    ],
)
def test_what_cannot_be_measured_has_no_receipt(
    world: World, method: str, material: dict[str, Any], told: str
) -> None:
    session = world.session()
    with pytest.raises(BeliefdError, match=told):
        world.agent.measure(session, statement="words", method=method, **material)
    assert world.agent.list_measurements(session).measurements == []


def test_a_stated_confidence_is_not_measured(world: World) -> None:
    assert not world.agent.measure_confidence(0.9).measured
    assert world.agent.measure_confidence(token_logprobs=[-0.1]).measured


@given(st.text(max_size=40), st.text(max_size=40))
def test_words_are_the_same_whatever_their_spaces_and_their_gist_whatever_their_case(
    one: str, two: str
) -> None:
    assert words_digest(f"  {one}  {two} . ") == words_digest(f"{one} {two}")
    assert gist_digest(f"x {one.upper()}") == gist_digest(f"X {one.upper().lower()}") or not one.isascii()
    if one.strip().isalnum():
        for digest in (words_digest, gist_digest):
            assert digest(f"not {one}") != digest(one)


def test_a_receipt_of_another_agent_cannot_be_cited(world: World) -> None:
    session = world.session()
    other = world.person(OTHER)
    made = other.measure(session, statement="rotate the log file", method="semantic_entropy", answers=AGREED)
    why = nothing_happens(
        world,
        session,
        Code.CONFLICT,
        partial(world.agent.submit_claims, session, bundle(citing(made.measurement_id))),
    )
    assert f"only {OTHER.id} vouches for" in why


@pytest.mark.parametrize(
    "words",
    [
        "Rotate the log file!",
        "rotate the l\u043eg file",
        "rotate the log\u200b file",
        "rotate the log file?)",
    ],
)
def test_words_that_only_look_other_are_still_doubtful(world: World, words: str) -> None:
    session = world.session()
    said = {"method": "semantic_entropy", "answers": TORN}
    world.agent.measure(session, statement="rotate the log file", **said)  # type: ignore[arg-type]
    fresh = world.agent.measure(session, statement=words, method="semantic_entropy", answers=AGREED)
    answer = world.agent.submit_claims(session, bundle(citing(fresh.measurement_id, statement=words)))
    assert (answer.decision, measured(answer).value) == ("DEFER", 1)


@pytest.mark.parametrize(("measured_of", "said"), [("5 mW", "5 MW"), ("10\u00b2 of them", "102 of them")])
def test_a_receipt_is_of_these_very_words(world: World, measured_of: str, said: str) -> None:
    session = world.session()
    made = world.ann.measure(session, statement=measured_of, method="semantic_entropy", answers=AGREED)
    said_of = bundle(citing(made.measurement_id, statement=said))
    nothing_happens(world, session, Code.CONFLICT, partial(world.agent.submit_claims, session, said_of))


def test_marks_on_letters_take_no_more_time_than_letters() -> None:
    """Twice the marks take about twice the time: a normal form of the whole text would take four times."""

    def cost(count: int) -> float:
        text = "a" + "\u0301\u0316" * count
        best = []
        for _ in range(5):
            started = time.process_time()
            gist_digest(text)
            words_digest(text)
            best.append(time.process_time() - started)
        return min(best)

    assert cost(64_000) < 40 * cost(4_000)


@pytest.mark.parametrize(
    ("measured_of", "said"),
    [
        ("The balance is 5 EUR.", "The balance is -5 EUR."),
        ("Deploy \u2705", "Deploy \u274c"),
        ("No, data was lost.", "No data was lost."),
    ],
)
def test_what_others_measured_of_words_that_look_alike_vouches_for_nothing(
    world: World, measured_of: str, said: str
) -> None:
    session = world.session()
    world.ann.measure(session, statement=measured_of, method="semantic_entropy", answers=["yes"] * 3)
    low = {"method": "confidence_score", "value": 0.0}
    answer = world.agent.submit_claims(session, bundle(claim(uncertainty=low, statement=said)))
    assert (answer.decision, measured(answer)) == ("PUBLISH", UNSET)
    assert DECLARED in answer.caveats
    # The claim's own words, as she measured them, need no caveat, whatever was measured of others.
    same = world.agent.submit_claims(session, bundle(claim(uncertainty=low, statement=measured_of)))
    assert measured(same).label == "witnessed"
    assert not any("uncertainty" in one for one in same.caveats)
    # By the proposer alone is still by nobody else.
    own = {"method": "semantic_entropy", "samples": AGREED}
    third = world.agent.submit_claims(session, bundle(claim(uncertainty=own, statement=said)))
    assert (measured(third).label, measured(third).receipts) == ("attested", 1)
    assert any("attested only" in one for one in third.caveats)
    world.check(session)


def test_what_was_measured_of_words_that_look_alike_raises_and_says_of_what_it_was() -> None:
    calm = policy(uncertainty={"explain_above": 0.98, "defer_above": 0.99})
    with World(policy=calm) as world:
        session = world.session()
        torn = ["the pool is full", "the pool is full", "the disk is slow"]
        hers = world.ann.measure(session, statement="5 mW!", method="semantic_entropy", answers=torn)
        low = {"method": "confidence_score", "value": 0.0}
        answer = world.agent.submit_claims(session, bundle(claim(uncertainty=low, statement="5 MW")))
        found = measured(answer)
        assert (found.measurement_id, found.own_words) == (hers.measurement_id, "declared")
        assert found.value == hers.value > 0
        assert found.how.endswith("given by human://ann, of words that look like these")
        assert DECLARED in answer.caveats
        own = {"method": "semantic_entropy", "samples": AGREED}
        answer = world.agent.submit_claims(session, bundle(claim(uncertainty=own, statement="5 MW")))
        assert (measured(answer).value, measured(answer).own_words) == (hers.value, "attested")
        assert any("attested only" in one for one in answer.caveats)
        world.ann.measure(session, statement="5 MW", method="semantic_entropy", answers=AGREED)
        answer = world.agent.submit_claims(session, bundle(claim(uncertainty=low, statement="5 MW")))
        assert (measured(answer).value, measured(answer).own_words) == (hers.value, "witnessed")
        assert not any("uncertainty" in one for one in answer.caveats)
        world.check(session)


def test_before_there_was_a_caveat_words_that_look_alike_counted_as_the_same() -> None:
    with World(policy=policy(uncertainty={"unwitnessed": "untold"})) as world:
        session = world.session()
        world.ann.measure(session, statement="5 mW", method="semantic_entropy", answers=AGREED)
        low = {"method": "confidence_score", "value": 0.0}
        found = measured(world.agent.submit_claims(session, bundle(claim(uncertainty=low, statement="5 MW"))))
        assert (found.label, found.receipts, found.own_words) == ("witnessed", 1, UNSET)
        world.check(session)
