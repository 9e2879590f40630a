"""Handlers that measure uncertainty, and of the calibration sets that are kept for it."""

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct

from beliefd.kernel.claims.policy import UncertaintyPolicy
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.protocol.uncertainty import (
    AppendCalibration,
    CalibrationAnswer,
    ConformalCalibration,
    MeasureConfidence,
    MeasureConformalSet,
    MeasuredUncertainty,
    MeasureModelDisagreement,
    MeasureSemanticEntropy,
    ScoreKind,
    StoreCalibration,
)
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.environment import Environment
from beliefd.steward.facts.measuring import many
from beliefd.steward.handlers.shared import view_of
from beliefd.steward.offload import HEAVY_ITEMS, offload
from beliefd.steward.policies import PolicyInForce
from beliefd.stores.base import CalibrationRow, Store
from beliefd.uncertainty.calibrations import (
    Calibrated,
    CalibrationSet,
    calibrated,
    decoded,
    drifted,
    encoded,
    joined,
    version_hash,
)
from beliefd.uncertainty.confidence_score import confidence_score, fit_isotonic, fit_temperature
from beliefd.uncertainty.equivalence.judges import Judges
from beliefd.uncertainty.model_disagreement import model_disagreement
from beliefd.uncertainty.result import Measured
from beliefd.uncertainty.semantic_entropy import nearest_neighbour_entropy, semantic_entropy

Answers = MeasureSemanticEntropy | MeasureModelDisagreement
Comparing = Callable[[Any, Judges, UncertaintyPolicy], MeasuredUncertainty]


class UncertaintyHandlers(Struct, frozen=True):
    """Measuring, without a session and without a record."""

    store: Store
    in_force: PolicyInForce
    judges: Judges

    async def measure_semantic_entropy(self, call: Call) -> MeasuredUncertainty:
        return await self._compared(_entropy, convert(call.body, MeasureSemanticEntropy))

    async def measure_model_disagreement(self, call: Call) -> MeasuredUncertainty:
        return await self._compared(_disagreement, convert(call.body, MeasureModelDisagreement))

    async def _compared(self, method: Comparing, asked: Answers) -> MeasuredUncertainty:
        heavy = not self.judges.light(asked.judge) or many(asked.answers)
        return await offload(
            heavy, method, asked, self.judges, self.in_force.policy.uncertainty, kind="measure"
        )

    async def measure_confidence(self, call: Call) -> MeasuredUncertainty:
        asked = convert(call.body, MeasureConfidence)
        return await offload(
            asked.calibration is not None,
            _confidence,
            asked,
            self.in_force.policy.uncertainty,
            kind="measure",
        )

    async def measure_conformal_set(self, call: Call) -> MeasuredUncertainty:
        asked = await offload(
            _rows(call.body) > HEAVY_ITEMS, convert, call.body, MeasureConformalSet, kind="measure"
        )
        if (asked.calibration is None) == (asked.calibration_set is None):
            raise invalid("give either `calibration` or `calibration_set`", "$.calibration")
        row = None
        if asked.calibration_set is not None:
            row = await kept(self.store, asked.calibration_set, asked.calibration_version)
        elif asked.calibration_version is not None:
            raise invalid("only a kept set has versions; leave it out", "$.calibration_version")
        return await offload(True, _conformal, asked, row, self.in_force.policy.uncertainty, kind="measure")


def _entropy(asked: MeasureSemanticEntropy, judges: Judges, policy: UncertaintyPolicy) -> MeasuredUncertainty:
    if asked.kind == "nearest_neighbour":
        if asked.judge is not None:
            raise invalid("nearest-neighbour entropy asks no judge; leave it out", "$.judge")
        if asked.token_logprobs is not None:
            raise invalid("nearest-neighbour entropy weighs no answers; leave it out", "$.token_logprobs")
        return answered(nearest_neighbour_entropy(asked.answers, policy))
    judge, recheck = judges.chosen(asked.judge, len(asked.answers))
    return answered(semantic_entropy(asked.answers, judge, asked.token_logprobs, policy, recheck))


def _disagreement(
    asked: MeasureModelDisagreement, judges: Judges, policy: UncertaintyPolicy
) -> MeasuredUncertainty:
    judge, recheck = judges.chosen(asked.judge, len(asked.answers))
    return answered(model_disagreement(asked.answers, judge, policy, recheck))


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
    given = decoded(row.document, row.sha256)
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
    return view_of(
        MeasuredUncertainty,
        found,
        method=told.method,
        value=told.value,
        interpretation=told.interpretation,
        gate_recommendation=told.gate_recommendation,
        clusters=[list(members) for members in found.clusters],
        labels=labels,
        warning=warning,
        calibration=calibration,
    )


def _rows(body: Any) -> int:
    given = body.get("calibration")
    rows = given.get("probabilities") if isinstance(given, dict) else None
    return len(rows) if isinstance(rows, list) else 0


ATTEMPTS: Final = 20
Given = StoreCalibration | AppendCalibration


class CalibrationHandlers(Struct, frozen=True):
    """Calibration sets, each version kept."""

    store: Store
    environment: Environment

    async def store_calibration(self, call: Call) -> CalibrationAnswer:
        """A new version that takes the place of the old one; the same set again makes none."""
        asked = await offload(True, convert, bind(call.body, call.path), StoreCalibration, kind="measure")
        new = await offload(True, _scored, asked, asked.model, asked.score, kind="measure")
        document = await offload(True, encoded, new, kind="measure")
        for _ in range(ATTEMPTS):
            newest = await self.store.calibration(asked.name)
            if newest is not None and newest.document == document:
                return await offload(True, described, newest, kind="measure")
            if (row := await self._add_version(asked.name, newest, document)) is not None:
                return await offload(True, described, row, kind="measure")
        raise _contended(asked.name)

    async def append_calibration(self, call: Call) -> CalibrationAnswer:
        """A new version with more scores, and a warning if they do not look like those before them."""
        asked = await offload(True, convert, bind(call.body, call.path), AppendCalibration, kind="measure")
        for _ in range(ATTEMPTS):
            newest = await kept(self.store, asked.name)
            old = await offload(True, decoded, newest.document, newest.sha256, kind="measure")
            new = await offload(True, _scored, asked, old.model, old.score, kind="measure")
            document = await offload(True, lambda old=old, new=new: encoded(joined(old, new)), kind="measure")
            if (row := await self._add_version(asked.name, newest, document)) is not None:
                warning = await offload(True, drifted, old, new.scores, kind="measure")
                return await offload(True, described, row, warning, kind="measure")
        raise _contended(asked.name)

    async def show_calibration(self, call: Call) -> CalibrationAnswer:
        return await offload(
            True, described, await kept(self.store, call.path["name"], call.query["version"]), kind="measure"
        )

    async def _add_version(
        self, name: str, newest: CalibrationRow | None, document: bytes
    ) -> CalibrationRow | None:
        """The next version, or None if somebody else was faster."""
        row = CalibrationRow(
            name=name,
            version=1 if newest is None else newest.version + 1,
            sha256=version_hash(document),
            created_at=self.environment.now(),
            document=document,
        )
        return row if await self.store.add_calibration(row) else None


async def kept(store: Store, name: str, version: int | None = None) -> CalibrationRow:
    row = await store.calibration(name, version)
    if row is None:
        which = "" if version is None else f"version {version} of a "
        raise BeliefdError(Code.NOT_FOUND, f"there is no {which}calibration set `{name[:64]}`")
    return row


def _scored(asked: Given, model: str, score: ScoreKind) -> CalibrationSet:
    from beliefd.uncertainty.conformal import scores_of

    if (asked.scores is None) == (asked.probabilities is None):
        raise invalid("give either `scores` or `probabilities` with `labels`", "$.scores")
    if not asked.probabilities and not asked.scores:
        raise invalid("the calibration set is empty", "$.scores")
    if asked.probabilities is None:
        return CalibrationSet(model=model, score=score, scores=asked.scores or (), groups=asked.groups)
    scores = scores_of(asked.probabilities, asked.labels or (), score)
    return CalibrationSet(
        model=model,
        score=score,
        scores=tuple(scores.tolist()),
        columns=len(asked.probabilities[0]),
        groups=asked.groups,
    )


def described(row: CalibrationRow, warning: str | None = None) -> CalibrationAnswer:
    found = decoded(row.document, row.sha256)
    sizes = Counter(found.groups or ())
    return view_of(
        CalibrationAnswer,
        row,
        model=found.model,
        score=found.score,
        count=len(found.scores),
        groups=dict(sorted(sizes.items())),
        least_alpha=1 / (min(sizes.values(), default=len(found.scores)) + 1),
        warning=warning,
    )


def _contended(name: str) -> BeliefdError:
    return BeliefdError(Code.CONFLICT, f"the calibration set `{name[:64]}` keeps changing; try again")
