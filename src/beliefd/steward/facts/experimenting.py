"""What is found out for a plan or a run: the code behind its template, and how often it was tried before."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.experiments.commands import DesignExperiment, StartRun
from beliefd.kernel.experiments.designing import bodies_of
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.experiments.params import PARAMS
from beliefd.kernel.experiments.plan import ExperimentSpec
from beliefd.kernel.experiments.referring import named
from beliefd.kernel.experiments.state import tries_key
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.knowledge.graph import NodeRow
from beliefd.knowledge.schema import EXPERIMENT, TESTED_DATA
from beliefd.ledger.envelope import UNREADABLE, Sealed
from beliefd.steward.facts.shares import Shares
from beliefd.steward.graph import Graph
from beliefd.steward.offload import in_pool

MOST_TRIES: Final = 10_000
"""Sessions in which somebody tested on one body of data; whoever has more has used up his alpha long ago."""


class _Designed(Struct):
    designed_by: str


_DESIGNED: Final = msgspec.json.Decoder(_Designed)


class ExperimentFacts(Struct, frozen=True):
    """Looks at templates, and at what other sessions have tested."""

    graph: Graph
    shares: Shares

    async def findings(
        self,
        session: Session,
        command: DesignExperiment | StartRun,
        who: str,
        policy: Policy,
        unwritten: Sequence[Sealed],
    ) -> ExperimentFindings | None:
        if isinstance(command, DesignExperiment):
            installed = await in_pool("decide", _installed, command.spec.template)
            return await self._with_tries(installed, session, command.spec, who)
        experiment = session.experiments.by_id.get(command.experiment_id)
        name = "" if experiment is None else experiment.template.partition("@")[0]
        found = await in_pool("decide", _installed, name)
        limit = policy.bounds.running_experiments
        running = await self.shares.running(who, limit, unwritten)
        return found if found is None or running < limit else replace(found, running=running)

    async def _with_tries(
        self, found: ExperimentFindings | None, session: Session, spec: ExperimentSpec, who: str
    ) -> ExperimentFindings | None:
        """How often this principal has tested in other sessions: on the same data, and this claim."""
        if found is None:
            return None
        observations = session.observations.by_id
        found_here = [observations[name] for name in named(spec.params) if name in observations]
        bodies = {body for one in found_here for body in bodies_of(one)}
        keys = [tries_key(body, who) for body in sorted(bodies)]
        here = session.session_id
        tries: Counter[str] = Counter()
        if keys:
            for _, one in await self.graph.said(TESTED_DATA, keys, MOST_TRIES, but=here):
                tries[one.key] += one.tries
        # Of what others planned, no ledger has to be asked.
        plans = await self.graph.said(
            EXPERIMENT, [spec.claim_id], MOST_TRIES, but=here, worth=partial(_may_be_of, who)
        )
        attempts = sum(one.designed_by == who for _, one in plans)
        return replace(found, tries_elsewhere=max(tries.values(), default=0), attempts_elsewhere=attempts)


def _may_be_of(who: str, row: NodeRow) -> bool:
    try:
        return _DESIGNED.decode(row.document).designed_by == who
    except UNREADABLE:
        return True


def _installed(name: str) -> ExperimentFindings | None:
    """The code that stands behind a template here. Importing it takes a while, the first time."""
    from beliefd.experiments.registry import code_hash, template

    if name not in PARAMS:
        return None
    return ExperimentFindings(template=template(name).id, code_hash=code_hash(name))
