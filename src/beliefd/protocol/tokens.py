"""Tokens: who may speak to a server, and what they may where."""

from typing import Annotated

from msgspec import Meta

from beliefd.kernel.errors import Code
from beliefd.kernel.values import Role, TierName, Value
from beliefd.protocol.operation import OPERATORS, Answer, Operation, Vocabulary, reads
from beliefd.protocol.rights import Right

Name = Annotated[str, Meta(min_length=1, max_length=256)]


class CreateToken(Value, frozen=True):
    """`spaces` are rights by space, `*` for all spaces; without it, the token may what its role may: in the
    default space, and an administrator everywhere."""

    name: Name
    role: Role
    tier: TierName | None = None
    owner: Name | None = None
    spaces: dict[str, list[Right]] = {}


class TokenView(Answer, frozen=True):
    """A token without its secret, which is not kept. `principal` is who speaks with it."""

    token_id: str
    name: str
    principal: str
    owner: str
    role: Role
    tier: str
    spaces: dict[str, list[Right]]
    created_at: str
    revoked_at: str | None = None


class TokenList(Answer, frozen=True):
    """Tokens, without their secrets."""

    tokens: list[TokenView]


class CreatedToken(Answer, frozen=True):
    """`secret` is what the caller sends in `Authorization: Bearer`. It is not shown again."""

    secret: str
    token: TokenView


class TokenRows(Vocabulary):
    """Who may speak to a server, and what they may where"""

    list_tokens = reads(
        "/v1/tokens", TokenList, "Everybody who has or had a token, oldest first", roles=OPERATORS
    )
    create_token = Operation(
        method="POST",
        path="/v1/tokens",
        body=CreateToken,
        answer=CreatedToken,
        status=201,
        roles=OPERATORS,
        summary="Make a token; its secret is shown once",
        example={"name": "triage", "role": "agent", "spaces": {"default": ["read", "propose"]}},
    )
    revoke_token = Operation(
        method="DELETE",
        path="/v1/tokens/{token_id}",
        answer=TokenView,
        roles=OPERATORS,
        errors=(Code.NOT_FOUND,),
        summary="Revoke a token; every server on the store notices within a second",
    )
