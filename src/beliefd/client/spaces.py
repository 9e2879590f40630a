"""Spaces, and the tokens that give rights in them."""

from collections.abc import Iterable, Mapping

from beliefd.client.method import Method
from beliefd.client.requests import Request, given
from beliefd.kernel.errors import invalid
from beliefd.protocol.spaces import SpaceList, SpaceRows, SpaceView
from beliefd.protocol.tokens import CreatedToken, TokenList, TokenRows, TokenView


class SpaceCalls:
    """Who sees what, and who may do what where."""

    @Method
    def list_spaces(self) -> Request[SpaceList]:
        """The spaces that the caller may see."""
        return Request(SpaceRows.list_spaces)

    @Method
    def create_space(self, name: str) -> Request[SpaceView]:
        """Make a space."""
        return Request(SpaceRows.create_space, body={"name": name})

    @Method
    def list_tokens(self) -> Request[TokenList]:
        """Everybody who has or had a token."""
        return Request(TokenRows.list_tokens)

    @Method
    def create_token(
        self,
        name: str,
        role: str,
        *,
        tier: str | None = None,
        owner: str | None = None,
        spaces: Mapping[str, Iterable[str]] | None = None,
    ) -> Request[CreatedToken]:
        """Make a token; its secret is in this answer and nowhere else."""
        body = given(name=name, role=role, tier=tier, owner=owner, spaces=_listed(spaces))
        return Request(TokenRows.create_token, body=body)

    @Method
    def revoke_token(self, token_id: str) -> Request[TokenView]:
        """Revoke a token."""
        return Request(TokenRows.revoke_token, {"token_id": token_id})


def _listed(spaces: Mapping[str, Iterable[str]] | None) -> dict[str, list[str]] | None:
    """INVARIANT: a text is no list of rights. Taken letter by letter, it would be refused as another."""
    if spaces is None:
        return None
    if not isinstance(spaces, Mapping) or any(isinstance(rights, str) for rights in spaces.values()):
        raise invalid('`spaces` maps names to lists of rights, such as {"default": ["read"]}', "$.spaces")
    return {space: list(rights) for space, rights in spaces.items()}
