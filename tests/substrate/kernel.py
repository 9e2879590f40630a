"""Sessions and facts for tests that ask the kernel alone."""

from typing import Any

from msgspec.structs import replace
from rpds import HashTrieMap

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.evolve import begin
from beliefd.kernel.facts import Facts, Findings
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.values import Principal
from beliefd.ledger.chain import policy_hash
from beliefd.testing.world import AGENT, ONTOLOGY

NOW = "2026-01-01T00:00:00.000000Z"


def session_with(**changes: Any) -> Session:
    """A session in which this and that has happened."""
    begun = begin("s", DeclareSession(ontology=ONTOLOGY, hypotheses=("h1", "h2")))
    held = {name: HashTrieMap(one) if isinstance(one, dict) else one for name, one in changes.items()}
    return replace(begun, substrate=replace(begun.substrate, **held))


def facts_of(
    policy: Policy,
    findings: Findings | None = None,
    principal: Principal = AGENT,
    now: str = NOW,
    event_id: str = "e1",
) -> Facts:
    return Facts(
        now=now,
        event_id=event_id,
        principal=principal,
        policy=policy,
        policy_hash=policy_hash(policy),
        findings=findings,
    )
