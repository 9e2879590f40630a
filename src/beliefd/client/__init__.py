"""Clients: sync and async, over HTTP. The embedded library offers the same methods (`beliefd.open`)."""

from beliefd.client.asynchronous import AsyncCalls, AsyncClient
from beliefd.client.synchronous import Calls, Client

__all__ = ["AsyncCalls", "AsyncClient", "Calls", "Client"]
