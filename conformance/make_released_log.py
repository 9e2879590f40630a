"""Writes the ledger that stands for this version in released-logs/: a long session with all verbs of belief.

Every other kind of event is in the ledgers of recorded-logs/.

Times and ids are fixed, so two runs give the same bytes. A log that has been released is never written again:
later versions must read, verify and re-decide it as it is. Run it once before a release:

    python conformance/make_released_log.py
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from beliefd import __version__
from beliefd.embedded import AsyncEmbedded
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.policy import Policy, TerminationPolicy
from beliefd.kernel.values import Principal, Role, Tier
from beliefd.ledger.state_hash import state_hash
from beliefd.steward.bootstrap import bootstrap
from beliefd.stores.memory import MemoryStore
from beliefd.testing.frozen import frozen_environment

LOGS = Path(__file__).parent / "released-logs"
ONTOLOGY = {
    "hypothesis_space_id": "incident-causes",
    "hypothesis_version": "3",
    "causal_graph_ref": "graphstore://postgres-repl",
    "causal_graph_version": "v17",
}
HYPOTHESES = [
    "bad_deploy",
    "cpu_throttle",
    "db_connection_exhaustion",
    "disk_full",
    "dns, or a typo",
    "network|partition",
    'say "no"',
    "\uffff last of the plane",
    "\U0001f525 fire",
]
AGENT = Principal(id="agent://triage", role=Role.AGENT)
APPROVER = Principal(id="human://alice", role=Role.APPROVER)
ADMIN = Principal(id="human://root", role=Role.ADMIN, tier=Tier.PRIVILEGE.name)
SETTLED = Policy(termination=TerminationPolicy(force_roles=(Role.ADMIN,), stability_window=2))


class Story:
    """One session, told by several principals under a policy that changes on the way."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self._environment = frozen_environment()
        self._runtime = bootstrap(self._store, environment=self._environment)
        self.session_id = ""

    def by(self, principal: Principal) -> AsyncEmbedded:
        return AsyncEmbedded(self._runtime, principal)

    def under(self, policy: Policy) -> None:
        self._runtime = bootstrap(self._store, policy, environment=self._environment)

    async def gone(self, source: str, observation: str, *names: str, **justification: Any) -> None:
        await self.by(AGENT).eliminate(
            self.session_id,
            source_id=source,
            observation_id=observation,
            eliminated=names,
            justification=justification,
        )

    async def refused(self, work: Any) -> None:
        try:
            await work
        except BeliefdError:
            return
        raise AssertionError("this part of the story is about a refusal")

    async def tell(self) -> None:
        agent = self.by(AGENT)
        declared = await agent.declare_session(
            HYPOTHESES, ONTOLOGY, metadata={"incident": 7, "load": 0.1, "tiny": 5e-324, "huge": 1e21}
        )
        self.session_id = declared.session_id
        apart = await self._replica()
        await self.gone("adapter://sre", "df", "disk_full", free=0.42, note="\u20ac \u2028 \U0001f4be")
        await self.gone("adapter://sre", "df", "disk_full")
        await self.gone("adapter://sre", "nothing")
        await self.refused(self.gone("adapter://sre", "ufo", "aliens"))
        await agent.enter_obligation(self.session_id, "look twice", 3)
        await self.refused(agent.enter_obligation(self.session_id, "look twice", 0))
        await self.refused(agent.enter_obligation(self.session_id, "the impossible", 99))
        await self.refused(agent.request_exit(self.session_id, "never entered"))
        await agent.request_exit(self.session_id, "look twice", context={"attempt": 1})
        await agent.declare_conclusion(self.session_id, "too early")
        await self.by(ADMIN).merge(self.session_id, apart)
        await self.gone("human://bob", "top", "cpu_throttle", "disk_full")
        await agent.request_exit(self.session_id, "look twice")
        await agent.request_termination(self.session_id)
        await agent.request_termination(self.session_id, context={"force": True})
        # Long enough for an event that carries the hash of the whole state.
        await agent.batch(
            self.session_id,
            [{"verb": "DECLARE_CONCLUSION", "conclusion_id": f"draft {at % 3}"} for at in range(240)],
        )
        await self._end()

    async def _replica(self) -> bytes:
        """The same session somewhere else, where something else was seen."""
        elsewhere = AsyncEmbedded(bootstrap(MemoryStore(), environment=frozen_environment(lane=1)), ADMIN)
        await elsewhere.import_ledger(await self.by(AGENT).export(self.session_id))
        for name in ("dns, or a typo", "network|partition"):
            await elsewhere.eliminate(
                self.session_id, source_id="adapter://far", observation_id="dig", eliminated=[name]
            )
        apart = await elsewhere.export(self.session_id)
        await elsewhere.close()
        return apart

    async def _end(self) -> None:
        self.under(SETTLED)
        agent = self.by(AGENT)
        rest = ["db_connection_exhaustion", 'say "no"', "\uffff last of the plane", "\U0001f525 fire"]
        await self.gone("oracle://probe", "all", *rest)
        await agent.declare_conclusion(self.session_id, "bad_deploy")
        await agent.request_termination(self.session_id)
        await self.by(APPROVER).request_termination(self.session_id, context={"force": True})
        await agent.declare_conclusion(self.session_id, "bad_deploy")
        await agent.request_termination(self.session_id)
        await self.refused(self.gone("adapter://sre", "late", "bad_deploy"))

    async def written(self) -> tuple[bytes, dict[str, Any]]:
        """The export, and what everybody who reads it must find."""
        await self.tell()
        calls = self.by(AGENT)
        position = await self._runtime.steward.positions.existing(self.session_id)
        snapshot = await calls.query_belief(self.session_id)
        found = {
            "version": __version__,
            "clauses": ["beliefs.replay"],
            "events": position.head.seq,
            "head": position.head.hash,
            "state_hash": state_hash(position.session),
            "survivors": snapshot.survivors,
            "status": snapshot.status,
            "conclusions": snapshot.conclusions,
            "obligations": [msgspec.to_builtins(kept) for kept in snapshot.obligations],
        }
        return await calls.export(self.session_id), found


def main() -> int:
    export, found = asyncio.run(Story().written())
    log = LOGS / f"{__version__}.jsonl"
    if log.exists():
        print(f"{log.name} has been released; raise the version first", file=sys.stderr)
        return 1
    log.write_bytes(export)
    log.with_suffix(".expected.json").write_text(json.dumps(found, indent=2) + "\n")
    print(f"{log.name}: {found['events']} events, head {found['head']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
