"""Tokens that tests make and take away: people with several names, whose authority ends."""

from beliefd.kernel.values import Principal, Role, Tier
from beliefd.steward.credentials import create_token
from beliefd.steward.directory import principal_of
from beliefd.testing.world import NOW, Person, World


def hired(
    house: World, name: str, role: Role, tier: str = "PRIVILEGE", owner: str | None = None, *spaces: str
) -> Person:
    """Somebody with a token."""

    async def make() -> Principal:
        known = {token.token_id for token in await house.store.tokens()}
        await create_token(house.store, name, role, Tier[tier], owner, spaces=spaces)
        (made,) = [token for token in await house.store.tokens() if token.token_id not in known]
        return principal_of(made)

    return house.person(house.run(make))


def fired(house: World, who: Person) -> None:
    """All tokens of somebody are revoked."""

    async def revoke() -> None:
        for token in await house.store.tokens():
            if principal_of(token).id == who.principal.id:
                await house.store.revoke_token(token.token_id, NOW)

    house.run(revoke)
