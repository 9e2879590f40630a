"""beliefd without a server: `beliefd.open("file.db")` gives the client's methods on a local store."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import msgspec

from beliefd.client.asynchronous import AsyncCalls
from beliefd.client.requests import Request, decoded
from beliefd.client.synchronous import Calls
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.values import Principal
from beliefd.ledger.envelope import LedgerBroken
from beliefd.protocol.beliefs import snapshot_in
from beliefd.protocol.operation import A
from beliefd.steward import transfer
from beliefd.steward.batch import run_batch
from beliefd.steward.handle import Steward, ledger_broken
from beliefd.steward.lookout import Detector
from beliefd.steward.policies import recall
from beliefd.steward.tokens import LOCAL_AGENT
from beliefd.steward.usecases import Call, admit, perform
from beliefd.stores.base import StorageUnavailable
from beliefd.stores.opening import open_store
from beliefd.tools.registry import Registry
from beliefd.uncertainty.equivalence.judges import Judges, JudgeSettings

T = TypeVar("T")


async def send(steward: Steward, principal: Principal, request: Request[A]) -> A:
    """Carry a request out without a wire: same checks, same answers."""
    operation = request.operation
    body = request.body
    if isinstance(body, dict):
        body = dict(body)
    call = Call(
        principal=principal,
        path=request.path,
        query=request.query,
        body=body,
        if_match=request.if_match,
        key=request.key,
    )
    try:
        if operation.stream:
            admit(operation, call)
            whole = operation.name == "export"
            chunks = transfer.export(steward, call.session_id) if whole else run_batch(steward, call)
            return decoded(operation, b"".join([chunk async for chunk in chunks]))
        answer: Any = await perform(steward, operation, call)
    except StorageUnavailable as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)) from None
    except LedgerBroken as error:
        raise ledger_broken(error) from None
    if snapshot_in(answer) is None:
        # It may hold values of the state and of the policy: callers get copies, to do with as they like.
        return decoded(operation, msgspec.json.encode(answer))
    return cast(A, answer)  # a snapshot is made for whoever asks


class AsyncEmbedded(AsyncCalls):
    """The embedded library on the caller's own event loop."""

    def __init__(self, steward: Steward, principal: Principal) -> None:
        self.steward = steward
        self._principal = principal

    async def _send(self, request: Request[A]) -> A:
        return await send(self.steward, self._principal, request)

    async def close(self) -> None:
        await self.steward.close()

    async def __aenter__(self) -> "AsyncEmbedded":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Embedded(Calls):
    """The embedded library for threads: one event loop in the background serves them all."""

    def __init__(self, target: str | os.PathLike[str], principal: Principal, **house: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="beliefd-embedded", daemon=True)
        self._thread.start()
        self._principal = principal
        try:
            self.steward = self.run(lambda: _steward(target, **house))
        except BaseException:
            self._stop()
            raise

    def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run a coroutine on the background loop and wait for it."""

        async def wrapped() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(wrapped(), self._loop).result()

    def _send(self, request: Request[A]) -> A:
        return self.run(lambda: send(self.steward, self._principal, request))

    def close(self) -> None:
        if self._loop.is_running():
            self.run(self.steward.close)
            self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> "Embedded":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(
    target: str | os.PathLike[str],
    *,
    principal: Principal = LOCAL_AGENT,
    policy: Policy | None = None,
    detector: Detector | None = None,
    registry: Registry | None = None,
    judges: JudgeSettings | None = None,
) -> Embedded:
    """Open a ledger file (or `:memory:`, or a postgresql:// address) for use in this process.

    Without a `policy`, the one that was adopted last in this store holds, or the default.
    `detector` takes the place of the built-in one, `registry` that of the tools registered by decorator;
    `judges` says where the models are that uncertainty may be measured with.
    """
    house = {"policy": policy, "detector": detector, "registry": registry, "judges": Judges(judges)}
    return Embedded(target, principal, **house)


async def open_async(
    target: str | os.PathLike[str],
    *,
    principal: Principal = LOCAL_AGENT,
    policy: Policy | None = None,
    detector: Detector | None = None,
    registry: Registry | None = None,
    judges: JudgeSettings | None = None,
) -> AsyncEmbedded:
    """The same for asyncio programs."""
    steward = await _steward(
        target, policy=policy, detector=detector, registry=registry, judges=Judges(judges)
    )
    return AsyncEmbedded(steward, principal)


async def _steward(target: str | os.PathLike[str], **house: Any) -> Steward:
    try:
        store = await open_store(target)
        steward = Steward(store, **house)
        if house["policy"] is None:
            try:
                await recall(steward)
            except BaseException:
                await steward.close()
                raise
    except StorageUnavailable as error:
        raise BeliefdError(Code.STORAGE_UNAVAILABLE, str(error)) from None
    return steward
