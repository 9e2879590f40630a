"""An operation as a method: written once as the request it makes, sent by clients of either kind."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from functools import update_wrapper
from inspect import Parameter
from types import MethodType
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from beliefd.client.requests import Request
from beliefd.protocol.operation import A

P = ParamSpec("P")


class Sender(ABC):
    """Whoever sends requests and waits for the answers."""

    @abstractmethod
    def _send(self, request: Request[A]) -> A:
        """Carry a request out and return its typed answer."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds: connections, or an open store."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncSender(ABC):
    """The same on an event loop."""

    @abstractmethod
    async def _send(self, request: Request[A]) -> A:
        """Carry a request out and return its typed answer."""

    @abstractmethod
    async def close(self) -> None:
        """Give back what it holds: connections, or an open store."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Method(Generic[P, A]):
    """Decorates the builder of a request, which makes no use of its `self`.

    A `Sender` gets a method with the same arguments that returns the answer, an `AsyncSender` one that can be
    awaited. Taken from a class that is neither, it makes the request and sends nothing.
    """

    def __init__(self, build: Callable[Concatenate[Any, P], Request[A]]) -> None:
        def request(*args: P.args, **kwargs: P.kwargs) -> Request[A]:
            return build(None, *args, **kwargs)

        def call(self: Sender, *args: P.args, **kwargs: P.kwargs) -> A:
            return self._send(build(self, *args, **kwargs))

        async def call_async(self: AsyncSender, *args: P.args, **kwargs: P.kwargs) -> A:
            return await self._send(build(self, *args, **kwargs))

        answer = get_args(inspect.signature(build).return_annotation)[0]
        self._request = request
        self._call = _described(call, build, answer)
        self._call_async = _described(call_async, build, answer)

    @overload
    def __get__(self, instance: Sender, owner: type) -> Callable[P, A]: ...
    @overload
    def __get__(self, instance: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, A]]: ...
    @overload
    def __get__(self, instance: None, owner: type[Sender]) -> Callable[Concatenate[Any, P], A]: ...
    @overload
    def __get__(self, instance: None, owner: type) -> Callable[P, Request[A]]: ...
    def __get__(self, instance: Any, owner: type) -> Any:
        if issubclass(owner, Sender):
            return self._call if instance is None else MethodType(self._call, instance)
        if issubclass(owner, AsyncSender):
            return self._call_async if instance is None else MethodType(self._call_async, instance)
        return self._request


def _described(call: Any, build: Callable[..., Any], answer: Any) -> Any:
    """`call` under the name and with the signature of the builder, but for what it returns."""
    shown = _spelt_out(inspect.signature(build))
    update_wrapper(call, build)
    call.__signature__ = shown.replace(return_annotation=answer)
    named = [one for one in shown.parameters.values() if one.annotation is not Parameter.empty]
    call.__annotations__ = {**{one.name: one.annotation for one in named}, "return": answer}
    return call


def _spelt_out(signature: inspect.Signature) -> inspect.Signature:
    """With the single keywords in the place of those that a TypedDict gathers."""
    *single, last = signature.parameters.values()
    if get_origin(last.annotation) is not Unpack:
        return signature
    (gathered,) = get_args(last.annotation)
    for name, annotation in get_type_hints(gathered).items():
        single.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    return signature.replace(parameters=single)
