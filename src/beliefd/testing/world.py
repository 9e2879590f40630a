"""A world for tests: a steward on a fresh store, time that is moved by hand, and callers of every role."""

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, Self

import msgspec

from beliefd.client.requests import Request
from beliefd.client.synchronous import Calls
from beliefd.embedded import Embedded, send
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.values import OntologyBundle, Principal, Role, Tier
from beliefd.ledger.envelope import Sealed, read
from beliefd.ledger.replay import fold
from beliefd.ledger.state_hash import state_hash
from beliefd.protocol.approvals import ApprovalCard, DecidedApproval
from beliefd.protocol.claims import JudgedBundle
from beliefd.protocol.operation import A
from beliefd.protocol.rights import EVERYTHING, Rights
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.steward.facts.threats import Detector
from beliefd.steward.signin.verifier import Verifier
from beliefd.steward.write.queued import Outcome
from beliefd.stores.base import Store
from beliefd.stores.opening import MEMORY
from beliefd.stores.projections import InboxRow
from beliefd.testing.frozen import Clock
from beliefd.tools.biscuit import Signer
from beliefd.tools.registry import Registry

NOW: Final = Clock().now()
ONTOLOGY: Final = OntologyBundle(
    hypothesis_space_id="space",
    hypothesis_version="1",
    causal_graph_ref="graphstore://test",
    causal_graph_version="v1",
)
ONTOLOGY_JSON: Final[dict[str, str]] = msgspec.to_builtins(ONTOLOGY)

AGENT: Final = Principal(id="agent://writer", role=Role.AGENT, tier=Tier.PRIVILEGE.name)
OTHER_AGENT: Final = Principal(id="agent://other", role=Role.AGENT, tier=Tier.PRIVILEGE.name)
ENCODER: Final = Principal(id="encoder://eye", role=Role.ENCODER)
TOOL: Final = Principal(id="tool://probe", role=Role.TOOL)
ANN: Final = Principal(id="human://ann", role=Role.APPROVER)
BOB: Final = Principal(id="human://bob", role=Role.APPROVER)
ROOT: Final = Principal(id="human://root", role=Role.ADMIN, tier=Tier.PRIVILEGE.name)
BY_ROLE: Final = {one.role: one for one in (AGENT, ENCODER, TOOL, ANN, ROOT)}

Card = ApprovalCard | JudgedBundle


def quiet(*_: object) -> Threat:
    """A detector that is never alarmed."""
    return Threat(detector="quiet")


def policy(**sections: Any) -> Policy:
    """A policy from its JSON, defaults elsewhere."""
    return msgspec.convert(sections, Policy)


def refused(code: Code, act: Callable[[], object]) -> BeliefdError:
    """The error that an act is answered with, which must have this code."""
    try:
        answer = act()
    except BeliefdError as error:
        if error.code is not code:
            raise
        return error
    raise AssertionError(f"not refused with {code}, but answered with {answer}")


class Person(Calls):
    """The client's methods, spoken by one principal to a world."""

    def __init__(self, world: "World", principal: Principal, rights: Rights = EVERYTHING) -> None:
        self.world = world
        self.principal = principal
        self.rights = rights

    def _send(self, request: Request[A]) -> A:
        return self.world.run(lambda: send(self.world.runtime, self.principal, request, self.rights))

    def close(self) -> None:
        return None

    def approve(self, card: Card, **more: Any) -> DecidedApproval:
        return self.decide(card, "APPROVED", **more)

    def reject(self, card: Card, **more: Any) -> DecidedApproval:
        return self.decide(card, "REJECTED", **more)

    def modify(self, card: Card, *claims: dict[str, Any], **more: Any) -> DecidedApproval:
        return self.decide(card, "MODIFIED", claims=claims, **more)

    def decide(self, card: Card, decision: str, **more: Any) -> DecidedApproval:
        assert card.approval_id is not None
        return self.decide_approval(card.approval_id, decision, **{"content_hash": card.content_hash, **more})


class World(Embedded):
    """The embedded library, spoken to by `root` unless a person is named, for any number of threads."""

    def __init__(  # noqa: PLR0913 - one argument per port
        self,
        target: str | os.PathLike[str] = MEMORY,
        policy: Policy | None = None,
        *,
        clock: Clock | None = None,
        detector: Detector | Mapping[str, Detector] | None = quiet,
        registry: Registry | None = None,
        signer: Signer | None = None,
        sign_in: Verifier | None = None,
        log: LogSettings | None = None,
    ) -> None:
        self.target = target
        self.signer = signer
        self.clock = clock or Clock()
        self._ports: dict[str, Any] = {
            "detector": detector,
            "registry": registry,
            "signer": signer,
            "sign_in": sign_in,
            "log": log,
        }
        super().__init__(target, ROOT, policy=policy, environment=self.clock.environment, **self._ports)
        self.agent, self.ann, self.bob, self.root = map(self.person, (AGENT, ANN, BOB, ROOT))

    def person(self, principal: Principal, rights: Rights = EVERYTHING) -> Person:
        return Person(self, principal, rights)

    @property
    def store(self) -> Store:
        return self.steward.store

    def session(self) -> str:
        return self.agent.declare_session(["h1", "h2"], ONTOLOGY).session_id

    # -- past all handlers -----------------------------------------------------------------------

    def declare(self, command: DeclareSession, principal: Principal = ROOT) -> str:
        return self.run(lambda: self.steward.declare(command, principal)).session.session_id

    def submit(self, session_id: str, command: Command, principal: Principal = ROOT, **more: Any) -> Outcome:
        """Put a command before the steward as it is; a refusal is an outcome, not an error."""
        return self.run(lambda: self.steward.submit(session_id, command, principal, **more))

    def expire(self) -> int:
        return self.run(self.runtime.expiry.expire_due)

    # -- what came of it -------------------------------------------------------------------------

    def state(self, session_id: str) -> Session:
        return self.run(lambda: self.steward.positions.existing(session_id)).session

    def hash(self, session_id: str) -> str:
        return state_hash(self.state(session_id))

    def entries(self, session_id: str) -> list[Sealed]:
        return self.run(lambda: self.store.entries(session_id))

    def deltas(self, session_id: str) -> list[Any]:
        return [read(entry.record).delta for entry in self.entries(session_id)]

    def rows(self) -> list[InboxRow]:
        return self.run(lambda: self.store.inbox(None, None, 10_000))

    def check(self, session_id: str) -> None:
        """The ledger verifies, deciding it again included, and the state is its fold."""
        verified = self.verify(session_id)
        assert verified.ok, verified.first_bad
        position = fold(self.entries(session_id))
        assert position is not None
        assert state_hash(position.session) == self.hash(session_id)

    # -- forgetting ------------------------------------------------------------------------------

    def forget(self, store: Store | None = None) -> None:
        """Go on with a new steward, which remembers nothing, on the same store or on this one."""
        policy, environment = self.steward.in_force.policy, self.clock.environment
        self.runtime = bootstrap(store or self.store, policy, environment=environment, **self._ports)
        self.steward = self.runtime.steward

    def restarted(self, policy: Policy | None = None) -> Self:
        """The same store opened again, by a world where the same time it is."""
        self.close()
        return self._reopened(policy or self.steward.in_force.policy)

    def _reopened(self, policy: Policy) -> Self:
        return type(self)(self.target, policy, clock=self.clock, **self._ports)
