"""Counters in Prometheus' text format. No label holds a session id or anything that an agent wrote."""

import logging
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from beliefd.http.in_flight import InFlight
from beliefd.http.places import REQUESTS, STREAMS, Places
from beliefd.http.rates import Rates
from beliefd.steward import keeping
from beliefd.steward.buckets import Buckets
from beliefd.steward.effects.addresses import shown
from beliefd.steward.effects.anchored import Anchored
from beliefd.steward.effects.tools import RANKS
from beliefd.steward.offload import POOLS
from beliefd.steward.write.steward import Steward
from beliefd.tools import slots as places

log: Final = logging.getLogger("beliefd.requests")
FAILED: Final = 500
BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counts requests and their durations; the steward counts what was decided."""

    def __init__(self, buckets: Buckets | None = None) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._started = time.time()
        self.in_flight = InFlight()
        self.rates = Rates(buckets)
        self.requests, self.streams = Places(REQUESTS), Places(STREAMS)

    def observe(self, operation: str, status: int, seconds: float) -> None:
        self._requests[operation, status] += 1
        self._buckets[operation][bisect_left(BUCKETS, seconds)] += 1
        self._seconds[operation] += seconds
        if log.isEnabledFor(logging.INFO):
            fields = {"operation": operation, "status": status, "ms": round(seconds * 1000, 1)}
            level = logging.WARNING if status >= FAILED else logging.INFO
            log.log(level, "answered", extra={"fields": fields})

    def render(self, steward: Steward, anchored: Anchored | None = None) -> bytes:
        reached = {} if anchored is None else anchored.reached()
        places = {place: f'{{anchor="{_quoted(shown(place))}"}}' for place in reached}
        leaves = [(places[name], one.size) for name, one in reached.items()]
        failing = [(places[name], int(one.failure is not None)) for name, one in reached.items()]
        requests = (
            (f'{{operation="{operation}",status="{status}"}}', count)
            for (operation, status), count in sorted(self._requests.items())
        )
        events = (
            (f'{{verb="{verb}",kind="{kind}"}}', count)
            for (verb, kind), count in sorted(steward.counts.decided.items())
        )
        chains = steward.positions.chains
        lines = [
            *_family("beliefd_http_requests_total", "counter", "Requests by operation and status", requests),
            *_family("beliefd_http_request_seconds", "histogram", "Time to an answer", self._histogram()),
            *_family("beliefd_events_total", "counter", "Events decided, refusals included", events),
            *_family("beliefd_append_retries_total", "counter", "Lost races", [("", steward.counts.retries)]),
            *_family("beliefd_sessions_in_memory", "gauge", "Cached states", [("", len(steward.positions))]),
            *_family("beliefd_ledgers_broken", "gauge", "Ledgers not served", [("", len(chains.broken))]),
            *_family("beliefd_scrubbed_entries_total", "counter", "Scrubbed", [("", chains.scrubbed)]),
            *_family("beliefd_state_bytes_in_memory", "gauge", "Their size", [("", steward.positions.bytes)]),
            *_family("beliefd_body_bytes_in_flight", "gauge", "Bodies", [("", self.in_flight.total)]),
            *_family("beliefd_requests_under_way", "gauge", "Not answered yet", self._under_way()),
            *_family("beliefd_work", "gauge", "Long work beside the event loop", _work()),
            *_family("beliefd_tool_calls_waiting", "gauge", "For a place to run in", _waiting()),
            *_family("beliefd_limited_total", "counter", "Refused by a limit", self._limited(steward)),
            *_family("beliefd_log_anchored_leaves", "gauge", "Of the log, by anchor", leaves),
            *_family("beliefd_log_anchor_failing", "gauge", "Not reached when last tried", failing),
            *_family("beliefd_start_time_seconds", "gauge", "Since when", [("", round(self._started, 3))]),
        ]
        return "\n".join(lines).encode() + b"\n"

    def _limited(self, steward: Steward) -> Iterable[tuple[str, float]]:
        places = {one.limit.name: one.refused for one in (self.requests, self.streams)}
        counters = (self.in_flight.refused, self.rates.refused, keeping.refused, steward.counts.limited)
        counted = {**places, **{name: count for one in counters for name, count in one.items()}}
        return [(f'{{limit="{name}"}}', count) for name, count in sorted(counted.items())]

    def _under_way(self) -> Iterable[tuple[str, float]]:
        return [(f'{{kind="{one.limit.name}"}}', one.total) for one in (self.requests, self.streams)]

    def _histogram(self) -> Iterable[tuple[str, float]]:
        for operation, counts in sorted(self._buckets.items()):
            total = 0
            for bound, count in zip((*BUCKETS, "+Inf"), counts, strict=True):
                total += count
                yield f'_bucket{{operation="{operation}",le="{bound}"}}', total
            yield f'_sum{{operation="{operation}"}}', round(self._seconds[operation], 6)
            yield f'_count{{operation="{operation}"}}', total


def _work() -> Iterable[tuple[str, float]]:
    for kind, pool in POOLS.items():
        yield f'{{kind="{kind}",is="running"}}', pool.running
        yield f'{{kind="{kind}",is="waiting"}}', pool.waiting


def _waiting() -> Iterable[tuple[str, float]]:
    waiting = places.slots.waiting()
    return [(f'{{class="{name}"}}', waiting[rank]) for name, rank in RANKS.items()]


def _quoted(text: str) -> str:
    """As the value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _family(name: str, kind: str, help_text: str, samples: Iterable[tuple[str, float]]) -> Iterable[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
    for suffix, value in samples:
        yield f"{name}{suffix} {value}"
