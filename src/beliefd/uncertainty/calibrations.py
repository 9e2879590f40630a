"""Calibration sets that outlive a request: the scores of one model's answers, versioned by their hash."""

import hashlib
from typing import Final, Literal

import msgspec
from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, Code, invalid

MAX_STORED: Final = 100_000
LEAST_ALPHA: Final = 0.0001
Score = Literal["lac", "aps"]


class Calibrated(Struct, frozen=True, kw_only=True):
    """A quantile for everybody, or one a group (Mondrian). It is a file's worth: keep it per model."""

    model: str
    score: Score
    alpha: float
    count: int
    quantile: float
    groups: dict[str, float] = {}
    sketch: tuple[float, ...] = ()
    """The scores at 101 evenly spaced ranks, to notice drift with."""


class CalibrationSet(Struct, frozen=True, kw_only=True):
    """`columns` is how many labels a row had, where rows were given; `groups` names one for each score."""

    model: str
    score: Score
    scores: tuple[float, ...]
    columns: int | None = None
    groups: tuple[str, ...] | None = None


def encoded(given: CalibrationSet) -> bytes:
    """The document that is kept. The same set is the same bytes, so its hash tells versions apart."""
    if not given.scores:
        raise invalid("the calibration set is empty", "$.calibration")
    if len(given.scores) > MAX_STORED:
        raise invalid(f"{len(given.scores)} scores are more than {MAX_STORED}", "$.calibration")
    if given.groups is not None and len(given.groups) != len(given.scores):
        raise invalid(f"{len(given.scores)} scores, but {len(given.groups)} groups", "$.groups")
    return msgspec.json.encode(given)


def decoded(document: bytes, sha256: str) -> CalibrationSet:
    """INVARIANT: a set is used under no other hash than its own."""
    if version_hash(document) != sha256:
        text = f"the calibration set that is kept as `{sha256}` does not hash to that: store it anew"
        raise BeliefdError(Code.CONTENT_DAMAGED, text)
    return msgspec.json.decode(document, type=CalibrationSet)


def version_hash(document: bytes) -> str:
    return hashlib.sha256(document).hexdigest()


def joined(old: CalibrationSet, new: CalibrationSet) -> CalibrationSet:
    """INVARIANT: scores in one set mean the same: one model, one kind of score, one set of labels."""
    for field in ("model", "score", "columns"):
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            raise invalid(f"the set has `{field}` {before}, what comes to it has {after}", f"$.{field}")
    if (old.groups is None) != (new.groups is None):
        raise invalid("either all scores have a group or none has", "$.groups")
    groups = None if old.groups is None or new.groups is None else old.groups + new.groups
    return msgspec.structs.replace(old, scores=old.scores + new.scores, groups=groups)


def calibrated(given: CalibrationSet, alpha: float) -> Calibrated:
    """Refused below the minimum size, for the set as a whole and for each group."""
    from beliefd.uncertainty.conformal import calibrate

    return calibrate(given.scores, alpha, given.score, given.model, given.groups)


def drifted(given: CalibrationSet, recent: "tuple[float, ...]") -> str | None:
    """A warning if `recent` does not look like the set."""
    from beliefd.uncertainty.conformal import calibrate, drift

    if not recent:
        return None
    # Any level will do: only the shape of the scores is compared.
    return drift(calibrate(given.scores, 1 - LEAST_ALPHA, given.score, given.model), recent)
