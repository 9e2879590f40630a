"""What a turn reaches beyond itself."""

from msgspec import Struct

from beliefd.steward.environment import Environment
from beliefd.steward.facts.finder import FactFinder
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.queued import Counts
from beliefd.steward.write.room import Written
from beliefd.steward.write.sealed import SealedRefusals
from beliefd.stores.base import Store


class Ports(Struct, frozen=True):
    """`stored_policies` are known to be in the store, by hash."""

    store: Store
    positions: Positions
    in_force: PolicyInForce
    finder: FactFinder
    environment: Environment
    counts: Counts
    stored_policies: set[str]
    sealed: SealedRefusals
    written: Written

    @property
    def limit(self) -> int:
        """How large the state of one session may be: it has to fit into the cache of all."""
        return min(self.in_force.policy.bounds.kept_of_session, self.positions.limit)
