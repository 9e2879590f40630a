"""Handlers that measure uncertainty, under the limits of the policy in force."""

from typing import Any

from beliefd.kernel.errors import invalid
from beliefd.kernel.policy import UncertaintyPolicy
from beliefd.protocol.uncertainty import (
    MAX_ANSWERS,
    ConformalCalibration,
    MeasureConfidence,
    MeasureConformalSet,
    MeasuredUncertainty,
    MeasureModelDisagreement,
    MeasureSemanticEntropy,
)
from beliefd.protocol.wire import convert
from beliefd.steward.calibrations import kept
from beliefd.steward.call import Call
from beliefd.steward.handle import Steward
from beliefd.steward.measuring import many
from beliefd.steward.offload import HEAVY_ITEMS, offload
from beliefd.stores.base import CalibrationRow
from beliefd.uncertainty.calibrations import calibrated, decoded
from beliefd.uncertainty.confidence_score import confidence_score, fit_isotonic, fit_temperature
from beliefd.uncertainty.conformal import Calibrated
from beliefd.uncertainty.equivalence.judges import MOST_ANSWERS, RECHECKED, Judges
from beliefd.uncertainty.equivalence.port import Judge
from beliefd.uncertainty.model_disagreement import model_disagreement
from beliefd.uncertainty.result import Measured
from beliefd.uncertainty.semantic_entropy import nearest_neighbour_entropy, semantic_entropy

Answers = MeasureSemanticEntropy | MeasureModelDisagreement


async def measure_semantic_entropy(steward: Steward, call: Call) -> MeasuredUncertainty:
    asked = convert(call.body, MeasureSemanticEntropy)
    return await offload(_heavy(asked), _entropy, asked, steward.judges, steward.policy.uncertainty)


async def measure_model_disagreement(steward: Steward, call: Call) -> MeasuredUncertainty:
    asked = convert(call.body, MeasureModelDisagreement)
    return await offload(_heavy(asked), _disagreement, asked, steward.judges, steward.policy.uncertainty)


async def measure_confidence(steward: Steward, call: Call) -> MeasuredUncertainty:
    asked = convert(call.body, MeasureConfidence)
    return await offload(asked.calibration is not None, _confidence, asked, steward.policy.uncertainty)


async def measure_conformal_set(steward: Steward, call: Call) -> MeasuredUncertainty:
    asked = await offload(_rows(call.body) > HEAVY_ITEMS, convert, call.body, MeasureConformalSet)
    if (asked.calibration is None) == (asked.calibration_set is None):
        raise invalid("give either `calibration` or `calibration_set`", "$.calibration")
    row = None
    if asked.calibration_set is not None:
        row = await kept(steward, asked.calibration_set, asked.calibration_version)
    elif asked.calibration_version is not None:
        raise invalid("only a kept set has versions; leave it out", "$.calibration_version")
    return await offload(True, _conformal, asked, row, steward.policy.uncertainty)


def _heavy(asked: Answers) -> bool:
    """Models are loaded and asked off the event loop, however few the answers."""
    return asked.judge != "lexical" or many(asked.answers)


def _entropy(asked: MeasureSemanticEntropy, judges: Judges, policy: UncertaintyPolicy) -> MeasuredUncertainty:
    if asked.kind == "nearest_neighbour":
        if asked.judge != "lexical":
            raise invalid("nearest-neighbour entropy asks no judge; leave it out", "$.judge")
        if asked.token_logprobs is not None:
            raise invalid("nearest-neighbour entropy weighs no answers; leave it out", "$.token_logprobs")
        return answered(nearest_neighbour_entropy(asked.answers, policy))
    judge, recheck = _judge(asked, judges)
    return answered(semantic_entropy(asked.answers, judge, asked.token_logprobs, policy, recheck))


def _disagreement(
    asked: MeasureModelDisagreement, judges: Judges, policy: UncertaintyPolicy
) -> MeasuredUncertainty:
    judge, recheck = _judge(asked, judges)
    return answered(model_disagreement(asked.answers, judge, policy, recheck))


def _judge(asked: Answers, judges: Judges) -> tuple[Judge, int]:
    """The judge that is asked for, and how many pairs to ask it about twice."""
    most = MOST_ANSWERS.get(asked.judge, MAX_ANSWERS)
    if len(asked.answers) > most:
        raise invalid(f"the judge `{asked.judge}` compares at most {most} answers", "$.answers")
    return judges.named(asked.judge), RECHECKED.get(asked.judge, 0)


def _confidence(asked: MeasureConfidence, policy: UncertaintyPolicy) -> MeasuredUncertainty:
    calibration = None
    if (given := asked.calibration) is not None:
        fit = fit_temperature if given.kind == "temperature" else fit_isotonic
        calibration = fit(given.confidences, given.correct)
    return answered(confidence_score(asked.confidence, asked.token_logprobs, calibration, policy))


def _conformal(
    asked: MeasureConformalSet, row: CalibrationRow | None, policy: UncertaintyPolicy
) -> MeasuredUncertainty:
    from beliefd.uncertainty.conformal import conformal_set, drift

    found = _given(asked, asked.calibration) if asked.calibration is not None else _kept(asked, row)
    measured, labels = conformal_set(found, asked.probabilities, asked.labels, asked.group, policy)
    warning = drift(found, asked.recent)
    return answered(measured, list(labels), warning, None if row is None else row.sha256)


def _kept(asked: MeasureConformalSet, row: CalibrationRow | None) -> Calibrated:
    assert row is not None  # noqa: S101
    given = decoded(row.document)
    if given.columns is not None and given.columns != len(asked.probabilities):
        raise invalid(
            f"{len(asked.probabilities)} labels, but {given.columns} in the calibration set",
            "$.probabilities",
        )
    if asked.score not in (None, given.score):
        raise invalid(f"the calibration set has `{given.score}` scores; leave it out", "$.score")
    return calibrated(given, asked.alpha)


def _given(asked: MeasureConformalSet, given: ConformalCalibration) -> Calibrated:
    from beliefd.uncertainty.conformal import calibrate, scores_of

    if given.probabilities and len(given.probabilities[0]) != len(asked.probabilities):
        raise invalid(
            f"{len(asked.probabilities)} labels, but {len(given.probabilities[0])} in the calibration",
            "$.probabilities",
        )
    if len(given.labels) != len(given.probabilities):
        raise invalid(
            f"{len(given.probabilities)} rows, but {len(given.labels)} labels", "$.calibration.labels"
        )
    if not given.probabilities:
        raise invalid("the calibration set is empty", "$.calibration")
    score = asked.score or "lac"
    scores = scores_of(given.probabilities, given.labels, score)
    return calibrate(scores, asked.alpha, score, groups=given.groups)


def answered(
    found: Measured,
    labels: list[str] | None = None,
    warning: str | None = None,
    calibration: str | None = None,
) -> MeasuredUncertainty:
    told = found.uncertainty
    return MeasuredUncertainty(
        method=told.method,
        value=told.value,
        interpretation=told.interpretation,
        gate_recommendation=told.gate_recommendation,
        measured=found.measured,
        clusters=[list(members) for members in found.clusters],
        nats=found.nats,
        judge=found.judge,
        judge_calls=found.judge_calls,
        labels=labels,
        warning=warning,
        calibration=calibration,
    )


def _rows(body: Any) -> int:
    given = body.get("calibration")
    rows = given.get("probabilities") if isinstance(given, dict) else None
    return len(rows) if isinstance(rows, list) else 0
