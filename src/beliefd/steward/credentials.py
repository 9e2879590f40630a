"""Tokens of a store that was opened for one piece of work: by the command line, by a demonstration.

Other processes may use the same store meanwhile. What is done is an event of its own ledger, as on a server.
"""

from typing import Any

from beliefd.kernel.values import Role, Tier
from beliefd.steward.bootstrap import bootstrap
from beliefd.steward.tokens import end_token, make_token
from beliefd.stores.base import Store


async def create_token(
    store: Store, name: str, role: Role, tier: Tier | None = None, owner: str | None = None, **more: Any
) -> str:
    """The secret of a new token; see `make_token`."""
    return await make_token(store, bootstrap(store).system, name, role, tier, owner, **more)


async def revoke_token(store: Store, token_id: str) -> bool:
    """False if there is no such token that is still valid."""
    return await end_token(store, bootstrap(store).system, token_id)
