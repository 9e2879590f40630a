"""One session with one upstream, in a task of its own: any task may call through it until it ends."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost, listen
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import methods
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Struct
from pydantic import TypeAdapter

from beliefd.kernel.errors import invalid
from beliefd.mcp.addressed import Addressed, Elsewhere, NotSent, connected
from beliefd.mcp.answers import Result, as_plain
from beliefd.mcp.config import GatewayConfig
from beliefd.mcp.frames import CALL
from beliefd.mcp.process import running
from beliefd.mcp.requests import Requests

log = logging.getLogger("beliefd.mcp")
AS_IT_CAME: Final[TypeAdapter[dict[str, Any]]] = TypeAdapter(dict[str, Any])
INFO: Final = types.Implementation(name="beliefd gateway", version="1")
PAGES: Final = 100
"""So many pages of a list are read: one that never ends must not hold anybody up."""
WATCHED: Final = 100
"""A client session may watch so many resources of an upstream."""


class Listeners(Struct, frozen=True):
    """Who is told what an upstream says by itself, and who answers what it asks."""

    changed: Callable[[str, Any], Awaitable[None]]
    sampling: Callable[[Any], Awaitable[Any]] | None = None


class Gone(Exception):
    """The session with the upstream has ended, or never began."""


class Session:
    """A session with an upstream. It is entered and left in one task, whoever calls."""

    def __init__(self, name: str, config: GatewayConfig, listeners: Listeners) -> None:
        self.name = name
        self._config = config
        self._upstream = config.upstreams[name]
        self._listeners = listeners
        self._stop = asyncio.Event()
        self._ended = asyncio.Event()
        self._watched: dict[str, asyncio.Task[None]] = {}
        self._requests = Requests()
        self._addressed: Addressed | None = None
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._live(), name=f"upstream {name}")

    async def client(self) -> Client:
        """The session, once it has begun; `Gone` if it has ended."""
        if self._task.done() and not (self._ready.done() and self._ready.exception()):
            raise Gone(f"upstream `{self.name}` has ended")
        if self._ready.done() and not self._ready.exception():
            return self._ready.result()
        try:
            return await asyncio.shield(self._ready)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            raise Gone(f"upstream `{self.name}` does not start: {words(error)}") from None

    @property
    def over(self) -> bool:
        return self._task.done()

    @property
    def tells_of_resources(self) -> bool:
        """Has it begun, and does it say that it tells when a resource changes?"""
        if not self._ready.done() or self._ready.exception() is not None:
            return False
        told = self._ready.result().server_capabilities.resources
        return told is not None and bool(told.subscribe)

    async def close(self) -> None:
        self._stop.set()
        await asyncio.wait({self._task})

    async def _live(self) -> None:
        try:
            await self._within()
        except Exception as error:
            if not self._ready.done():
                self._ready.set_exception(error)
                self._ready.exception()  # it is told to whoever asks
            log.warning("upstream `%s` has ended: %s", self.name, words(error))

    async def _within(self) -> None:
        limits = self._config.limits
        with anyio.fail_after(limits.start_seconds) as starting:
            async with self._connected() as client:
                starting.deadline = float("inf")
                self._ready.set_result(client)
                watching = asyncio.create_task(self._watch(client))
                try:
                    await self._until_over()
                finally:
                    for task in (watching, *self._watched.values()):
                        task.cancel()

    async def _until_over(self) -> None:
        """Until it is told to stop, or nothing more will come."""
        waiting = {asyncio.create_task(event.wait()) for event in (self._stop, self._ended)}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    @asynccontextmanager
    async def _connected(self) -> AsyncGenerator[Client, None]:
        upstream, config = self._upstream, self._config
        ended, requests = self._ended.set, self._requests
        if upstream.command:
            streams = running(upstream, config.limits, ended, requests)
        else:
            self._addressed = Addressed(upstream, config.limits, ended)
            streams = connected(upstream, config.limits, self._addressed)
        client = Client(
            streams,
            mode=upstream.protocol,
            client_info=INFO,
            cache=None,
            message_handler=self._heard,
            logging_callback=None,
            log_level="info" if config.logging else None,
            list_roots_callback=self._roots if config.roots else None,
            sampling_callback=self._sample if config.sampling and self._listeners.sampling else None,
        )
        async with client:
            yield client

    async def _heard(self, message: IncomingMessage) -> None:
        if isinstance(message, Exception):
            log.warning("upstream `%s`: %s", self.name, words(message))
            return
        await self._listeners.changed(self.name, message)

    async def _watch(self, client: Client) -> None:
        """Newer upstreams tell about changes only to who listens."""
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        wanted: dict[str, Any] = {"tools_list_changed": True}
        wanted["prompts_list_changed"] = bool(self._config.prompts)
        wanted["resources_list_changed"] = bool(self._config.resources)
        await _listen(client, **wanted)

    async def watch(self, uri: str, wanted: bool) -> bool:
        """Have the upstream tell when this resource changes, or no more. False: it tells no such thing."""
        client = await self.client()
        if not self.tells_of_resources:
            return False
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            asked = (
                types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
                if wanted
                else types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
            )
            await client.session.send_request(asked, types.EmptyResult)
        elif not wanted:
            if (task := self._watched.pop(uri, None)) is not None:
                task.cancel()
        elif uri not in self._watched:
            if len(self._watched) >= WATCHED:
                raise invalid(f"no more than {WATCHED} resources can be watched")
            self._watched[uri] = asyncio.create_task(_listen(client, resource_subscriptions=[uri]))
        return True

    async def _roots(self, context: ClientRequestContext) -> types.ListRootsResult:
        """Roots are the operator's: what a client would name could widen what an upstream may touch."""
        return types.ListRootsResult(
            roots=[types.Root.model_validate({"uri": uri}) for uri in self._config.roots]
        )

    async def _sample(self, context: ClientRequestContext, params: Any) -> Any:
        assert self._listeners.sampling is not None  # noqa: S101 - asked for only then
        return await self._listeners.sampling(params)

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        seconds: float,
        progress: ProgressFnT | None,
        revision: str,
    ) -> Result:
        """The result as the upstream's revision has it, with nothing else, in the form of `revision`.

        INVARIANT: one message goes out. Nothing here sends it again, whatever comes back.
        """
        client = await self.client()
        result = await self._answered(client, tool, arguments, seconds, progress)
        spoken = client.protocol_version
        if (plain := as_plain(result, spoken, revision)) is not None:
            return plain
        result = methods.serialize_server_result(CALL, spoken, result)
        if methods.is_input_required(result) or _form_of(spoken) is _form_of(revision):
            return result
        return methods.serialize_server_result(CALL, revision, {"resultType": "complete", **result})

    async def _answered(
        self,
        client: Client,
        tool: str,
        arguments: dict[str, Any],
        seconds: float,
        progress: ProgressFnT | None,
    ) -> Any:
        if self._upstream.command:
            return await self._requests.call(tool, arguments, seconds, progress)
        addressed = self._addressed
        if addressed is not None and addressed.reaches(client):
            try:
                return await addressed.call(client, tool, arguments, seconds, progress)
            except NotSent as error:
                raise Gone(f"upstream `{self.name}` cannot be reached: {error}") from None
            except Elsewhere:
                addressed.give_up()
        params = types.CallToolRequestParams(name=tool, arguments=arguments)
        return await client.session.send_request(
            types.CallToolRequest(params=params),
            AS_IT_CAME,
            request_read_timeout_seconds=seconds,
            progress_callback=progress,
        )

    async def tools(self) -> list[types.Tool]:
        """All its tools as they are now, page by page."""
        client = await self.client()
        found: list[types.Tool] = []
        params: types.PaginatedRequestParams | None = None
        for _ in range(PAGES):
            with anyio.fail_after(self._config.limits.start_seconds):
                page = await client.session.list_tools(params=params)
            found += page.tools
            if len(found) > self._config.limits.tools:
                raise invalid(f"upstream `{self.name}` has more than {self._config.limits.tools} tools")
            if not page.next_cursor:
                return found
            params = types.PaginatedRequestParams(cursor=page.next_cursor)
        raise invalid(f"the list of tools of upstream `{self.name}` has no end")


def _form_of(revision: str) -> Any:
    return methods.SERVER_RESULTS[CALL, revision]


async def _listen(client: Client, **wanted: Any) -> None:
    """Until it is cancelled or the upstream ends it: each event comes to `Session._heard` by itself."""
    with suppress(MCPError, ListenNotSupportedError, SubscriptionLost, TimeoutError):
        async with listen(client.session, **wanted) as subscription:
            async for _ in subscription:
                pass


def words(error: BaseException) -> str:
    """What went wrong, in one line; of several things that went wrong together, the first."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError):
        return f"there is no command `{error.filename}`" if error.filename else "there is no such command"
    return (str(error) or type(error).__name__).splitlines()[0][:500]
