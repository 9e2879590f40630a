"""What is found out before the gates are asked: content that hashes, threats, how often somebody speaks."""

import asyncio
import contextlib
import hashlib
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Final, Literal, TypeGuard

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from beliefd.adversarial.builtin import assess
from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.state import BundleSubject, CallSubject
from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.canonical import canonical
from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.experiments.commands import DesignExperiment, StartRun
from beliefd.kernel.experiments.designing import bodies_of
from beliefd.kernel.experiments.findings import ExperimentFindings
from beliefd.kernel.experiments.params import PARAMS
from beliefd.kernel.experiments.plan import ExperimentSpec
from beliefd.kernel.experiments.referring import named
from beliefd.kernel.experiments.state import tries_key
from beliefd.kernel.facts import Findings
from beliefd.kernel.observations.commands import Observe
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.subjects import fallen_subjects
from beliefd.kernel.substrate.commands import Propose, Remember
from beliefd.kernel.substrate.tools import MemoryFindings
from beliefd.kernel.values import Principal
from beliefd.knowledge.schema import EXPERIMENT, TESTED_DATA
from beliefd.ledger.envelope import read
from beliefd.ledger.lookups import confirmation_among
from beliefd.steward.facts.call_facts import Proof, confirmed_finding, proposal_findings
from beliefd.steward.facts.citing import citation_findings, cites_calls, eliminated_by
from beliefd.steward.facts.measuring import with_standings
from beliefd.steward.facts.observing import observation_findings
from beliefd.stores.base import Store
from beliefd.tools.registry import Registry

Detector = Callable[[Sequence[tuple[str, str]], int, Sequence[int]], Threat]
"""(path, text) pairs, the bundle's tier, earlier tiers of the same principal -> what it found."""

EXAMINED = (SubmitClaims, DecideApproval, Propose, Remember, Observe, DesignExperiment, StartRun)
Examined = (
    SubmitClaims | DecideApproval | Propose | Remember | Observe | DesignExperiment | StartRun | Eliminate
)
MOST_TRIES: Final = 10_000
"""Sessions in which somebody tested on one body of data; whoever has more has used up his alpha long ago."""
TRAIL: Final = 16
SHA256_DIGITS: Final = 64
HASH_IN_PLACE: Final = 64 * 1024
"""What is larger is hashed in a thread, so that other callers are not held up."""
MAX_RUNNING: Final = 16
"""So many questions may be with a detector at once; those that hang count too."""


class _Designed(Struct):
    designed_by: str


_DESIGNED: Final = msgspec.json.Decoder(_Designed)


def is_examined(command: object) -> TypeGuard[Examined]:
    """Must something be looked up before this can be decided?"""
    # Most commands are eliminations, and most of those cite nothing: they are asked first, and cheaply.
    return cites_calls(command) if type(command) is Eliminate else isinstance(command, EXAMINED)


class Attachments(Struct, frozen=True):
    """What came with a command and is no part of it: where it came from, and what proves the tokens in it."""

    origin: str | None = None
    proofs: tuple[Proof | None, ...] = ()


NO_ATTACHMENTS: Final = Attachments()


class FactFinder:
    """Gathers findings. The built-in detector runs in place, any other apart and against the clock."""

    def __init__(self, store: Store, registry: Registry, detector: Detector | None = None) -> None:
        self._store = store
        self._registry = registry
        self._detector = detector
        self._running = 0
        self._spoken: dict[str, deque[float]] = {}

    async def findings(
        self,
        session: Session | None,
        command: Examined,
        principal: Principal,
        policy: Policy,
        recent: int,
        attachments: "Attachments",
    ) -> Findings | None:
        """Facts for a command that needs some; None where there is nothing to find out."""
        if isinstance(command, SubmitClaims):
            found = await self.examine(
                command.bundle, session, principal.id, policy, recent, attachments.origin
            )
            return await with_standings(found, command)
        if session is None:
            return None
        if isinstance(command, Propose):
            return proposal_findings(session, command.candidates, attachments.proofs, policy, self._registry)
        if isinstance(command, Remember):
            return await self._confirmation(session, command)
        if isinstance(command, Eliminate):
            return await citation_findings(self._store, session, command)
        if isinstance(command, Observe):
            return await observation_findings(self._store, session, command)
        if isinstance(command, DesignExperiment):
            installed = await asyncio.to_thread(_installed, command.spec.template)
            return await self._with_tries(installed, session, command.spec, principal.id)
        if isinstance(command, StartRun):
            experiment = session.experiments.by_id.get(command.experiment_id)
            name = "" if experiment is None else experiment.template.partition("@")[0]
            return await asyncio.to_thread(_installed, name)
        return await self._for_decision(session, command, policy)

    async def _confirmation(self, session: Session, command: Remember) -> MemoryFindings | None:
        event_id = command.entry.confirmed_by_event_id
        if event_id is None:
            return None
        seq = await self._store.seq_of(session.session_id, event_id)
        entries = () if seq is None else await self._store.entries(session.session_id, seq - 1, 1)
        return confirmation_among((read(one.record) for one in entries), event_id)

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
        tries: Counter[str] = Counter()
        for row in await self._store.nodes(TESTED_DATA, keys, MOST_TRIES) if keys else ():
            tries[row.id] += int(row.status) if row.session_id != session.session_id else 0
        plans = await self._store.nodes(EXPERIMENT, [spec.claim_id], MOST_TRIES)
        attempts = sum(
            _DESIGNED.decode(row.document).designed_by == who
            for row in plans
            if row.session_id != session.session_id
        )
        return replace(found, tries_elsewhere=max(tries.values(), default=0), attempts_elsewhere=attempts)

    async def _for_decision(
        self, session: Session, command: DecideApproval, policy: Policy
    ) -> Findings | None:
        """Everything is looked at again before a person's yes takes effect."""
        approval = session.approvals.by_id.get(command.approval_id)
        if approval is None or command.decision == "REJECTED":
            return None
        subject = approval.subject
        if isinstance(subject, CallSubject) and subject.candidate is not None:
            return confirmed_finding(session, subject.candidate, policy, self._registry)
        if not isinstance(subject, BundleSubject) or subject.bundle is None:
            return None
        bundle = subject.bundle
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
        trail = () if session is None else session.claims.recent_tiers
        tiers = [tier for who, tier in trail if who == principal_id][-TRAIL:]
        return ClaimFindings(
            threat=await self._threat(_texts(bundle), int(bundle.tier), tiers, policy.adversarial.timeout_ms),
            content=await self._content(bundle),
            recent=recent,
            origin=origin,
            fallen=UNSET if session is None else await self._fallen(bundle, session),
        )

    async def _fallen(self, bundle: ClaimBundle, session: Session) -> dict[str, str] | UnsetType:
        names = fallen_subjects(session, bundle.claims)
        return await eliminated_by(self._store, session.session_id, names) if names else UNSET

    async def _threat(
        self, texts: list[tuple[str, str]], tier: int, trail: list[int], timeout_ms: int
    ) -> Threat:
        if self._detector is None:
            try:
                return assess(texts, tier, trail)
            except Exception as error:  # our own defect is no reason to let anything pass
                return _failed(assess, error)
        if self._running >= MAX_RUNNING:
            return Threat(detector=_name(self._detector), failed=f"{MAX_RUNNING} earlier questions hang")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Threat] = loop.create_future()

        def work(detector: Detector) -> None:
            found = _ask(detector, texts, tier, trail)
            with contextlib.suppress(RuntimeError):  # the loop is gone, and who asked with it
                loop.call_soon_threadsafe(self._pass_on, answer, found)

        self._running += 1
        # A thread that hangs cannot be ended; as a daemon it does not keep the process from ending either.
        threading.Thread(target=work, args=(self._detector,), name="beliefd-detector", daemon=True).start()
        try:
            return await asyncio.wait_for(answer, timeout_ms / 1000)
        except TimeoutError:
            return Threat(detector=_name(self._detector), failed=f"no answer within {timeout_ms} ms")

    def _pass_on(self, answer: "asyncio.Future[Threat]", found: Threat) -> None:
        self._running -= 1
        if not answer.done():
            answer.set_result(found)

    async def _content(self, bundle: ClaimBundle) -> dict[str, Literal["match", "mismatch"]]:
        """Hash again what is stored; what is not at hand says nothing either way."""
        found: dict[str, Literal["match", "mismatch"]] = {}
        names = {
            pointer.evidence_hash.lower() for claim in bundle.claims for pointer in claim.evidence_pointers
        }
        names = {name for name in names if len(name) == SHA256_DIGITS}
        for name in sorted(await self._store.kept_content(names)) if names else ():
            content = await self._store.content(name)
            if content is not None:
                found[name] = "match" if await _sha256(content) == name else "mismatch"
        return found

    def count(self, command: object, principal: Principal, policy: Policy) -> int:
        """How many bundles this principal submitted in the window, before this one."""
        if not isinstance(command, SubmitClaims):
            return 0
        now, window = time.monotonic(), policy.security.rate_window_seconds
        spoken = self._spoken.setdefault(principal.id, deque())
        while spoken and spoken[0] <= now - window:
            spoken.popleft()
        spoken.append(now)
        # Past the limit only the latest can matter, however long the window is.
        while len(spoken) > policy.security.rate_limit + 1:
            spoken.popleft()
        return len(spoken) - 1


def _installed(name: str) -> ExperimentFindings | None:
    """The code that stands behind a template here. Importing it takes a while, the first time."""
    from beliefd.experiments.registry import code_hash, template

    if name not in PARAMS:
        return None
    return ExperimentFindings(template=template(name).id, code_hash=code_hash(name))


async def _sha256(content: bytes) -> str:
    if len(content) <= HASH_IN_PLACE:
        return hashlib.sha256(content).hexdigest()
    return (await asyncio.to_thread(hashlib.sha256, content)).hexdigest()


def _ask(detector: Detector, texts: list[tuple[str, str]], tier: int, trail: list[int]) -> Threat:
    """INVARIANT: whatever a detector does, what comes out is a verdict that can be recorded and judged."""
    try:
        threat = msgspec.convert(msgspec.to_builtins(detector(texts, tier, trail)), Threat)
        canonical(msgspec.to_builtins(threat))
        return threat
    except BaseException as error:
        return _failed(detector, error)


def _failed(detector: Detector, error: BaseException) -> Threat:
    return Threat(detector=_name(detector), failed=f"it raised {type(error).__name__}")


def _name(detector: Detector) -> str:
    return str(getattr(detector, "__name__", type(detector).__name__))


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
