"""The keys that a provider signs with: from a file or from the provider, and never trusted for ever."""

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from beliefd.kernel.errors import BeliefdError
from beliefd.protocol.wire import parse
from beliefd.steward.signin.settings import Issuer, refuse_open_way

log = logging.getLogger("beliefd.signin")
MAX_BYTES: Final = 256 * 1024
MAX_KEYS: Final = 100
FETCH_SECONDS: Final = 5.0
MIN_RSA_BITS: Final = 2048
AGAIN_SECONDS: Final = 10.0
"""A key that is not known is asked for at most so often: strangers choose the names of keys."""


class Unreadable(Exception):
    """The keys cannot be had; the text says why, and for the log alone."""


class KeySet:
    """The keys of one issuer, by their ids. `generation` counts how often they have changed."""

    def __init__(self, issuer: Issuer) -> None:
        self._issuer = issuer
        self._keys: dict[str | None, list[Any]] = {}
        self._document: bytes | None = None
        self._read_at = self._tried_at = float("-inf")
        self._reading = asyncio.Lock()
        self.generation = 0

    @property
    def is_fresh(self) -> bool:
        return self._since(self._read_at) <= self._issuer.keys_fresh_seconds

    async def named(self, key_id: str | None, algorithm: str) -> Any | None:
        """The key for a signature. Without an id it must be the only one that fits."""
        if not self.is_fresh or (not self._found(key_id, algorithm)):
            await self._refresh()
        if self._since(self._read_at) > self._issuer.keys_kept_seconds + self._issuer.keys_fresh_seconds:
            return None
        found = self._found(key_id, algorithm)
        return found[0] if len(found) == 1 else None

    def _found(self, key_id: str | None, algorithm: str) -> list[Any]:
        named = self._keys.values() if key_id is None else [self._keys.get(key_id, [])]
        return [key for keys in named for key in keys if key.algorithm_name == algorithm]

    async def _refresh(self) -> None:
        """One look at a time, and not too many of them; what is known stays if it fails."""
        async with self._reading:
            if self._since(self._tried_at) < AGAIN_SECONDS and self._tried_at > float("-inf"):
                return
            self._tried_at = time.monotonic()
            try:
                document = await self._fetched()
                keys = _keys_in(document, self._issuer.algorithms)
            except Unreadable as error:
                log.warning("the keys of `%s` cannot be read: %s", self._issuer.name, error)
                return
            self._read_at = time.monotonic()
            if document != self._document:
                self._document, self._keys = document, keys
                self.generation += 1

    async def _fetched(self) -> bytes:
        if self._issuer.jwks_file is not None:
            return await asyncio.to_thread(_read, Path(self._issuer.jwks_file))
        url = self._issuer.jwks_url or await self._discovered()
        return await fetch(url)

    async def _discovered(self) -> str:
        told = json_object(await fetch(self._issuer.issuer.rstrip("/") + "/.well-known/openid-configuration"))
        if told.get("issuer") != self._issuer.issuer:
            raise Unreadable("its discovery document names another issuer")
        url = told.get("jwks_uri")
        try:
            refuse_open_way(url if isinstance(url, str) else "", "jwks_uri")
        except ValueError as error:
            raise Unreadable(str(error)) from None
        return str(url)

    def _since(self, moment: float) -> float:
        return time.monotonic() - moment


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Unreadable(error.strerror or "it cannot be read") from None
    if len(data) > MAX_BYTES:
        raise Unreadable(f"it holds more than {MAX_BYTES} bytes")
    return data


async def fetch(url: str, form: Mapping[str, str] | None = None) -> bytes:
    """INVARIANT: bounded in time and size, and from nowhere else: redirections are not followed."""
    import httpx

    data = b""
    # Reading certificates takes long enough for others to notice.
    tls = await asyncio.to_thread(ssl.create_default_context) if url.startswith("https:") else False
    try:
        async with (
            asyncio.timeout(FETCH_SECONDS),
            httpx.AsyncClient(follow_redirects=False, verify=tls, trust_env=bool(tls)) as client,
            client.stream("GET" if form is None else "POST", url, data=form) as answer,
        ):
            if answer.status_code != 200:
                raise Unreadable(f"the answer has status {answer.status_code}")
            async for chunk in answer.aiter_bytes():
                data += chunk
                if len(data) > MAX_BYTES:
                    raise Unreadable(f"the answer holds more than {MAX_BYTES} bytes")
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
        raise Unreadable(type(error).__name__) from None
    return data


def json_object(data: bytes) -> dict[str, Any]:
    try:
        told = parse(data)
    except BeliefdError as error:
        raise Unreadable(error.message) from None
    if not isinstance(told, dict):
        raise Unreadable("it is no JSON object")
    return told


def _keys_in(document: bytes, algorithms: tuple[str, ...]) -> dict[str | None, list[Any]]:
    """Those that can be checked with; others are passed over, as the standard asks."""
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    entries = json_object(document).get("keys")
    if not isinstance(entries, list) or len(entries) > MAX_KEYS:
        raise Unreadable(f"`keys` must be a list of at most {MAX_KEYS}")
    found: dict[str | None, list[Any]] = {}
    for entry in entries:
        if not isinstance(entry, Mapping) or entry.get("use", "sig") != "sig" or "d" in entry:
            continue
        named = [entry["alg"]] if isinstance(entry.get("alg"), str) else algorithms
        for algorithm in named:
            if algorithm not in algorithms:
                continue
            try:
                key = PyJWK.from_dict(dict(entry), algorithm)
            except (PyJWTError, ValueError, TypeError, msgspec.MsgspecError):
                continue
            if getattr(key.key, "key_size", MIN_RSA_BITS) < MIN_RSA_BITS and entry.get("kty") == "RSA":
                continue
            key_id = entry.get("kid")
            found.setdefault(key_id if isinstance(key_id, str) else None, []).append(key)
    return found
