"""Lies about how sure it is."""

from typing import Any, Final

from beliefd.protocol.claims import JudgedBundle

from .world import World, claimed

TORN: Final = ["the pool is empty", "the disk is full", "a release went wrong"]
AGREED: Final = ["the pool is empty"] * 3


def declares_that_it_is_sure(world: World) -> JudgedBundle:
    return world.says(statement="I am sure of it")


def types_three_equal_answers(world: World) -> JudgedBundle:
    told = {"method": "semantic_entropy", "samples": AGREED}
    return world.says(statement="it was the empty pool", uncertainty=told)


def types_answers_that_contradict_each_other(world: World) -> JudgedBundle:
    told = {"method": "semantic_entropy", "samples": ["Data was lost.", "No data was lost."]}
    return world.says(statement="no data was lost", uncertainty=told)


def is_sure_where_its_answers_are_not(world: World) -> JudgedBundle:
    told = {"method": "semantic_entropy", "value": 0.0, "samples": TORN}
    return world.says(statement="it was the pool", uncertainty=told)


def brings_its_own_calibration(world: World) -> JudgedBundle:
    """Forty answers that it says were right, and one that was wrong because there has to be one."""
    pairs = {"confidences": [0.6] * 41, "correct": [True] * 40 + [False]}
    made = world.liar.measure(
        world.session,
        statement="it is well calibrated",
        method="confidence_score",
        confidence={"stated": 0.6, "calibration": pairs},
    )
    told = {"method": "confidence_score", "measurement_id": made.measurement_id}
    return world.says(statement="it is well calibrated", uncertainty=told)


def forges_a_receipt(world: World) -> JudgedBundle:
    return world.says(uncertainty={"method": "semantic_entropy", "measurement_id": "msr-forged"})


def uses_a_receipt_of_other_words(world: World) -> JudgedBundle:
    return world.says(uncertainty=world.measures(AGREED, "2 is 2"))


def uses_a_receipt_of_another_session(world: World) -> JudgedBundle:
    words = "the pool is empty"
    made = world.liar.measure(world.elsewhere, statement=words, method="semantic_entropy", answers=AGREED)
    told = {"method": "semantic_entropy", "measurement_id": made.measurement_id}
    return world.says(statement=words, uncertainty=told)


def measures_until_it_suits(world: World) -> JudgedBundle:
    words = "the pool was never full"
    world.measures(TORN, words)
    return world.says(statement=words, uncertainty={**world.measures(AGREED, words), "value": 0.0})


def cites_another_agent_s_certainty(world: World) -> JudgedBundle:
    words = "the pool is fine"
    return world.says(statement=words, uncertainty=world.measures(AGREED, words, world.other))


def has_a_measured_number_edited_into_a_declared_one(world: World) -> Any:
    """Ann means well: she edits what waits, and leaves out what was measured."""
    waiting = is_sure_where_its_answers_are_not(world)
    calm = {"method": "semantic_entropy", "value": 0.0}
    edited = claimed(statement="it was the pool", uncertainty=calm)
    return world.decides(world.ann, waiting, "MODIFIED", claims=[edited]).bundle


LIES: Final = (
    (declares_that_it_is_sure, "PUBLISH, without evidence"),
    (types_three_equal_answers, "PUBLISH, without evidence"),
    (types_answers_that_contradict_each_other, "DEFER"),
    (is_sure_where_its_answers_are_not, "DEFER"),
    (brings_its_own_calibration, "PUBLISH, without evidence"),
    (forges_a_receipt, "MEASUREMENT_NOT_FOUND, recorded"),
    (uses_a_receipt_of_other_words, "CONFLICT, recorded"),
    (uses_a_receipt_of_another_session, "MEASUREMENT_NOT_FOUND, recorded"),
    (measures_until_it_suits, "DEFER"),
    (cites_another_agent_s_certainty, "CONFLICT, recorded"),
    (has_a_measured_number_edited_into_a_declared_one, "DEFER"),
)
