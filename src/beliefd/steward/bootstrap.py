"""Everything that runs on one store, wired in one place for the server and the embedded library."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from beliefd.kernel.policy import Policy
from beliefd.steward.archiving import Archiving
from beliefd.steward.buckets import Buckets
from beliefd.steward.chains import checked
from beliefd.steward.directory import Directory
from beliefd.steward.dispatch import Handler, handlers_of, joined
from beliefd.steward.effects.background import Background
from beliefd.steward.effects.checkpoints import Checkpoints, LogSettings
from beliefd.steward.effects.expiry import Expiry
from beliefd.steward.effects.runner import Runner
from beliefd.steward.effects.runs import ExperimentRuns
from beliefd.steward.effects.sequencer import Sequencer
from beliefd.steward.effects.tools import ToolCalls, Turns
from beliefd.steward.environment import Environment
from beliefd.steward.facts.catalogues import Catalogues
from beliefd.steward.facts.finder import FactFinder
from beliefd.steward.facts.measuring import Meter
from beliefd.steward.facts.shells import kept_places
from beliefd.steward.facts.threats import Detector
from beliefd.steward.feeds import Feeds
from beliefd.steward.gate import Gate, guarded
from beliefd.steward.graph import Graph
from beliefd.steward.handlers.approvals import ApprovalHandlers, GrantHandlers
from beliefd.steward.handlers.archives import ArchiveHandlers
from beliefd.steward.handlers.attempts import recording_attempts
from beliefd.steward.handlers.backtesting import BacktestHandlers
from beliefd.steward.handlers.batch import BatchHandlers
from beliefd.steward.handlers.beliefs import BeliefHandlers, verb_handlers
from beliefd.steward.handlers.calls import CallHandlers
from beliefd.steward.handlers.capabilities import CapabilityHandlers
from beliefd.steward.handlers.catalogues import CatalogueHandlers
from beliefd.steward.handlers.claims import ClaimCheckHandlers, ClaimHandlers
from beliefd.steward.handlers.concluded import Conclusions
from beliefd.steward.handlers.content import ContentHandlers
from beliefd.steward.handlers.context import ContextHandlers
from beliefd.steward.handlers.counterfactual import CounterfactualHandlers
from beliefd.steward.handlers.erasures import ErasureHandlers
from beliefd.steward.handlers.experiments import EvidenceHandlers, ExperimentHandlers
from beliefd.steward.handlers.explaining import ExplainHandlers
from beliefd.steward.handlers.following import FollowHandlers
from beliefd.steward.handlers.hooks import HookHandlers
from beliefd.steward.handlers.intents import IntentHandlers
from beliefd.steward.handlers.knowledge import KnowledgeHandlers
from beliefd.steward.handlers.ledger import LedgerHandlers
from beliefd.steward.handlers.log import LogHandlers
from beliefd.steward.handlers.measurements import MeasurementHandlers
from beliefd.steward.handlers.observations import ObservationHandlers
from beliefd.steward.handlers.policy import PolicyHandlers
from beliefd.steward.handlers.reviewing import ReviewHandlers
from beliefd.steward.handlers.scheduling import SchedulingHandlers
from beliefd.steward.handlers.searching import SearchHandlers
from beliefd.steward.handlers.spaces import SpaceHandlers, TokenHandlers
from beliefd.steward.handlers.speculation import SpeculationHandlers
from beliefd.steward.handlers.substrate import MemoryHandlers, ProposalHandlers, StateHandlers
from beliefd.steward.handlers.testimony import WhyHandlers
from beliefd.steward.handlers.transfer import TransferHandlers
from beliefd.steward.handlers.uncertainty import CalibrationHandlers, UncertaintyHandlers
from beliefd.steward.joins import Joins
from beliefd.steward.log import Log
from beliefd.steward.policies import GIVEN, PolicyInForce
from beliefd.steward.signin.verifier import Verifier
from beliefd.steward.spaces import Spaces
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.steward import Steward
from beliefd.steward.write.system import SystemLedger, system_state
from beliefd.stores.base import Store
from beliefd.tools.biscuit import Signer
from beliefd.tools.registry import Registry, default_registry
from beliefd.uncertainty.equivalence.judges import Judges


class Runtime(Struct, frozen=True):
    """What a transport needs: the handlers, the write path, and what has to be ended with the process."""

    steward: Steward
    handlers: dict[str, Handler]
    feeds: Feeds
    directory: Directory
    system: SystemLedger
    gate: Gate
    sign_in: Verifier | None
    expiry: Expiry
    runner: Runner
    judges: Judges
    background: Background
    sequencer: Sequencer
    checkpoints: Checkpoints
    buckets: Buckets
    archiving: Archiving

    async def close(self, patience: float | None = None) -> None:
        """Let what was accepted finish, but wait no longer than told for a hanging store; then close it."""
        self.runner.cancel_all()
        queues = self.steward.queues
        try:
            async with asyncio.timeout(patience):
                while queues or self.background:
                    await queues.empty()
                    await self.background.finish()
        except TimeoutError:
            queues.cancel()
        await self.runner.close()
        await asyncio.to_thread(self.judges.close)
        await self.steward.store.close()


def bootstrap(  # noqa: PLR0913 - one argument per port
    store: Store,
    policy: Policy | None = None,
    *,
    environment: Environment | None = None,
    detector: Detector | Mapping[str, Detector] | None = None,
    registry: Registry | None = None,
    signer: Signer | None = None,
    runner: Runner | None = None,
    judges: Judges | None = None,
    sign_in: Verifier | None = None,
    log: LogSettings | None = None,
    files: Iterable[Path] = (),
) -> Runtime:
    """Wire everything up. One line per vocabulary, with what it needs and nothing else."""
    environment, registry = environment or Environment(), registry or default_registry
    runner, judges = runner or Runner(), judges or Judges()
    positions = Positions(store)
    ledgers = checked(positions.chains)
    in_force = PolicyInForce(store, environment, policy)
    meter, spaces = Meter(ledgers, judges), Spaces(ledgers, partial(system_state, positions))
    directory = Directory(ledgers, partial(system_state, positions), sign_in)
    gate, buckets = Gate(ledgers, spaces), Buckets(store)
    catalogues = Catalogues(positions.fresh, spaces)
    graph = Graph(ledgers, positions.existing)
    finder = FactFinder(
        ledgers, registry, meter, directory, spaces, detector, catalogues, buckets, graph, kept_places(files)
    )
    steward = Steward(store, positions, in_force, finder, environment, buckets)
    submit, feeds, background = steward.submit, Feeds(ledgers), Background()
    system = SystemLedger(ledgers, positions, submit)
    in_force.record, in_force.on_record, in_force.last = (
        system.note_policy,
        system.adopted,
        system.last_policy,
    )
    steward.sealed.record = system.note_refusal
    tree = Log(ledgers)
    archiving = Archiving(ledgers, positions, tree, system, environment)
    checkpoints = Checkpoints(positions.chains, tree, system, environment, log or LogSettings())
    expiry = Expiry(ledgers, positions, submit, environment)
    tools = ToolCalls(ledgers, positions, submit, registry, in_force, background)
    runs = ExperimentRuns(ledgers, submit, runner, background)
    inner: dict[str, Handler] = {}
    vocabularies = (
        HookHandlers(inner, positions, in_force),
        BeliefHandlers(ledgers, positions, steward.declare, spaces, Conclusions(positions.chains)),
        BatchHandlers(ledgers, submit, signer, tools, background),
        LedgerHandlers(ledgers, positions, feeds),
        SearchHandlers(ledgers),
        LogHandlers(ledgers, tree, checkpoints, system),
        ArchiveHandlers(archiving),
        WhyHandlers(ledgers, positions),
        TransferHandlers(ledgers, positions, submit, system, in_force, environment),
        CounterfactualHandlers(ledgers),
        ClaimHandlers(ledgers, positions, submit, finder, in_force),
        ClaimCheckHandlers(finder, in_force, environment),
        ContentHandlers(ledgers, in_force, environment),
        ErasureHandlers(ledgers, positions, submit),
        ApprovalHandlers(ledgers, positions, submit, expiry, tools, in_force, finder, environment, feeds),
        FollowHandlers(ledgers, positions, feeds, environment),
        GrantHandlers(positions, submit),
        PolicyHandlers(in_force),
        ReviewHandlers(ledgers, in_force),
        ExplainHandlers(ledgers, positions, in_force, finder, environment),
        BacktestHandlers(ledgers, spaces),
        SpaceHandlers(ledgers, system, environment),
        TokenHandlers(ledgers, system, directory),
        StateHandlers(ledgers, positions, in_force, environment),
        ProposalHandlers(submit, signer, registry, tools),
        CallHandlers(ledgers, positions, submit, in_force, environment, spaces, finder.origins, background),
        CatalogueHandlers(positions, submit, in_force, spaces, finder),
        CapabilityHandlers(positions, submit, signer, in_force, environment),
        MemoryHandlers(positions, submit, environment),
        SchedulingHandlers(positions, submit, tools, environment),
        ContextHandlers(
            ledgers, positions, submit, in_force, environment, spaces, Joins(), finder.origins, background
        ),
        SpeculationHandlers(positions, submit),
        ObservationHandlers(ledgers, positions, submit),
        MeasurementHandlers(ledgers, positions, submit, meter),
        ExperimentHandlers(ledgers, positions, submit, runs, Turns()),
        EvidenceHandlers(positions, submit, in_force),
        IntentHandlers(positions, submit),
        KnowledgeHandlers(ledgers, graph, in_force),
        UncertaintyHandlers(ledgers, in_force, judges),
        CalibrationHandlers(ledgers, environment),
    )
    handlers = recording_attempts(joined([verb_handlers(submit), *map(handlers_of, vocabularies)]), submit)
    handlers = guarded(handlers, gate)
    inner |= handlers
    return Runtime(
        *(steward, handlers, feeds, directory, system, gate, sign_in, expiry, runner, judges, background),
        *(Sequencer(tree), checkpoints, buckets, archiving),
    )


async def start(
    store: Store, policy: Policy | None = None, policy_file: Path | None = None, **ports: Any
) -> Runtime:
    """Wired, and deciding by the policy that was adopted last in the store unless it is given one.

    `policy_file` is where a given one was read.
    """
    runtime = bootstrap(store, policy, **ports)
    in_force = runtime.steward.in_force
    try:
        if policy is None:
            await in_force.recall()
        elif policy_file is None:
            await in_force.take(policy, GIVEN)
        else:
            await in_force.take_file(policy, policy_file)
    except BaseException:
        await runtime.close()
        raise
    return runtime
