"""Requests that measure uncertainty: one function an operation."""

from collections.abc import Sequence
from typing import Any

from beliefd.client.requests import Request, query, request
from beliefd.kernel.values import Object


def measure_semantic_entropy(
    answers: Sequence[str], judge: str, kind: str, token_logprobs: Sequence[Sequence[float]] | None
) -> Request:
    tokens = None if token_logprobs is None else [list(one) for one in token_logprobs]
    body = {"answers": list(answers), "judge": judge, "kind": kind, "token_logprobs": tokens}
    return request("measure_semantic_entropy", body=body)


def measure_model_disagreement(answers: Sequence[str], judge: str) -> Request:
    return request("measure_model_disagreement", body={"answers": list(answers), "judge": judge})


def measure_confidence(
    confidence: float | None, token_logprobs: Sequence[float] | None, calibration: Object | None
) -> Request:
    tokens = None if token_logprobs is None else list(token_logprobs)
    body = {"confidence": confidence, "token_logprobs": tokens, "calibration": calibration}
    return request("measure_confidence", body=body)


def measure_conformal_set(probabilities: Sequence[float], calibration: Object | str, rest: Object) -> Request:
    given: dict[str, Any] = {name: value for name, value in rest.items() if value is not None}
    named = "calibration_set" if isinstance(calibration, str) else "calibration"
    body = {"probabilities": list(probabilities), named: calibration, **given}
    return request("measure_conformal_set", body=body)


def store_calibration(name: str, model: str, score: str, given: Object) -> Request:
    body = {"model": model, "score": score, **given}
    return request("store_calibration", body=body, path={"name": name})


def append_calibration(name: str, given: Object) -> Request:
    return request("append_calibration", body=dict(given), path={"name": name})


def show_calibration(name: str, version: int | None) -> Request:
    return request("show_calibration", path={"name": name}, query=query(version=version))
