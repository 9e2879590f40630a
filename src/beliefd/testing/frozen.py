"""An outside world that stands still: every time and every id is known beforehand, run after run."""

from datetime import UTC, datetime, timedelta

from beliefd.steward.environment import Environment

START = datetime(2026, 1, 1, tzinfo=UTC)


class Clock:
    """Time passes when it is moved, and by `tick` per look at it; ids count up, across restarts too.

    Replicas in different lanes never share an id.
    """

    def __init__(self, lane: int = 0, *, tick: timedelta = timedelta(0)) -> None:
        self._now = START
        self._tick = tick
        self._lane = 0x8000 + lane
        self._ids = 0

    def now(self) -> str:
        seen = self._now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        self._now += self._tick
        return seen

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)

    def new_id(self) -> str:
        self._ids += 1
        return f"019b7600-0000-7000-{self._lane:04x}-{self._ids:012x}"

    @property
    def environment(self) -> Environment:
        return Environment(now=self.now, new_id=self.new_id)


def frozen_environment(lane: int = 0) -> Environment:
    """One millisecond passes per call."""
    return Clock(lane, tick=timedelta(milliseconds=1)).environment
