"""Freezing the plan of an experiment: what it tests, on which data, and how much alpha is left for it."""

import math
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.canonical import canonical, digest
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.event import Refused, refused, refused_by
from beliefd.kernel.experiments.commands import DesignExperiment
from beliefd.kernel.experiments.events import ExperimentDesigned
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.experiments.params import Params, checked_spec
from beliefd.kernel.experiments.plan import ExperimentSpec, Frozen
from beliefd.kernel.experiments.prediction import differs_from, within
from beliefd.kernel.experiments.referring import (
    MODELS,
    named,
    numbers_in,
    repeated,
    resolved,
    stand_ins,
    typed,
)
from beliefd.kernel.experiments.state import Experiment, tries_key
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents.state import Proposition
from beliefd.kernel.labels import ATTESTED, Label, join, label_for, vouched_by
from beliefd.kernel.observations.rules import body_of_typed
from beliefd.kernel.observations.state import Observation
from beliefd.kernel.scan.guards import stopped_by
from beliefd.kernel.scan.markers import find_marker
from beliefd.kernel.scan.words import WordList
from beliefd.kernel.state import Session

MOST_CHOICES: Final = 10**12
SEED_DIGITS: Final = 13
"""Of a digest so many hexadecimal digits are a seed: 52 bits, which every JSON reader keeps."""


class Data(Struct, frozen=True):
    """What a plan tests its claim by, and what that is worth to who designs it."""

    label: Label
    observations: tuple[Observation, ...]
    bodies: tuple[str, ...]
    typed_by: tuple[str, ...]


def design_experiment(
    session: Session, command: DesignExperiment, facts: Facts
) -> ExperimentDesigned | Refused:
    """INVARIANT: claim, criterion, alpha, seed and budget are hashed and recorded before the first draw."""
    spec = command.spec
    if (marked := find_marker(spec.params, WordList.RESIDUE)) is not None:
        at = replace(marked, path=f"$.params{marked.path[1:]}")
        return refused_by(stopped_by(at, Code.SPECULATIVE_RESIDUE))
    try:
        params = checked_by(spec, session.observations.by_id)
    except BeliefdError as error:
        return refused_by(error)
    if (problem := _cannot_plan(session, spec, facts)) is not None:
        return problem
    proposition = session.intents.propositions.get(spec.claim_id)
    data = _data(session, spec, facts.principal.id)
    if (problem := _ill_assorted(spec, data)) is not None:
        return problem
    if proposition is not None and (problem := _tests_otherwise(proposition, spec, params, data)) is not None:
        return problem
    who = facts.principal.id
    attempt: int = session.experiments.attempts.get(tries_key(spec.claim_id, who), 0) + 1
    if attempt > facts.policy.firewall.attempts_per_claim:
        text = f"{who} has tried `{spec.claim_id[:64]}` {attempt - 1} times, and policy allows no more"
        return refused(Code.CONFLICT, text, "$.claim_id")
    return _designed(session, spec, attempt, data, proposition, facts)


def checked_by(spec: ExperimentSpec, observations: Mapping[str, Observation]) -> Params:
    """The parameters of a plan, with stand-ins for what it names; or a refusal of it."""
    params = resolved(spec.params, stand_ins(observations))
    return checked_spec(replace(spec, params=params))


def _cannot_plan(session: Session, spec: ExperimentSpec, facts: Facts) -> Refused | None:
    if spec.seed:
        # INVARIANT: nobody can try seeds out beforehand and hand in the one that suits.
        return refused(Code.INVALID_REQUEST, "the server draws the seed: leave it out", "$.seed")
    for member in ("eliminates_if_supported", "eliminates_if_refuted"):
        for name in getattr(spec, member):
            if session.beliefs.survivors.universe.position(name) is None:
                text = f"not declared in this session: `{name[:64]}`"
                return refused(Code.INVALID_HYPOTHESIS_ID, text, f"$.{member}")
    if not isinstance(facts.findings, ExperimentFindings):
        return refused(Code.INVALID_REQUEST, f"no template `{spec.template}` is installed", "$.template")
    return None


def _data(session: Session, spec: ExperimentSpec, who: str) -> Data:
    """INVARIANT: labels join; numbers that stand in the plan itself are what its designer says."""
    found = tuple(session.observations.by_id[name] for name in named(spec.params))
    labels = [label_for(one.witnesses, who) for one in found]
    bodies = {body for one in found for body in bodies_of(one)}
    typists = {one.observed_by for one in found if one.typed}
    if typed(spec.template, spec.params):
        labels.append(ATTESTED)
        bodies.add(body_of_typed(who))
        typists.add(who)
    return Data(join(labels), found, tuple(sorted(bodies)), tuple(sorted(typists)))


def bodies_of(one: Observation) -> tuple[str, ...]:
    """What an observation shares with others: its source, and its values, wherever they were taken from."""
    return (one.body, one.digest) if one.count > 1 else (one.body,)


def _ill_assorted(spec: ExperimentSpec, data: Data) -> Refused | None:
    """Data of one test are of one quantity in its unit, and nothing is in them twice."""
    digests = [one.digest for one in data.observations if one.count > 1]
    if len(set(digests)) < len(digests) or repeated(spec.params):
        return refused(Code.INVALID_REQUEST, "the same values are named twice", "$.params")
    if spec.template in MODELS:
        return None  # its inputs may be of several quantities
    # INVARIANT: who may put parts of one source together may leave out the parts that do not suit.
    sources = [one.body for one in data.observations if not one.typed]
    if len(set(sources)) < len(sources):
        text = "two observations are from one source; take one list of it, or let its tool return one"
        return refused(Code.INVALID_REQUEST, text, "$.params")
    kinds = sorted({(one.quantity, one.unit) for one in data.observations})
    if len(kinds) > 1:
        told = " and ".join(f"`{quantity}` in `{unit}`" for quantity, unit in kinds[:2])
        return refused(Code.INVALID_REQUEST, f"the observations are of {told}", "$.params")
    if kinds and kinds[0][1] != spec.unit:
        text = f"the observations are in `{kinds[0][1]}`, and the plan is in `{spec.unit}`"
        return refused(Code.INVALID_REQUEST, text, "$.unit")
    return None


def _tests_otherwise(
    proposition: Proposition, spec: ExperimentSpec, params: Params, data: Data
) -> Refused | None:
    """INVARIANT: what is tested is what was predicted, of the quantity that was named, in its unit."""
    prediction = proposition.prediction
    if prediction is None:
        return None
    ends = (
        [end for one in data.observations for end in (one.low, one.high)] or numbers_in(spec.params) or [0.0]
    )
    bounds = within(prediction, min(ends), max(ends))
    if (other := differs_from(prediction, bounds, params, spec.criterion, spec.unit)) is not None:
        name, fits = other
        said = canonical(fits).decode()
        text = f"`{spec.claim_id[:64]}` predicts {said} here; test for that, or stage `revise_proposition`"
        return refused(Code.NOT_WARRANTED, text, f"$.{name}", predicted=fits)
    for member in ("eliminates_if_supported", "eliminates_if_refuted"):
        # INVARIANT: what falls by a test was said with its wording, where a person saw it, before the data.
        said = getattr(prediction, member)
        if strange := sorted(set(getattr(spec, member)) - set(said)):
            text = f"`{spec.claim_id[:64]}` does not say that `{strange[0][:64]}` falls by it"
            return refused(Code.NOT_WARRANTED, text, f"$.{member}", predicted=list(said))
    for one in data.observations:
        if (one.quantity, one.unit) != (prediction.quantity, prediction.unit):
            text = (
                f"`{one.observation_id}` is of `{one.quantity}` in `{one.unit}`,"
                f" the proposition is about `{prediction.quantity}` in `{prediction.unit}`"
            )
            return refused(Code.NOT_WARRANTED, text, "$.params", predicted=msgspec.to_builtins(prediction))
    return None


def _designed(
    session: Session,
    spec: ExperimentSpec,
    attempt: int,
    data: Data,
    proposition: Proposition | None,
    facts: Facts,
) -> ExperimentDesigned:
    found, who = facts.findings, facts.principal.id
    assert isinstance(found, ExperimentFindings)  # noqa: S101 - asked above
    held = session.experiments.tries
    here = max(held.get(tries_key(body, who), 0) for body in data.bodies)
    tries = 1 + here + found.tries_elsewhere
    # INVARIANT: every try counts, at this claim and by this principal on this data, whatever the claim was
    # called; the chance of being wrong is shared out among all of them: 1/2 + 1/6 + 1/12 + ... = 1.
    left_out = _left_out(session, data, who)
    number = max(attempt + found.attempts_elsewhere, tries, left_out + 1)
    choices = _choices(data)
    alpha = min(spec.alpha, facts.policy.firewall.alpha) / (number * (number + 1)) / choices
    seed = int(digest(["seed", facts.event_id])[:SEED_DIGITS], 16)
    frozen = Frozen(
        spec=replace(spec, seed=seed),
        template=found.template,
        code_hash=found.code_hash,
        attempt=attempt,
        alpha=alpha,
    )
    fixed = proposition is not None and proposition.prediction is not None
    experiment = replace(
        _experiment(frozen, facts),
        tries=tries,
        left_out=left_out,
        choices=choices,
        revision=proposition.revision if fixed and proposition is not None else 0,
        label=data.label,
        observations=tuple(one.observation_id for one in data.observations),
        bodies=data.bodies,
        typed_by=data.typed_by,
        worded_first=_worded_first(proposition, data),
    )
    return ExperimentDesigned(experiment=experiment, frozen=frozen)


def _choices(data: Data) -> int:
    """Among how many ways to take its data a plan chose one; the same place in many results is one choice."""
    places: dict[tuple[str, str, str | None], int] = {}
    for one in data.observations:
        place = (one.pointer, one.each, one.column)
        places[place] = max(places.get(place, 1), one.choices)
    return min(math.prod(places.values()), MOST_CHOICES)


def _left_out(session: Session, data: Data, who: str) -> int:
    """How many results of the same tools a plan does not use: who has seen them may have picked the best.

    Calls of others count only if theirs are among the data: nobody spoils a test by calling a tool often.
    """
    calls = session.substrate.calls
    used = [calls[one.call_id] for one in data.observations if one.call_id is not None]
    tools = {call.tool_id for call in used}
    callers = {who, *(call.agent_id for call in used)}
    results = {
        call.result_hash
        for call in calls.values()
        if call.status == "ok" and call.tool_id in tools and call.agent_id in callers
    }
    return len(results - {call.result_hash for call in used})


def _worded_first(proposition: Proposition | None, data: Data) -> bool:
    """Did the wording stand before any of the data did?"""
    return proposition is not None and all(one.since >= proposition.worded_at for one in data.observations)


def _experiment(frozen: Frozen, facts: Facts) -> Experiment:
    spec = frozen.spec
    return Experiment(
        experiment_id=f"exp-{facts.event_id}",
        event_id=facts.event_id,
        claim_id=spec.claim_id,
        template=frozen.template,
        code_hash=frozen.code_hash,
        spec_hash=frozen.spec_hash,
        params_hash=digest(spec.params),
        seed=spec.seed,
        attempt=frozen.attempt,
        alpha=frozen.alpha,
        designed_by=facts.principal.id,
        designed_at=facts.now,
        budget_seconds=spec.budget.seconds,
        hints_digest=spec.hints_digest,
        eliminates_if_supported=spec.eliminates_if_supported,
        eliminates_if_refuted=spec.eliminates_if_refuted,
    )


def caveats_of(one: Experiment) -> list[str]:
    """What the outcome of a test will not be able to do, and why."""
    found = []
    if not one.revision:
        found.append("no proposition said beforehand what is tested: its evidence will count for nothing")
    if one.label == ATTESTED:
        whose = vouched_by(one.typed_by)
        found.append(f"nobody else has witnessed its data ({whose}): see `firewall.attested` of the policy")
    elif one.revision and not one.worded_first:
        found.append("the claim was worded after its data: it can be supported, not proven")
    if one.tries > 1:
        found.append(f"test number {one.tries} of {one.designed_by} on these data: alpha is {one.alpha:.4g}")
    if one.left_out:
        found.append(f"{one.left_out} other results of the same tool are left out: alpha is {one.alpha:.4g}")
    if one.choices > 1:
        found.append(f"one of {one.choices} lists of numbers in its source: alpha is {one.alpha:.4g}")
    return found
