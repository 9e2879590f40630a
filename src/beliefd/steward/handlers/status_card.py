"""What a person sees before the status of a proposition changes: every run for and against it."""

from typing import Final

from beliefd.kernel.canonical import canonical
from beliefd.kernel.experiments.designing import checked_by
from beliefd.kernel.experiments.plan import Criterion, Near, Ordered
from beliefd.kernel.experiments.prediction import claimed_by
from beliefd.kernel.experiments.referring import named, numbers_in, resolved
from beliefd.kernel.experiments.state import Evidence, Experiment
from beliefd.kernel.intents.changes import wanted_status
from beliefd.kernel.intents.state import Change, Proposition
from beliefd.kernel.intents.warrant import Warrant, counted, warrant_of
from beliefd.kernel.labels import label_for, vouched_by
from beliefd.kernel.observations.state import Observation, words_for
from beliefd.kernel.policy import FirewallPolicy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.state import ToolCall
from beliefd.protocol.approvals import StatusCard, TestRun
from beliefd.protocol.experiments import DataPicture
from beliefd.steward.effects.runs import frozen_plan, observed_values, recorded_report
from beliefd.steward.handlers.shared import view_of
from beliefd.stores.base import Store

SHOWN: Final = 200
MOST_RUNS: Final = 20
BINS: Final = 24


async def status_card(
    store: Store, session: Session, change: Change, policy: FirewallPolicy
) -> StatusCard | None:
    """None if no status would change."""
    wanted, known = wanted_status(change), session.intents.propositions.get(change.claim_id)
    if wanted is None or known is None:
        return None
    names = session.experiments.by_claim.get(change.claim_id, ())
    pieces = counted(session, change.claim_id)
    found = warrant_of(pieces, policy)
    latest = [session.experiments.evidence[name] for name in names[-MOST_RUNS:]]
    runs = [await _run(store, session, piece, known) for piece in latest]
    return view_of(
        StatusCard,
        known,
        to_status=wanted,
        warrants=found.status,
        why=found.why,
        attempts=sum(one.claim_id == change.claim_id for one in session.experiments.by_id.values()),
        runs=runs,
        runs_in_all=len(names),
        doubts=_doubts(pieces, found),
    )


def _doubts(pieces: list[Evidence], found: Warrant) -> list[str]:
    doubts = []
    typists = {name for piece in pieces for name in piece.typed_by if not piece.witnessed}
    if typists or (found.attested and pieces):
        doubts.append(vouched_by(typists))
    if any(piece.witnessed and not piece.worded_first for piece in pieces):
        doubts.append("some of its data were there before the claim was worded")
    if (tries := max((piece.tries for piece in pieces), default=1)) > 1:
        doubts.append(f"up to {tries} tests were made on the same data")
    if speaking := [piece for piece in pieces if not piece.solid and piece.outcome == "refute"]:
        doubts.append(f"{len(speaking)} fragile runs speak against it")
    return doubts


async def _run(store: Store, session: Session, piece: Evidence, known: Proposition) -> TestRun:
    experiment: Experiment = session.experiments.by_id[piece.experiment_id]
    report = await recorded_report(store, session.session_id, session.experiments.runs[piece.execution_id])
    observations = [session.observations.by_id[name] for name in experiment.observations]
    where = [_where(session, one, experiment.designed_by) for one in observations]
    typed_here = experiment.designed_by in experiment.typed_by and not any(one.typed for one in observations)
    return view_of(
        TestRun,
        piece,
        run_id=piece.execution_id,
        alpha=experiment.alpha,
        failed_checks=[] if report is None else [one.name for one in report.checks if not one.passed],
        counts=piece.revision == known.revision,
        where=where + ([f"numbers typed by {experiment.designed_by}"] if typed_here else []),
        designed_by=experiment.designed_by,
        attempt=experiment.attempt,
        left_out=experiment.left_out,
        choices=experiment.choices,
        picture=await data_picture(store, session, experiment),
    )


def _where(session: Session, one: Observation, who: str) -> str:
    """Where data came from. What was asked of a tool is the caller's own text: it comes last, and is cut."""
    words = words_for(one, label_for(one.witnesses, who))
    if one.call_id is None:
        return words
    call: ToolCall = session.substrate.calls[one.call_id]
    asked = canonical(call.args).decode()
    return f"{words}; `{call.tool_id}` was asked {asked if len(asked) <= SHOWN else f'{asked[:SHOWN]}...'}"


async def data_picture(store: Store, session: Session, experiment: Experiment) -> DataPicture | None:
    """The numbers that an experiment is made on, against what is predicted of them; None if it has none."""
    spec = (await frozen_plan(store, session.session_id, experiment)).spec
    values = {name: await observed_values(store, session, name) for name in named(spec.params)}
    data = numbers_in(resolved(spec.params, values.__getitem__))
    if not data:
        return None
    region = claimed_by(checked_by(spec, session.observations.by_id), spec.criterion)
    return picture_of(data, region)


def picture_of(data: list[float], region: Criterion | None) -> DataPicture:
    """A histogram of the data with the predicted region, as far as that is not out of sight."""
    low_end, high_end = _ends(region)
    low, high = min(data), max(data)
    reach = high - low or abs(low) or 1.0
    seen = [end for end in (low_end, high_end) if end is not None and low - reach <= end <= high + reach]
    low, high = min([low, *seen]), max([high, *seen])
    if low == high:
        low, high = low - reach / 2, high + reach / 2
    counts = [0] * BINS
    for value in data:
        counts[min(BINS - 1, int((value - low) / (high - low) * BINS))] += 1
    mean = sum(value / len(data) for value in data)
    return DataPicture(low=low, high=high, counts=counts, mean=mean, region_low=low_end, region_high=high_end)


def _ends(region: Criterion | None) -> tuple[float | None, float | None]:
    if isinstance(region, Near):
        return region.value - region.tolerance, region.value + region.tolerance
    if isinstance(region, Ordered):
        return (region.than, None) if region.side == "above" else (None, region.than)
    return getattr(region, "low", None), getattr(region, "high", None)
