"""beliefd without a server: `beliefd.open("file.db")` gives the client's methods on a local store."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, TypeVar, cast

import msgspec

from beliefd import tracing
from beliefd.client.asynchronous import AsyncCalls
from beliefd.client.requests import Request, decoded
from beliefd.client.synchronous import Calls
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.protocol.ledger import LedgerRows
from beliefd.protocol.operation import A, File
from beliefd.protocol.rights import EVERYTHING, Rights
from beliefd.protocol.snapshots import snapshot_in
from beliefd.steward.bootstrap import Runtime, start
from beliefd.steward.call import Call
from beliefd.steward.directory import LOCAL_AGENT
from beliefd.steward.dispatch import perform, stream
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.steward.facts.threats import Detector
from beliefd.steward.failures import translating
from beliefd.stores.opening import open_store
from beliefd.tools.registry import Registry
from beliefd.uncertainty.equivalence.judges import Judges, JudgeSettings

T = TypeVar("T")


async def send(runtime: Runtime, principal: Principal, request: Request[A], rights: Rights = EVERYTHING) -> A:
    """Carry a request out without a wire: same checks, same answers. Whoever has the store may everything."""
    operation = request.operation
    body = request.body
    if isinstance(body, dict):
        body = dict(body)
    call = Call(
        principal=principal,
        rights=rights,
        path=request.path,
        query=request.query,
        body=body,
        if_match=request.if_match,
        key=request.key,
        notes=request.notes,
    )
    said = {"beliefd.operation": operation.name}
    with translating(), tracing.span(operation.name, said, parent=tracing.current() or tracing.carried()):
        if operation.stream:
            chunks = stream(runtime.handlers, operation, call)
            return decoded(operation, b"".join([chunk async for chunk in chunks]))
        answer: Any = await perform(runtime.handlers, operation, call)
    if isinstance(answer, File):
        return decoded(operation, answer.content)
    if snapshot_in(answer) is None:
        # It may hold values of the state and of the policy: callers get copies, to do with as they like.
        return decoded(operation, msgspec.json.encode(answer))
    return cast(A, answer)  # a snapshot is made for whoever asks


class AsyncEmbedded(AsyncCalls):
    """The embedded library on the caller's own event loop."""

    def __init__(self, runtime: Runtime, principal: Principal) -> None:
        self.runtime = runtime
        self.steward = runtime.steward
        self._principal = principal

    async def _send(self, request: Request[A]) -> A:
        return await send(self.runtime, self._principal, request)

    async def close(self) -> None:
        await self.runtime.close()


class Embedded(Calls):
    """The embedded library for threads: one event loop in the background serves them all."""

    def __init__(self, target: str | os.PathLike[str], principal: Principal, **ports: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="beliefd-embedded", daemon=True)
        self._thread.start()
        self._principal = principal
        try:
            self.runtime = self.run(lambda: _start(target, **ports))
        except BaseException:
            self._stop()
            raise
        self.steward = self.runtime.steward

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine on the background loop and wait for it."""

        async def wrapped() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(wrapped(), self._loop).result()

    def _send(self, request: Request[A]) -> A:
        return self.run(lambda: send(self.runtime, self._principal, request))

    @property
    def principal(self) -> Principal:
        return self._principal

    def export_chunks(self, session_id: str) -> Generator[bytes, None, None]:
        """The ledger as JSON Lines, piece by piece: it may be longer than what fits into memory."""
        call = Call(principal=self._principal, rights=EVERYTHING, path={"session_id": session_id}, query={})
        chunks = stream(self.runtime.handlers, LedgerRows.export, call)
        with translating():
            while (chunk := self.run(lambda: anext(chunks, None))) is not None:
                yield chunk

    def close(self) -> None:
        if self._loop.is_running():
            self.run(self.runtime.close)
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def open(
    target: str | os.PathLike[str],
    *,
    principal: Principal = LOCAL_AGENT,
    policy: Policy | None = None,
    detector: Detector | Mapping[str, Detector] | None = None,
    registry: Registry | None = None,
    judges: JudgeSettings | None = None,
    log: LogSettings | None = None,
) -> Embedded:
    """Open a ledger file (or `:memory:`, or a postgresql:// address) for use in this process.

    Without a `policy`, the one that was adopted last in this store holds, or the default.
    `detector` takes the place of the built-in one (a mapping: several, by name), `registry` that of the tools
    registered by decorator; `judges` says where the models are that uncertainty may be measured with, and
    `log` with which key checkpoints are signed.
    """
    ports = {
        "policy": policy,
        "detector": detector,
        "registry": registry,
        "judges": Judges(judges),
        "log": log,
    }
    return Embedded(target, principal, **ports)


async def open_async(
    target: str | os.PathLike[str],
    *,
    principal: Principal = LOCAL_AGENT,
    policy: Policy | None = None,
    detector: Detector | Mapping[str, Detector] | None = None,
    registry: Registry | None = None,
    judges: JudgeSettings | None = None,
    log: LogSettings | None = None,
) -> AsyncEmbedded:
    """The same for asyncio programs."""
    ports = {
        "policy": policy,
        "detector": detector,
        "registry": registry,
        "judges": Judges(judges),
        "log": log,
    }
    runtime = await _start(target, **ports)
    return AsyncEmbedded(runtime, principal)


async def _start(target: str | os.PathLike[str], **ports: Any) -> Runtime:
    with translating():
        return await start(await open_store(target), **ports)
