"""The asynchronous client for a program that asks one server all the time, over connections of its own."""

import asyncio
from typing import Any
from urllib.parse import urlencode
from urllib.request import getproxies, proxy_bypass

import httpx

from beliefd.client.asynchronous_http import AsyncClient
from beliefd.client.connections import Broken, Connections, NotConnected, is_plain
from beliefd.client.transport import TIMEOUT_SECONDS, Tries
from beliefd.protocol.operation import A


class WarmClient(AsyncClient):
    """Live feeds are read as `AsyncClient` reads them. A proxy and TLS are its business, too."""

    def __init__(self, url: str | None = None, token: str | None = None, **more: Any) -> None:
        super().__init__(url, token, **more)
        base = self._http.base_url
        shown = self._http.headers.get("Authorization")
        headers = {} if shown is None else {"Authorization": shown}
        self._connections_kept: Connections | None = None
        if is_plain(str(base), headers) and not _has_proxy(base):
            self._connections_kept = Connections(str(base), headers)

    async def _asked(self, tries: Tries[A]) -> tuple[int, bytes]:
        kept = self._connections_kept
        if kept is None:
            return await super()._asked(tries)
        asked = tries.arguments
        target = kept.path.rstrip("/") + asked["url"]
        if asked["params"]:
            target += f"?{urlencode(asked['params'])}"
        try:
            async with asyncio.timeout(asked.get("timeout", TIMEOUT_SECONDS)):
                answer = await kept.ask(asked["method"], target, asked["headers"], asked["content"])
                try:
                    content = await answer.body()
                finally:
                    kept.keep(answer)  # one that was not read is closed
        except TimeoutError:
            raise httpx.ReadTimeout("no answer in time") from None
        except NotConnected as error:
            raise httpx.ConnectError(str(error)) from None
        except Broken as error:
            raise httpx.RemoteProtocolError(str(error)) from None
        return answer.status, content

    async def close(self) -> None:
        if self._connections_kept is not None:
            self._connections_kept.close()
        await super().close()


def _has_proxy(url: httpx.URL) -> bool:
    proxies = getproxies()
    return ("http" in proxies or "all" in proxies) and not proxy_bypass(url.host)
