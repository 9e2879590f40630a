"""Clients: sync and async, over HTTP. The embedded library offers the same methods (`beliefd.open`)."""

from typing import TYPE_CHECKING, Any

__all__ = ["AsyncCalls", "AsyncClient", "Calls", "Client"]

if TYPE_CHECKING:
    from beliefd.client.asynchronous import AsyncCalls
    from beliefd.client.asynchronous_http import AsyncClient
    from beliefd.client.synchronous import Calls
    from beliefd.client.synchronous_http import Client

_LAZY = {
    "AsyncCalls": "asynchronous",
    "AsyncClient": "asynchronous_http",
    "Calls": "synchronous",
    "Client": "synchronous_http",
}


def __getattr__(name: str) -> Any:
    # The embedded library needs no HTTP, and the command line no event loop.
    if name not in _LAZY:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
