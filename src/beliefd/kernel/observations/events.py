"""What can happen to observations."""

from beliefd.kernel.event import EventBase
from beliefd.kernel.observations.state import Observation


class Observed(EventBase, frozen=True, tag="observed"):
    """Values were taken and frozen, with their label."""

    observation: Observation
    values: tuple[float, ...]


ObservationEvent = Observed
