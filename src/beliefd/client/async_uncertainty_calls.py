"""Asynchronous calls that measure uncertainty."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from beliefd.client import uncertainty_requests as requests
from beliefd.client.requests import Request
from beliefd.kernel.values import Object
from beliefd.protocol.uncertainty_messages import CalibrationAnswer, MeasuredUncertainty


class AsyncUncertaintyCalls(ABC):
    """The uncertainty operations as methods. What is measured is not recorded."""

    @abstractmethod
    async def _send(self, request: Request) -> Any:
        """Carry a request out and return its typed answer."""

    async def measure_semantic_entropy(
        self,
        answers: Sequence[str],
        *,
        judge: str = "lexical",
        kind: str = "clusters",
        token_logprobs: Sequence[Sequence[float]] | None = None,
    ) -> MeasuredUncertainty:
        """How many meanings sampled answers have."""
        answer: MeasuredUncertainty = await self._send(
            requests.measure_semantic_entropy(answers, judge, kind, token_logprobs)
        )
        return answer

    async def measure_model_disagreement(
        self, answers: Sequence[str], *, judge: str = "lexical"
    ) -> MeasuredUncertainty:
        """How far the answers of several models are apart."""
        answer: MeasuredUncertainty = await self._send(requests.measure_model_disagreement(answers, judge))
        return answer

    async def measure_confidence(
        self,
        confidence: float | None = None,
        *,
        token_logprobs: Sequence[float] | None = None,
        calibration: Object | None = None,
    ) -> MeasuredUncertainty:
        """What a confidence is worth, calibrated if labelled answers are given."""
        answer: MeasuredUncertainty = await self._send(
            requests.measure_confidence(confidence, token_logprobs, calibration)
        )
        return answer

    async def measure_conformal_set(  # noqa: PLR0913 - each is a field of the body
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
    ) -> MeasuredUncertainty:
        """Which labels cannot be ruled out, by a calibration set or the name of a kept one."""
        rest = {
            "alpha": alpha,
            "score": score,
            "labels": labels,
            "group": group,
            "recent": recent,
            "calibration_version": version,
        }
        answer: MeasuredUncertainty = await self._send(
            requests.measure_conformal_set(probabilities, calibration, rest)
        )
        return answer

    async def store_calibration(
        self, name: str, *, model: str, score: str = "lac", **given: Sequence[Any]
    ) -> CalibrationAnswer:
        """Keep a set under a name: `scores`, or `probabilities` with `labels`; perhaps `groups`."""
        answer: CalibrationAnswer = await self._send(requests.store_calibration(name, model, score, given))
        return answer

    async def append_calibration(self, name: str, **given: Sequence[Any]) -> CalibrationAnswer:
        """Add to a kept set; `warning` tells if what is added looks different."""
        answer: CalibrationAnswer = await self._send(requests.append_calibration(name, given))
        return answer

    async def show_calibration(self, name: str, *, version: int | None = None) -> CalibrationAnswer:
        """What a kept set is about, and how small an alpha it allows."""
        answer: CalibrationAnswer = await self._send(requests.show_calibration(name, version))
        return answer
