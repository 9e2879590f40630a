"""The guard scan of a nested payload of 100 KB against a plain recursive one, and what that one overlooks."""

import json
import time
from collections.abc import Callable
from typing import Any, Final

from beliefd.kernel.scan.markers import find_marker
from benchmarks.figures import TIMES_FASTER, Figure, Run, Target, alternate

PEER: Final = "recursive scan"
BYTES: Final = 100_000
STATUS_KEYS: Final = ("epistemic_status", "epistemic-status")
MARK: Final = {"epistemic_status": "speculative"}
PROSE: Final = (
    "The replica's lag grew after the deploy; the operator's note says that nothing else had changed."
)
DISGUISES: Final[tuple[Any, ...]] = (
    MARK,
    {"result": [1, {"deep": MARK}]},
    {"epistemic-status": "speculative"},
    {"note": json.dumps(MARK)},
    {"Epistemic_Status": "Speculative"},
    {"epistemicStatus": "speculative"},
    {"ｅｐｉｓｔｅｍｉｃ＿ｓｔａｔｕｓ": "speculative"},
    {"epi\u200bstemic_status": "speculative"},
    {"result": (MARK,)},
    {"raw": json.dumps(MARK).encode()},
    {"note": json.dumps({"n": json.dumps(MARK)}).replace("epistemic", "\\\\u0065pistemic")},
    {json.dumps(MARK): 1},
    {"note": "{'epistemic_status': 'speculative'}"},
    {"candidate_mechanisms": ["x"], "sensitivity_axes": ["y"]},
    {"lane": "speculative"},
)


def scan(run: Run) -> list[Figure]:
    payload = _payload()
    wordy = {**payload, "remark": "There are analogies to older outages, all of them speculative."}
    caught = sum(find_marker(disguise) is not None for disguise in DISGUISES)
    naive = sum(_recursive(disguise) for disguise in DISGUISES)
    return [
        _race(run, "an innocent nested payload of 100 KB", payload),
        _race(run, "the same with suspicious words in its prose", wordy),
        Figure(
            benchmark="scan",
            what=f"of {len(DISGUISES)} disguises, caught",
            unit="",
            ours=caught,
            peer=naive,
            peer_is=PEER,
            ratio=caught / len(DISGUISES),
            ratio_is="ours : all",
            target=Target(at_least=1),
        ),
    ]


def _race(run: Run, what: str, payload: dict[str, Any]) -> Figure:
    if find_marker(payload) is not None or _recursive(payload):
        raise RuntimeError("the payload is innocent, and somebody found something in it")
    turns = run.size(20, 1)
    own, other = alternate(
        run.size(15, 1),
        lambda: _timed(find_marker, payload, turns),
        lambda: _timed(_recursive, payload, turns),
    )
    return Figure(
        benchmark="scan",
        what=what,
        unit="ms",
        ours=own,
        peer=other,
        peer_is=PEER,
        ratio=other / own,
        ratio_is=TIMES_FASTER,
        target=Target(at_least=1),
    )


def _payload() -> dict[str, Any]:
    """Runs of an experiment as an agent may report them: nested, wordy, with some JSON inside of texts."""
    runs: list[dict[str, Any]] = []
    payload = {"claim_id": "claim-1", "runs": runs}
    while len(json.dumps(payload)) < BYTES:
        number = len(runs)
        values = [round(number * 0.37 + place, 3) for place in range(12)]
        runs.append(
            {
                "run_id": f"run-{number}",
                "note": PROSE,
                "settings": {"seed": number, "template": "bootstrap_ci", "params": {"data": values}},
                "steps": [{"name": f"step-{step}", "ok": True, "took_ms": step * 1.5} for step in range(6)],
                "log": json.dumps({"level": "info", "message": "drew 2000 replicates", "values": values[:3]}),
            }
        )
    return payload


def _recursive(value: Any) -> bool:
    """What one writes first: two spellings of two keys, JSON where a text looks like it, quoted words."""
    if isinstance(value, str):
        text = value.strip()
        if (text.startswith("{") and text.endswith("}")) or (text.startswith("[") and text.endswith("]")):
            try:
                return _recursive(json.loads(text))
            except ValueError:
                pass
        low = text.lower()
        return (
            '"speculative"' in low
            or '"epistemic_status"' in low
            or '"epistemic-status"' in low
            or '"speculative_context"' in low
            or '"speculative-context"' in low
        )
    if isinstance(value, dict):
        if any(value.get(key) == "speculative" for key in STATUS_KEYS):
            return True
        if "speculative_context" in value or "speculative-context" in value:
            return True
        return any(_recursive(item) for item in value.values())
    return isinstance(value, list) and any(_recursive(item) for item in value)


def _timed(scanned: Callable[[Any], object], payload: Any, turns: int) -> float:
    started = time.perf_counter()
    for _ in range(turns):
        scanned(payload)
    return (time.perf_counter() - started) / turns * 1e3
