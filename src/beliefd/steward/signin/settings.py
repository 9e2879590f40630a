"""Which identity providers are trusted, and what they make of somebody: the file of `serve --sign-in`."""

from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

import msgspec

from beliefd.documents import read_document
from beliefd.kernel.errors import BeliefdError, invalid
from beliefd.kernel.values import Id, Role, Tier, TierName, Value
from beliefd.protocol.rights import spaces_text
from beliefd.protocol.wire import convert

Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
"""Signatures of a private key alone: who checks one of these cannot make one."""
Name = Annotated[str, msgspec.Meta(pattern="^[a-z0-9][a-z0-9.-]{0,62}$")]
Claim = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


class RoleRule(Value, frozen=True):
    """Whose claim is this, or holds this among others, has that role. The first rule that fits counts.

    `spaces` say what they may where, as in `research=read,propose`; without any, what their role may.
    """

    claim: Claim
    value: Claim
    role: Role
    tier: TierName | None = None
    spaces: tuple[Claim, ...] = ()

    def __post_init__(self) -> None:
        try:
            spaces_text(self.role, self.spaces)
        except BeliefdError as error:
            raise ValueError(error.message) from None

    @property
    def highest(self) -> str:
        if self.tier is not None:
            return self.tier
        return Tier.PRIVILEGE.name if self.role is Role.ADMIN else Tier.WRITE_LIMITED.name


class Issuer(Value, frozen=True):
    """One identity provider.

    `name` stands in the ids of all whom it vouches for: `human://<name>/<subject>`. The keys come from
    `jwks_file` or `jwks_url`; without either from where the provider's own discovery document says.
    With a `client_id`, people sign in to the console by the provider's own page; the client's secret, if it
    has one, is in a file, and `redirect_uri` is where the provider sends them back to, if that is not where
    the server is asked. `subject` and `owner` are names of claims, or paths with dots; whose the account is,
    its `owner` says.
    """

    name: Name
    issuer: Claim
    audience: Annotated[tuple[Claim, ...], msgspec.Meta(min_length=1, max_length=20)]
    roles: Annotated[tuple[RoleRule, ...], msgspec.Meta(min_length=1, max_length=1000)]
    jwks_file: str | None = None
    jwks_url: str | None = None
    algorithms: Annotated[tuple[Algorithm, ...], msgspec.Meta(min_length=1)] = ("RS256", "ES256")
    leeway_seconds: Annotated[int, msgspec.Meta(ge=0, le=300)] = 30
    max_age_seconds: Annotated[int, msgspec.Meta(ge=60, le=7 * 86_400)] = 86_400
    keys_fresh_seconds: Annotated[int, msgspec.Meta(ge=1, le=86_400)] = 300
    keys_kept_seconds: Annotated[int, msgspec.Meta(ge=1, le=7 * 86_400)] = 3_600
    client_id: Claim | None = None
    client_secret_file: str | None = None
    redirect_uri: Claim | None = None
    subject: Claim = "sub"
    owner: Claim | None = None

    def __post_init__(self) -> None:
        if self.jwks_file is not None and self.jwks_url is not None:
            raise ValueError("give `jwks_file` or `jwks_url`, not both")
        if self.jwks_file is None:
            refuse_open_way(self.jwks_url or self.issuer, "jwks_url" if self.jwks_url else "issuer")

    @property
    def prefix(self) -> str:
        return id_prefix(self.name)


class SignIn(Value, frozen=True):
    """All providers, and whom none of them brings in any more."""

    issuers: Annotated[tuple[Issuer, ...], msgspec.Meta(min_length=1, max_length=20)]
    suspended: tuple[Id, ...] = ()

    def __post_init__(self) -> None:
        for field in ("name", "issuer"):
            given = [getattr(one, field) for one in self.issuers]
            if twice := [value for value in given if given.count(value) > 1]:
                raise ValueError(f"`{twice[0]}` is the `{field}` of two issuers")


def id_prefix(name: str) -> str:
    """How the ids of all begin whom the issuer of this name vouches for."""
    return f"human://{name}/"


def refuse_open_way(url: str, field: str) -> None:
    """INVARIANT: keys that anybody on the way could change are not fetched."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)):
        raise ValueError(f"`{field}` must begin with https:// (http:// on this machine only)")


def load_sign_in(path: Path) -> SignIn:
    document = read_document(path)
    try:
        return convert(document, SignIn)
    except BeliefdError as error:
        place = (error.details or {}).get("path", "$")
        raise invalid(f"`{path}` at `{place}`: {error.message}", place) from None
