"""What is known of tools, as far as it tells where values may come from and go to."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, UnsetType

from beliefd.kernel.catalogues.policy import CATALOGUES
from beliefd.kernel.context.policy import ContextPolicy
from beliefd.kernel.context.tools import UNDECLARED, info_of, pinned_info
from beliefd.kernel.names import ALL
from beliefd.kernel.origin import ToolInfo
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.policy.lexicons import shipped_lexicon
from beliefd.steward.facts.catalogues import Catalogues
from beliefd.tools.registry import Registry

MOST_KEPT: Final = 1_000


class KnownTools(Struct, frozen=True):
    """What is declared or pinned about tools. A name may stand for one tool here and another one upstream."""

    by_name: Mapping[str, ToolInfo]
    pinned: Mapping[str, Mapping[str, ToolInfo]]
    policy: ContextPolicy

    def get(self, tool_id: str, upstream: str | UnsetType) -> ToolInfo:
        """Of a tool that nobody has declared, what the operator says of such names."""
        found = self.pinned[upstream].get(tool_id) if upstream else self.by_name.get(tool_id)
        return found or info_of(tool_id, UNDECLARED, self.policy)


class ToolInfos:
    """Works out what is known of tools, and keeps it while policy, tools and pins are the same."""

    def __init__(self, registry: Registry, catalogues: Catalogues) -> None:
        self._registry = registry
        self._catalogues = catalogues
        self._made: dict[str, ToolInfo] = {}
        self._made_of: tuple[Policy, int] | None = None
        self._pins: dict[str, tuple[Any, Policy, dict[str, ToolInfo]]] = {}

    async def known_in(self, session: Session, upstreams: set[str], policy: Policy) -> KnownTools:
        declared, told = self._declared(policy), policy.context or ContextPolicy()
        if not upstreams:
            return KnownTools(declared, {}, told)
        pinned = {one: await self._pinned(session, one, policy) for one in sorted(upstreams)}
        by_name = {name: info for infos in pinned.values() for name, info in infos.items()}
        return KnownTools({**by_name, **declared}, pinned, told)

    async def _pinned(self, session: Session, upstream: str, policy: Policy) -> Mapping[str, ToolInfo]:
        held = await self._catalogues.seen_by(session, upstream)
        if held is None:
            return {}
        made = self._pins.get(upstream)
        if made is None or made[0] is not held.pins or made[1] is not policy:
            told, named = policy.context or ContextPolicy(), policy.tools
            words, trusted = shipped_lexicon(told.lexicon), (policy.catalogues or CATALOGUES).trusts(upstream)
            infos = {
                name: pinned_info(pin.tool, named.get(name), told, words, trusted)
                for name, pin in held.pins.items()
            }
            if len(self._pins) >= MOST_KEPT:
                self._pins.clear()
            made = self._pins[upstream] = (held.pins, policy, infos)
        return made[2]

    def _declared(self, policy: Policy) -> Mapping[str, ToolInfo]:
        """What is declared about tools; worked out again when there is another policy or another tool."""
        tools = self._registry.all()
        if self._made_of is None or self._made_of[0] is not policy or self._made_of[1] != len(tools):
            told = policy.context or ContextPolicy()
            named = {name: UNDECLARED for name in told.tools if ALL not in name}
            known = {**named, **policy.tools, **{tool.tool_id: tool.definition for tool in tools}}
            self._made = {name: info_of(name, one, told) for name, one in known.items() if name != ALL}
            self._made_of = (policy, len(tools))
        return self._made
