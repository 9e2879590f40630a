"""What can happen to measurements."""

from beliefd.kernel.event import EventBase
from beliefd.kernel.measurements.state import Measurement


class Measured(EventBase, frozen=True, tag="measured"):
    """An uncertainty was measured, and this is the receipt."""

    measurement: Measurement


MeasurementEvent = Measured
