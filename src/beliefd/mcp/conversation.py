"""One client session: its own sessions with the upstreams, its table of tools, its place in beliefd."""

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct

from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.mcp.config import GatewayConfig, opens
from beliefd.mcp.judging import Judge, Waiting
from beliefd.mcp.reports import Reports
from beliefd.mcp.routes import Route, Table, as_shown, definition_of, table_of
from beliefd.mcp.upstream import Gone, Listeners, Session, words
from beliefd.protocol.conversations import conversation_key

log = logging.getLogger("beliefd.mcp")
RESTART_SECONDS: Final = 1.0
"""An upstream that has ended is started again when it is needed, but not more often than this."""
HEARD_SECONDS: Final = 10 * 60
"""So often at least, a call goes to the SDK while a session is in use."""
SETTLE_SECONDS: Final = 0.2
"""Changes of a list that come within this time are looked at once."""
LIST_CHANGED: Final[dict[type, ServerEvent]] = {
    types.ToolListChangedNotification: ToolsListChanged(),
    types.PromptListChangedNotification: PromptsListChanged(),
    types.ResourceListChangedNotification: ResourcesListChanged(),
}


class Shared(Struct, frozen=True):
    """What all client sessions of a gateway have in common."""

    config: GatewayConfig
    judge: Judge


class Conversation:
    """The state of one client session."""

    def __init__(self, key: str, shared: Shared, numbered: bool = True) -> None:
        self.key = key
        self.numbered = numbered
        """Do the ids of its requests tell them apart? They do where the client has a session of its own."""
        self.shared = shared
        self.config = shared.config
        self.judge = shared.judge
        self.reports = Reports(shared.judge)
        self.bus = InMemorySubscriptionBus()
        self.listeners = ListenHandler(self.bus)
        """How clients of the newest revision are told of changes."""
        self.front: ServerSession | None = None
        self.begun = False
        """Has a client of an older revision said that its session has begun?"""
        self.session_name = ""
        """What an older revision calls it over HTTP."""
        self.busy = 0
        self._heard_at = time.monotonic()
        self._calls: dict[types.RequestId, tuple[anyio.CancelScope, asyncio.Future[None]]] = {}
        self.used_at = time.monotonic()
        self._upstreams: dict[str, Session] = {}
        self._started: dict[str, float] = {}
        self._session_id: str | None = None
        self._table: Table | None = None
        self._routes: dict[str, Route] = {}
        self._waiting: dict[str, Waiting] = {}
        self._listing = asyncio.Lock()
        self._opening = asyncio.Lock()
        self._looking: asyncio.Task[None] | None = None

    async def session_id(self) -> str:
        """Its session in beliefd, opened when it is first needed."""
        async with self._opening:
            if self._session_id is None:
                key = conversation_key("gateway", self.config.name, self.key)
                self._session_id = await self.judge.open_session(key)
            return self._session_id

    def upstream(self, name: str) -> Session:
        """The session with an upstream; a new one where there is none, or where it has ended."""
        session = self._upstreams.get(name)
        if session is not None and not session.over:
            return session
        now = time.monotonic()
        if session is not None and now - self._started[name] < RESTART_SECONDS:
            raise Gone(f"upstream `{name}` has ended")
        self._started[name] = now
        sampling = self._sample if self.config.sampling else None
        self._upstreams[name] = session = Session(name, self.config, Listeners(self._heard, sampling))
        self._table = None
        return session

    @contextmanager
    def running(self, key: types.RequestId) -> Iterator[None]:
        """While a call runs that is answered beside the SDK. One that its client ends, ends here silently."""
        with anyio.CancelScope() as scope:
            entry = self._calls[key] = (scope, asyncio.get_running_loop().create_future())
            try:
                yield
            finally:
                if self._calls.get(key) is entry:
                    del self._calls[key]
                entry[1].set_result(None)

    def cancel(self, key: types.RequestId) -> bool:
        """End a call, if there is one that runs beside the SDK."""
        found = self._calls.get(key)
        if found is not None:
            found[0].cancel()
        return found is not None

    def points_at_inbox(self) -> bool:
        """Is its client shown where a person decides, while a call waits?"""
        told = None if self.front is None else self.front.client_capabilities
        asks = told.elicitation if told is not None else None
        return bool(self.config.point_at_inbox and self.config.hold_seconds and asks and asks.url)

    def heard(self) -> None:
        """The SDK is asked something in this session."""
        self._heard_at = time.monotonic()

    def must_be_heard(self) -> bool:
        """Must the next call go to the SDK? After a time in which it hears nothing, it ends a session."""
        if self.points_at_inbox():
            return True  # the question goes with the answer of the call
        return time.monotonic() - self._heard_at > HEARD_SECONDS

    @property
    def tells_of_resources(self) -> bool:
        return any(session.tells_of_resources for session in self._upstreams.values())

    async def begin(self) -> None:
        """Start every upstream and look at their tools: names that can be taken for others are an error."""
        table = table_of(await self.listed(), self.config)
        if table.problems:
            raise invalid("; ".join(table.problems))

    async def listed(self) -> dict[str, list[types.Tool]]:
        """What the upstreams list, as they list it."""
        sessions = {name: self.upstream(name) for name in self.config.upstreams}
        found = await asyncio.gather(*(session.tools() for session in sessions.values()))
        return dict(zip(sessions, found, strict=True))

    async def tools(self) -> list[types.Tool]:
        """The tools as they are now, pinned; those that wait for a person are not among them."""
        async with self._listing:
            await self._look()
        return [as_shown(route) for route in self._routes.values()]

    def schema_of(self, name: str) -> dict[str, Any] | None:
        """The schema of the arguments of a tool, if it is known."""
        route = self._routes.get(name)
        return None if route is None else route.tool.input_schema

    async def _look(self) -> None:
        """INVARIANT: no definition gets into the table that has not been handed in and pinned."""
        listed = await self.listed()
        table = table_of(listed, self.config)
        for problem in table.problems:
            log.warning("not shown: %s", problem)
        routes: dict[str, Route] = {}
        waiting: dict[str, Waiting] = {}
        for name in listed:
            own = [route for route in table.routes.values() if route.upstream == name]
            pins = await self.judge.pin(name, [definition_of(route.tool) for route in own])
            for route in own:
                if route.tool.name in pins.waiting:
                    waiting[route.shown] = pins.waiting[route.tool.name]
                elif route.tool.name in pins.pinned:
                    routes[route.shown] = route
        self._table, self._routes, self._waiting = table, routes, waiting

    async def route(self, name: str) -> Route | Waiting | None:
        """Where a call by this name goes. The name must be the same, letter for letter."""
        if self._table is None or any(session.over for session in self._upstreams.values()):
            async with self._listing:
                if self._table is None or any(session.over for session in self._upstreams.values()):
                    await self._look()
        elif name in self._waiting:
            async with self._listing:  # a person may have accepted it meanwhile
                await self._look()
        return self._routes.get(name) or self._waiting.get(name)

    async def _heard(self, upstream: str, message: Any) -> None:
        """What an upstream says by itself. It is passed on as far as it is opened."""
        if isinstance(message, types.ToolListChangedNotification):
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look_again())
        elif isinstance(message, types.PromptListChangedNotification):
            if self.config.prompts:
                await self._pass_on(message)
        elif isinstance(message, types.ResourceListChangedNotification):
            if self.config.resources:
                await self._pass_on(message)
        elif isinstance(message, types.ResourceUpdatedNotification):
            if opens(self.config.resources, str(message.params.uri)):
                await self._pass_on(message)
        elif isinstance(message, types.LoggingMessageNotification) and self.config.logging:
            await self._pass_on(message)

    async def _look_again(self) -> None:
        """The list has changed: pin it as it is now, then say so."""
        await asyncio.sleep(SETTLE_SECONDS)
        self._table = None
        try:
            await self.tools()
        except (BeliefdError, Gone, TimeoutError) as error:
            log.warning("the tools cannot be looked at: %s", words(error))
        await self._pass_on(types.ToolListChangedNotification())

    async def _pass_on(self, message: Any) -> None:
        if self.front is None:
            return
        if self.front.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            await self.front.send_notification(message)
        elif isinstance(message, types.ResourceUpdatedNotification):
            await self.bus.publish(ResourceUpdated(uri=str(message.params.uri)))
        elif (event := LIST_CHANGED.get(type(message))) is not None:
            await self.bus.publish(event)

    async def _sample(self, params: Any) -> Any:
        """Where it is configured, the client's model answers for an upstream."""
        if self.front is None or self.front.protocol_version in MODERN_PROTOCOL_VERSIONS:
            return types.ErrorData(code=types.INVALID_REQUEST, message="the client cannot be asked")
        request = types.CreateMessageRequest(params=params)
        return await self.front.send_request(request, types.CreateMessageResult)

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        with anyio.CancelScope(shield=True):
            ended = [over for _, over in self._calls.values()]
            for key in self._calls:
                self.cancel(key)
            if ended:
                await asyncio.wait(ended)
            await asyncio.gather(*(session.close() for session in self._upstreams.values()))
            await self.reports.close()
