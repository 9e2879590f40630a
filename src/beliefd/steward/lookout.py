"""What is found out before the gates are asked: content that hashes, threats, how often somebody speaks."""

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from msgspec import Struct

from beliefd.adversarial.builtin import assess
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.commands import DecideApproval, SubmitClaims
from beliefd.kernel.facts import Findings
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.proposals import Propose, Remember
from beliefd.kernel.substrate.tools import MemoryFindings
from beliefd.kernel.values import Principal
from beliefd.steward.calls import confirmed_finding, proposal_findings
from beliefd.stores.base import Store
from beliefd.tools.registry import Registry

Detector = Callable[[Sequence[tuple[str, str]], int, Sequence[int]], Threat]
"""(path, text) pairs, the bundle's tier, earlier tiers of the same principal -> what it found."""

EXAMINED = (SubmitClaims, DecideApproval, Propose, Remember)


class Aside(Struct, frozen=True):
    """What came with a command and is no part of it: where it came from, and secrets that prove things."""

    origin: str | None = None
    secrets: tuple[str | None, ...] = ()


NOTHING_ASIDE = Aside()
TRAIL = 16
SHA256_DIGITS = 64


class Lookout:
    """Gathers findings. The built-in detector is trusted; any other runs apart, against the clock."""

    def __init__(self, store: Store, registry: Registry, detector: Detector | None = None) -> None:
        self._store = store
        self._registry = registry
        self._detector = detector
        self._threads = ThreadPoolExecutor(4, "beliefd-detector") if detector is not None else None
        self._spoken: dict[str, deque[float]] = {}

    async def findings(
        self,
        session: Session | None,
        command: SubmitClaims | DecideApproval | Propose | Remember,
        principal: Principal,
        policy: Policy,
        aside: "Aside",
    ) -> Findings | None:
        """Facts for a command that needs some; None where there is nothing to find out."""
        if session is None:
            return None
        if isinstance(command, SubmitClaims):
            recent = self._count(principal.id, policy.security.rate_window_seconds)
            return await self.examine(command.bundle, session, principal.id, policy, recent, aside.origin)
        if isinstance(command, Propose):
            return proposal_findings(session, command.candidates, aside.secrets, policy, self._registry)
        if isinstance(command, Remember):
            return await self._memory(session, command)
        return await self._for_decision(session, command, policy)

    async def _memory(self, session: Session, command: Remember) -> MemoryFindings | None:
        event_id = command.entry.confirmed_by_event_id
        if event_id is None:
            return None
        seq = await self._store.seq_of(session.session_id, event_id)
        return MemoryFindings(confirming_event_known=seq is not None)

    async def _for_decision(
        self, session: Session, command: DecideApproval, policy: Policy
    ) -> Findings | None:
        """Everything is looked at again before a person's yes takes effect."""
        approval = session.approvals.get(command.approval_id)
        if approval is None or command.decision == "REJECTED":
            return None
        if approval.call is not None:
            return confirmed_finding(session, approval.call, policy, self._registry)
        if approval.bundle is None:
            return None
        bundle = approval.bundle
        if command.decision == "MODIFIED":
            bundle = ClaimBundle(origin_agent=bundle.origin_agent, claims=command.claims or bundle.claims)
        return await self.examine(bundle, session, approval.proposer.id, policy)

    async def examine(
        self,
        bundle: ClaimBundle,
        session: Session | None,
        principal_id: str,
        policy: Policy,
        recent: int = 0,
        origin: str | None = None,
    ) -> ClaimFindings:
        trail = () if session is None else session.trail
        tiers = [tier for who, tier in trail if who == principal_id][-TRAIL:]
        return ClaimFindings(
            threat=await self._threat(_texts(bundle), int(bundle.tier), tiers, policy.adversarial.timeout_ms),
            content=await self._content(bundle),
            recent=recent,
            origin=origin,
        )

    async def _threat(
        self, texts: list[tuple[str, str]], tier: int, trail: list[int], timeout_ms: int
    ) -> Threat:
        if self._detector is None:
            return assess(texts, tier, trail)
        name = getattr(self._detector, "__name__", type(self._detector).__name__)
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, self._detector, texts, tier, trail)
        try:
            return await asyncio.wait_for(work, timeout_ms / 1000)
        except TimeoutError:
            return Threat(detector=name, failed=f"no answer within {timeout_ms} ms")
        except Exception as error:  # whatever a detector throws, a person is asked
            return Threat(detector=name, failed=f"it raised {type(error).__name__}")

    async def _content(self, bundle: ClaimBundle) -> dict[str, Literal["match", "mismatch"]]:
        """Hash again what is stored; what is not at hand says nothing either way."""
        found: dict[str, Literal["match", "mismatch"]] = {}
        names = {
            pointer.evidence_hash.lower() for claim in bundle.claims for pointer in claim.evidence_pointers
        }
        for name in sorted(names):
            if len(name) == SHA256_DIGITS:
                content = await self._store.content(name)
                if content is not None:
                    found[name] = "match" if hashlib.sha256(content).hexdigest() == name else "mismatch"
        return found

    def _count(self, principal_id: str, window_seconds: int) -> int:
        """How many bundles this principal submitted in the window, before this one."""
        now = time.monotonic()
        spoken = self._spoken.setdefault(principal_id, deque())
        while spoken and spoken[0] <= now - window_seconds:
            spoken.popleft()
        spoken.append(now)
        return len(spoken) - 1

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _texts(bundle: ClaimBundle) -> list[tuple[str, str]]:
    texts: list[tuple[str, str]] = [("$.origin_agent", bundle.origin_agent)]
    for index, claim in enumerate(bundle.claims):
        path = f"$.claims[{index}]"
        texts.append((f"{path}.statement", claim.statement))
        if claim.if_wrong_cost:
            texts.append((f"{path}.if_wrong_cost", claim.if_wrong_cost))
        if claim.uncertainty.interpretation:
            texts.append((f"{path}.uncertainty.interpretation", claim.uncertainty.interpretation))
        for place, pointer in enumerate(claim.evidence_pointers):
            texts.append((f"{path}.evidence_pointers[{place}].source", pointer.source))
    return texts
