"""Handlers of calibration sets that are kept on the server, and of prediction by the name of one."""

from collections import Counter
from typing import Final

from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.protocol.uncertainty import AppendCalibration, CalibrationAnswer, ScoreKind, StoreCalibration
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.handle import Steward
from beliefd.steward.offload import offload
from beliefd.stores.base import CalibrationRow
from beliefd.uncertainty.calibrations import CalibrationSet, decoded, drifted, encoded, joined, version_hash

ATTEMPTS: Final = 20
Given = StoreCalibration | AppendCalibration


async def store_calibration(steward: Steward, call: Call) -> CalibrationAnswer:
    """A new version that takes the place of the old one; the same set again makes none."""
    asked = await offload(True, convert, bind(call.body, call.path), StoreCalibration)
    new = await offload(True, _scored, asked, asked.model, asked.score)
    document = await offload(True, encoded, new)
    for _ in range(ATTEMPTS):
        newest = await steward.store.calibration(asked.name)
        if newest is not None and newest.document == document:
            return await offload(True, described, newest)
        if (row := await _added(steward, asked.name, newest, document)) is not None:
            return await offload(True, described, row)
    raise _contended(asked.name)


async def append_calibration(steward: Steward, call: Call) -> CalibrationAnswer:
    """A new version with more scores, and a warning if they do not look like those before them."""
    asked = await offload(True, convert, bind(call.body, call.path), AppendCalibration)
    for _ in range(ATTEMPTS):
        newest = await kept(steward, asked.name)
        old = await offload(True, decoded, newest.document)
        new = await offload(True, _scored, asked, old.model, old.score)
        document = await offload(True, lambda old=old, new=new: encoded(joined(old, new)))
        if (row := await _added(steward, asked.name, newest, document)) is not None:
            warning = await offload(True, drifted, old, new.scores)
            return await offload(True, described, row, warning)
    raise _contended(asked.name)


async def show_calibration(steward: Steward, call: Call) -> CalibrationAnswer:
    return await offload(True, described, await kept(steward, call.path["name"], call.query["version"]))


async def kept(steward: Steward, name: str, version: int | None = None) -> CalibrationRow:
    row = await steward.store.calibration(name, version)
    if row is None:
        which = "" if version is None else f"version {version} of a "
        raise BeliefdError(Code.NOT_FOUND, f"there is no {which}calibration set `{name[:64]}`")
    return row


async def _added(
    steward: Steward, name: str, newest: CalibrationRow | None, document: bytes
) -> CalibrationRow | None:
    """The next version, or None if somebody else was faster."""
    row = CalibrationRow(
        name=name,
        version=1 if newest is None else newest.version + 1,
        sha256=version_hash(document),
        created_at=steward.outside.now(),
        document=document,
    )
    return row if await steward.store.add_calibration(row) else None


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
    found = decoded(row.document)
    return CalibrationAnswer(
        name=row.name,
        model=found.model,
        score=found.score,
        version=row.version,
        sha256=row.sha256,
        created_at=row.created_at,
        count=len(found.scores),
        groups=dict(sorted(Counter(found.groups or ()).items())),
        least_alpha=1 / (min(Counter(found.groups).values() if found.groups else [len(found.scores)]) + 1),
        warning=warning,
    )


def _contended(name: str) -> BeliefdError:
    return BeliefdError(Code.CONFLICT, f"the calibration set `{name[:64]}` keeps changing; try again")
