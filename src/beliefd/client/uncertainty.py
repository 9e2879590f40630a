"""Calls that measure uncertainty, of which nothing is recorded, and those about kept calibration sets."""

from collections.abc import Sequence
from typing import Any

from beliefd.client.method import Method
from beliefd.client.requests import Request, given, query
from beliefd.kernel.values import Object
from beliefd.protocol.uncertainty import CalibrationAnswer, MeasuredUncertainty, UncertaintyRows


class UncertaintyCalls:
    """How sure one may be, measured instead of declared."""

    @Method
    def measure_semantic_entropy(
        self,
        answers: Sequence[str],
        *,
        judge: str | None = None,
        kind: str = "clusters",
        token_logprobs: Sequence[Sequence[float]] | None = None,
    ) -> Request[MeasuredUncertainty]:
        """How many meanings sampled answers have."""
        tokens = None if token_logprobs is None else [list(one) for one in token_logprobs]
        body = {"answers": list(answers), "judge": judge, "kind": kind, "token_logprobs": tokens}
        return Request(UncertaintyRows.measure_semantic_entropy, body=body)

    @Method
    def measure_model_disagreement(
        self, answers: Sequence[str], *, judge: str | None = None
    ) -> Request[MeasuredUncertainty]:
        """How far the answers of several models are apart."""
        body = {"answers": list(answers), "judge": judge}
        return Request(UncertaintyRows.measure_model_disagreement, body=body)

    @Method
    def measure_confidence(
        self,
        confidence: float | None = None,
        *,
        token_logprobs: Sequence[float] | None = None,
        calibration: Object | None = None,
    ) -> Request[MeasuredUncertainty]:
        """What a confidence is worth, calibrated if labelled answers are given."""
        tokens = None if token_logprobs is None else list(token_logprobs)
        body = {"confidence": confidence, "token_logprobs": tokens, "calibration": calibration}
        return Request(UncertaintyRows.measure_confidence, body=body)

    @Method
    def measure_conformal_set(  # noqa: PLR0913 - each is a field of the body
        self,
        probabilities: Sequence[float],
        calibration: Object | str,
        *,
        alpha: float | None = None,
        score: str | None = None,
        labels: Sequence[str] | None = None,
        group: str | None = None,
        recent: Sequence[float] | None = None,
        version: int | None = None,
    ) -> Request[MeasuredUncertainty]:
        """Which labels cannot be ruled out, by a calibration set or the name of a kept one."""
        body = {
            "probabilities": list(probabilities),
            "calibration_set" if isinstance(calibration, str) else "calibration": calibration,
            **given(alpha=alpha, score=score, labels=labels, group=group, recent=recent),
            **given(calibration_version=version),
        }
        return Request(UncertaintyRows.measure_conformal_set, body=body)

    @Method
    def store_calibration(
        self, /, name: str, *, model: str, score: str = "lac", **given: Sequence[Any]
    ) -> Request[CalibrationAnswer]:
        """Keep a set under a name: `scores`, or `probabilities` with `labels`; perhaps `groups`."""
        body = {"model": model, "score": score, **given}
        return Request(UncertaintyRows.store_calibration, {"name": name}, body=body)

    @Method
    def append_calibration(self, /, name: str, **given: Sequence[Any]) -> Request[CalibrationAnswer]:
        """Add to a kept set; `warning` tells if what is added looks different."""
        return Request(UncertaintyRows.append_calibration, {"name": name}, body=given)

    @Method
    def show_calibration(self, name: str, *, version: int | None = None) -> Request[CalibrationAnswer]:
        """What a kept set is about, and how small an alpha it allows."""
        return Request(UncertaintyRows.show_calibration, {"name": name}, query(version=version))
