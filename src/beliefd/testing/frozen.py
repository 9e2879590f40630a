"""An outside world that stands still: every time and every id is known beforehand, run after run."""

from datetime import UTC, datetime, timedelta
from itertools import count

from beliefd.steward.environment import Environment

START = datetime(2026, 1, 1, tzinfo=UTC)


def frozen_outside(start: datetime = START, lane: int = 0) -> Environment:
    """One millisecond passes a call; ids count up. Replicas in different lanes never share an id."""
    ticks, ids = count(), count(1)

    def now() -> str:
        return (start + timedelta(milliseconds=next(ticks))).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def new_id() -> str:
        return f"019b7600-0000-7000-{0x8000 + lane:04x}-{next(ids):012x}"

    return Environment(now=now, new_id=new_id)
