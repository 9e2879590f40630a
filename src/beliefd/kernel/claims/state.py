"""What claims leave behind: where each bundle stands, and who asked for which tier lately."""

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.claims.endings import Ended, claim_key
from beliefd.kernel.parts import EMPTY, Growing, Part


class BundleState(Struct, frozen=True):
    """Where a bundle stands; `event_id` names the event that holds it as last judged."""

    event_id: str
    decision: str
    approval_id: str | None = None


class Claims(Part, frozen=True):
    """The claims of a session. `recent_tiers` are the last submissions, as principal and tier.

    `endings` are by the event that ended something. `ended` names that event by the claim, and by the bundle
    the last one of it. `steps` says how many corrections a bundle rests on that is one.
    """

    bundles: Growing[BundleState] = EMPTY
    endings: Growing[Ended] = EMPTY
    ended: Growing[str] = EMPTY
    steps: Growing[int] = EMPTY
    recent_tiers: tuple[tuple[str, int], ...] = msgspec.field(default=(), name="trail")

    def with_bundle(self, bundle_id: str, state: BundleState) -> "Claims":
        return replace(self, bundles=self.bundles.insert(bundle_id, state))

    def with_ended(self, one: Ended, event_id: str) -> "Claims":
        ended = self.ended.insert(one.bundle_id, event_id)
        for name in one.claim_ids:
            ended = ended.insert(claim_key(one.bundle_id, name), event_id)
        steps = self.steps.insert(one.correction, one.step) if one.correction else self.steps
        return replace(self, endings=self.endings.insert(event_id, one), ended=ended, steps=steps)

    def ended_by(self, bundle_id: str, claim_id: str | None = None) -> str:
        """The event that ended a claim, or the last that ended something of a bundle; empty if none did."""
        return self.ended.get(bundle_id if claim_id is None else claim_key(bundle_id, claim_id)) or ""

    def ending(self, bundle_id: str, claim_id: str | None = None) -> Ended | None:
        """How a claim ended; of a whole bundle, what of it ended last. None if it stands."""
        event_id = self.ended_by(bundle_id, claim_id)
        return self.endings[event_id] if event_id else None
