"""What speaks for and against a bundle, before the gates are asked: threats, content, calls, words."""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.claims.bundle import CALL, SHA256_DIGITS, ClaimBundle, EvidencePointer
from beliefd.kernel.claims.findings import ClaimFindings, RejectedBefore, Unread
from beliefd.kernel.claims.threat import Threat
from beliefd.kernel.claims.tiers import highest_tier
from beliefd.kernel.labels import Bringer
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.subjects import fallen_subjects
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.values import DEFAULT_SPACE, TierName
from beliefd.knowledge.schema import REJECTED_WORDS
from beliefd.ledger.envelope import Sealed
from beliefd.steward.facts.call_facts import Tools
from beliefd.steward.facts.catalogues import Catalogues
from beliefd.steward.facts.citing import NOTHING_HEARD, Heard, eliminated_by, seen_calls
from beliefd.steward.facts.hashing import sha256_of
from beliefd.steward.facts.published import published, rejected_elsewhere
from beliefd.steward.facts.threats import NOBODY, OVER_THE_RATE, Detector, ThreatFinder, texts_of
from beliefd.steward.graph import Graph
from beliefd.steward.spaces import Spaces
from beliefd.stores.base import Store
from beliefd.stores.within import Within
from beliefd.tools.registry import Registry

TRAIL: Final = 16
LOOKED_AGAIN_SECONDS: Final = 1.0
MOST_HASHED: Final = 100
"""Of so many contents that a bundle cites the bytes are looked at again."""


class Examiner:
    """Looks at bundles."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        spaces: Spaces,
        detector: Detector | Mapping[str, Detector] | None,
        catalogues: Catalogues,
        graph: Graph,
    ) -> None:
        self._store = store
        self._graph = graph
        self._registry = registry
        self._catalogues = catalogues
        self._spaces = spaces
        self._detectors = ThreatFinder(detector)
        self._nothing_rejected_until = 0.0

    async def examine(  # noqa: PLR0913, PLR0917 - one argument per thing that is looked at
        self,
        bundle: ClaimBundle,
        session: Session | None,
        principal_id: str,
        policy: Policy,
        recent: int = 0,
        origin: str | None = None,
        unwritten: Sequence[Sealed] = (),
        within: Within = None,
    ) -> ClaimFindings:
        """What speaks for and against a bundle. INVARIANT: nothing is told of what is in another space than
        the session; of a bundle that is only tried out, than the spaces `within` which its caller reads."""
        if session is not None:
            within = await self._spaces.only(session.session_id)
        trail = () if session is None else session.claims.recent_tiers
        tiers = [tier for who, tier in trail if who == principal_id][-TRAIL:]
        tools = await self._tool_tiers(bundle, session, policy, within)
        tier = int(highest_tier(bundle, principal_id, policy, tools))
        if recent >= policy.security.rate_limit:  # the security gate stops it, so nothing is spent on it
            threat, *others = [Threat(detector=NOBODY, failed=OVER_THE_RATE)]
        else:
            threat, *others = await self._detectors.threats(
                texts_of(bundle), tier, tiers, policy.adversarial, principal_id
            )
        pointers = [pointer for claim in bundle.claims for pointer in claim.evidence_pointers]
        content, unhashed = await self._content(pointers, within) if pointers else ({}, UNSET)
        heard = NOTHING_HEARD if session is None else await self._heard(pointers, session)
        return ClaimFindings(
            threat=threat,
            others=tuple(others) or UNSET,
            content=content,
            brought=await self._brought(content, within) if content else UNSET,
            seen=heard.seen,
            unheard=heard.unheard,
            unread=heard.unread,
            unhashed=unhashed,
            recent=recent,
            origin=origin,
            tools=tools,
            fallen=UNSET if session is None else await self._fallen(bundle, session),
            rejected=await self._rejected(bundle, session, within),
            corrected=UNSET
            if bundle.corrects is UNSET or session is None
            else await published(self._store, session, bundle.corrects.bundle_id, unwritten),
            authority={},
            by_rights=True,
            by_words=True,
        )

    async def _rejected(
        self, bundle: ClaimBundle, session: Session | None, within: Within
    ) -> dict[str, RejectedBefore]:
        """Most stores hold no rejected words: that is found out once a second, not for each bundle."""
        now = time.monotonic()
        if now < self._nothing_rejected_until:
            return {}
        if not await self._store.any_node(REJECTED_WORDS):
            self._nothing_rejected_until = now + LOOKED_AGAIN_SECONDS
            return {}
        return await rejected_elsewhere(self._graph, bundle, session, within)

    async def _fallen(self, bundle: ClaimBundle, session: Session) -> dict[str, str] | UnsetType:
        names = fallen_subjects(session, bundle.claims)
        return await eliminated_by(self._store, session.session_id, names) if names else UNSET

    async def _tools(self, session: Session | None, candidates: Sequence[Candidate], policy: Policy) -> Tools:
        offered = await self._catalogues.offered_to(session, candidates, policy)
        return Tools(self._registry, offered)

    async def _tool_tiers(
        self, bundle: ClaimBundle, session: Session | None, policy: Policy, within: Within = None
    ) -> dict[str, TierName]:
        """What the tools that claims decide to call say of themselves: found as for a call of them."""
        actions = {one.action.key: one.action for one in bundle.claims if one.action is not UNSET}
        reads = session is not None or within is None or DEFAULT_SPACE in within
        named = {
            key: CallCandidate(tool_id=actions[key].tool or "", upstream=actions[key].upstream)
            for key in sorted(actions)
            if actions[key].tool is not UNSET and (reads or actions[key].upstream is UNSET)
        }
        if not named:
            return {}
        tools = await self._tools(session, tuple(named.values()), policy)
        known = {key: tools.get(candidate, policy) for key, candidate in named.items()}
        return {key: tool.definition.tier for key, tool in known.items() if tool is not None}

    async def _content(
        self, pointers: Iterable[EvidencePointer], within: Within
    ) -> tuple[dict[str, Literal["match", "mismatch"]], Unread | UnsetType]:
        """Hash again what is stored; what is not at hand says nothing either way. And what was left out."""
        found: dict[str, Literal["match", "mismatch"]] = {}
        said = {pointer.evidence_hash for pointer in pointers}
        names = {name.lower() for name in said if len(name) == SHA256_DIGITS}
        kept = sorted(await self._store.kept_content(names, within)) if names else []
        for name in kept[:MOST_HASHED]:
            content = await self._store.content(name)
            if content is not None:
                found[name] = "match" if await sha256_of(content) == name else "mismatch"
        rest = tuple(kept[MOST_HASHED:])
        return found, Unread(limit=MOST_HASHED, names=rest) if rest else UNSET

    async def _heard(self, pointers: Iterable[EvidencePointer], session: Session) -> Heard:
        """Of the calls that claims cite, those that the server is a witness of, and those not looked at."""
        sources = dict.fromkeys([pointer.source for pointer in pointers])
        cited = [source.removeprefix(CALL) for source in sources if source.startswith(CALL)]
        if not cited:
            return NOTHING_HEARD
        return await seen_calls(self._store, session, cited, await self._spaces.only(session.session_id))

    async def _brought(self, content: Iterable[str], within: Within) -> dict[str, tuple[Bringer, ...]]:
        return {name: tuple(await self._store.bringers(name, within)) for name in content}
