"""Handlers of catalogues: pinning what others offer, and what is pinned."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.catalogues.commands import PinTools
from beliefd.kernel.catalogues.events import ToolsPinned
from beliefd.kernel.catalogues.rules import drift
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.state import Session
from beliefd.kernel.values import DEFAULT_SPACE, OntologyBundle, Principal, Role, Upstream
from beliefd.protocol.catalogues import (
    CatalogueRequest,
    CatalogueView,
    OfferedTools,
    PinnedTool,
    WaitingTool,
)
from beliefd.protocol.rights import Right
from beliefd.protocol.wire import convert
from beliefd.steward.call import Call, space_of
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.steward.facts.catalogues import catalogue_session, offered_definition
from beliefd.steward.facts.finder import FactFinder
from beliefd.steward.failures import not_found
from beliefd.steward.handlers.shared import as_recorded, read, view_of
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.spaces import Spaces
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for

DECLARATION: Final = DeclareSession(
    ontology=OntologyBundle(
        hypothesis_space_id="beliefd/catalogue",
        hypothesis_version="1",
        causal_graph_ref="beliefd/catalogue",
        causal_graph_version="1",
    ),
    # A session has hypotheses. This one is about none, and nothing is to eliminate it.
    hypotheses=("catalogue",),
)
MAY_PIN: Final = (Role.TOOL, Role.ADMIN)


class CatalogueHandlers(Struct, frozen=True):
    """What other servers offer."""

    positions: Positions
    submit: Submit
    in_force: PolicyInForce
    spaces: Spaces
    finder: FactFinder

    async def pin_tools(self, call: Call) -> OfferedTools:
        _refuse_others(call.principal)
        upstream, space = _named(call), space_of(call)
        asked = await read(call, _read_offer)
        session = await self._begun(upstream, space, call.principal)
        command = PinTools(upstream=upstream, tools=asked.tools)
        # What is offered as before is no event.
        if not drift(session, asked.tools, self.in_force.policy).is_none:
            outcome, _ = await submit_for(call, self.submit, session.session_id, command, ToolsPinned)
            session = outcome.session
        names = [tool.name for tool in asked.tools]
        held = session.catalogue
        return OfferedTools(
            upstream=upstream,
            session_id=session.session_id,
            pinned=[name for name in names if held.pinned(name) is not None],
            waiting=[_waiting(session, name) for name in names if name in held.offered],
            gone=sorted(set(held.pins) - set(names)),
        )

    async def show_catalogue(self, call: Call) -> CatalogueView:
        upstream = _named(call)
        space = call.rights.home if call.query["space"] is None else call.query["space"]
        name = catalogue_session(upstream, space)
        position = await self.positions.fresh(name) if call.rights.may(Right.READ, space) else None
        if position is None:
            raise not_found(Code.NOT_FOUND, "catalogue", upstream)
        session, policy = position.session, self.in_force.policy
        held = session.catalogue
        pins = [pin for each in sorted(held.pins) if (pin := held.pinned(each)) is not None]
        return CatalogueView(
            upstream=upstream,
            session_id=session.session_id,
            tools=[
                view_of(
                    PinnedTool,
                    pin,
                    name=pin.tool.name,
                    definition_hash=pin.hash,
                    tier=policy.tool_tier(pin.tool.name, offered_definition(pin, upstream, policy).tier),
                    mutates=offered_definition(pin, upstream, policy).mutates,
                )
                for pin in pins
            ],
            waiting=[_waiting(session, each) for each in sorted(held.offered)],
        )

    async def _begun(self, upstream: str, space: str, who: Principal) -> Session:
        """The session of a catalogue; one that is there from now on, if nobody has offered anything yet."""
        name = catalogue_session(upstream, space)
        position = await self.positions.fresh(name)
        if position is None:
            # INVARIANT: the session of a catalogue is one of those that who made it has open, and bounded so.
            await self.finder.refuse_more_sessions(who, self.in_force.policy)
            command = replace(DECLARATION, space=UNSET if space == DEFAULT_SPACE else space)
            await self.submit(name, command, who)  # if another was faster, that is refused, and on record
            self.spaces.learn(name, space)
            position = await self.positions.existing(name)
        return position.session


def _read_offer(body: Any, _: dict[str, str]) -> CatalogueRequest:
    asked = convert(as_recorded(body), CatalogueRequest)
    try:
        PinTools(upstream="x", tools=asked.tools)
    except ValueError as error:
        raise BeliefdError(Code.INVALID_REQUEST, str(error), {"path": "$.tools"}) from None
    return asked


def _named(call: Call) -> str:
    """INVARIANT: no name of a catalogue leads into another space."""
    try:
        return msgspec.convert(call.path["upstream"], Upstream)
    except msgspec.ValidationError:
        told = "a catalogue has a name of at most 64 letters, digits and `._-`"
        raise invalid(told, "upstream") from None


def _refuse_others(who: Principal) -> None:
    """Who calls tools does not say what they are. On a server without tokens everybody is one agent."""
    if who.role not in MAY_PIN and who != LOCAL_AGENT:
        text = f"role `{who.role}` may not pin tools; it takes one of `admin`, `tool`"
        raise BeliefdError(Code.FORBIDDEN, text)


def _waiting(session: Session, name: str) -> WaitingTool:
    waits = session.catalogue.offered[name]
    if session.approvals.by_id[waits.approval_id].status == "rejected":
        return WaitingTool(name=name, approval_id=waits.approval_id, what="rejected")
    changed = name in session.catalogue.pins
    return WaitingTool(name=name, approval_id=waits.approval_id, what="changed" if changed else "new")
