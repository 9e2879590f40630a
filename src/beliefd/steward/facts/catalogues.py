"""Tools of catalogues: found in the ledger that they are pinned in, with what policy says of them."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from beliefd.kernel.catalogues.policy import CATALOGUES
from beliefd.kernel.catalogues.rules import annotated_tier
from beliefd.kernel.catalogues.state import CATALOGUE, Catalogue, OfferedTool, Pinned
from beliefd.kernel.context.policy import ContextPolicy
from beliefd.kernel.context.tools import hinted_info
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.kernel.values import DEFAULT_SPACE, Tier, TierName
from beliefd.ledger.replay import Position
from beliefd.policy.lexicons import shipped_lexicon
from beliefd.steward.facts.caller_tools import CallerTool, Offered, caller_tool
from beliefd.steward.spaces import Spaces

TIMEOUT_MS: Final = 60_000
MOST_KEPT: Final = 10_000


def catalogue_session(upstream: str, space: str) -> str:
    """The session that holds a catalogue. No name of a space has an `@` in it, and no name of an upstream."""
    return f"{CATALOGUE}{upstream}" + ("" if space == DEFAULT_SPACE else f"@{space}")


def offered_definition(pin: Pinned, upstream: str, policy: Policy) -> ToolDefinition:
    """A pinned tool of an upstream with what policy says of it.

    INVARIANT: its annotations raise what policy says, and never lower it, nor what its name tells.
    """
    tool, named = pin.tool, policy.tools.get(pin.tool.name)
    trusted = (policy.catalogues or CATALOGUES).trusts(upstream)
    reads = tool.hints("readOnlyHint") is True
    if reads and named is None:
        words = shipped_lexicon((policy.context or ContextPolicy()).lexicon)
        reads = hinted_info(tool, words, trusted=trusted).tier == "read"
    hinted = annotated_tier(tool, reads=reads, trusted=trusted)
    told: list[TierName] = [] if hinted is None else [hinted]
    told.append("WRITE_LIMITED" if named is None and hinted is None else "READ_ONLY")
    definition = ToolDefinition() if named is None else named
    return replace(
        definition,
        schema=tool.input_schema,
        description="",
        tier=max((*told, definition.tier), key=lambda name: Tier[name]),
        mutates=definition.mutates or not reads,
        timeout_ms=TIMEOUT_MS if named is None else named.timeout_ms,
        executor="caller",
        network=_reaches(tool, definition),
    )


def _reaches(tool: OfferedTool, definition: ToolDefinition) -> bool | UnsetType:
    """A server of tools may say that one stays away from the network, unless policy knows better."""
    hint = tool.hints("openWorldHint")
    if definition.network is True or hint is True:
        return True
    return definition.network if hint is None else hint


class Catalogues:
    """Reads what is pinned. What was worked out for a definition is kept while the policy is the same."""

    def __init__(self, fresh: Callable[[str], Awaitable[Position | None]], spaces: Spaces) -> None:
        """`fresh` gives the newest position of a session."""
        self._fresh = fresh
        self._spaces = spaces
        self._policy: Policy | None = None
        self._known: dict[tuple[str, str], CallerTool] = {}
        self._held: dict[tuple[str, str], Catalogue] = {}

    async def held(self, upstream: str, space: str) -> Catalogue | None:
        position = await self._fresh(catalogue_session(upstream, space))
        if position is None:
            return None
        if len(self._held) >= MOST_KEPT:
            self._held.clear()
        self._held[upstream, space] = position.session.catalogue
        return position.session.catalogue

    async def seen_by(self, session: Session, upstream: str) -> Catalogue | None:
        """The catalogue that calls of a session are judged on; from what was found last, if it was."""
        space = await self._spaces.of(session.session_id) or DEFAULT_SPACE
        found = self._held.get((upstream, space))
        return await self.held(upstream, space) if found is None else found

    async def offered_to(
        self, session: Session | None, candidates: Iterable[Candidate], policy: Policy
    ) -> Offered:
        """What candidates name that are calls of tools in catalogues of their session's space; without a
        session, of the default one."""
        calls = (one for one in candidates if isinstance(one, CallCandidate))
        names = {(one.upstream, one.tool_id) for one in calls if one.upstream is not UNSET}
        if not names:
            return {}
        space = None if session is None else await self._spaces.of(session.session_id)
        space = space or DEFAULT_SPACE
        held = {upstream: await self.held(upstream, space) for upstream, _ in names}
        return {name: self._tool(held[name[0]], *name, policy) for name in names}

    def _tool(self, held: Catalogue | None, upstream: str, name: str, policy: Policy) -> CallerTool | None:
        pin = None if held is None else held.pinned(name)
        if pin is None:
            return None
        if self._policy is not policy or len(self._known) >= MOST_KEPT:
            self._policy, self._known = policy, {}
        key = (upstream, pin.hash)
        if key not in self._known:
            made = caller_tool(name, offered_definition(pin, upstream, policy))
            self._known[key] = replace(made, definition_hash=pin.hash)
        return self._known[key]
