"""What claims leave behind: where each bundle stands, and who asked for which tier lately."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.parts import EMPTY, Growing, Part


class BundleState(Struct, frozen=True):
    """Where a bundle stands; `event_id` names the event that holds it as last judged."""

    event_id: str
    decision: str
    approval_id: str | None = None


class Claims(Part, frozen=True):
    """The claims of a session. `recent_tiers` are the last submissions, as principal and tier."""

    bundles: Growing[BundleState] = EMPTY
    recent_tiers: tuple[tuple[str, int], ...] = msgspec.field(default=(), name="trail")

    def with_bundle(self, bundle_id: str, state: BundleState) -> "Claims":
        return replace(self, bundles=self.bundles.insert(bundle_id, state))
