"""Counters in Prometheus' text format. No label ever carries a session id or anything an agent wrote."""

import time
from bisect import bisect_left
from collections import Counter
from typing import Final

from beliefd.steward.handle import Steward

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0
        self._started = time.time()

    def observe(self, operation: str, status: int, seconds: float) -> None:
        self._requests[operation, status] += 1
        self._buckets[bisect_left(BUCKETS, seconds)] += 1
        self._seconds += seconds

    def render(self, steward: Steward) -> bytes:
        lines = ["# TYPE beliefd_http_requests_total counter"]
        for (operation, status), count in sorted(self._requests.items()):
            lines.append(f'beliefd_http_requests_total{{operation="{operation}",status="{status}"}} {count}')
        lines.append("# TYPE beliefd_http_request_seconds histogram")
        total = 0
        for bound, count in zip((*BUCKETS, "+Inf"), self._buckets, strict=True):
            total += count
            lines.append(f'beliefd_http_request_seconds_bucket{{le="{bound}"}} {total}')
        lines.append(f"beliefd_http_request_seconds_sum {self._seconds:.6f}")
        lines.append(f"beliefd_http_request_seconds_count {total}")
        lines.append("# TYPE beliefd_events_total counter")
        for (verb, kind), count in sorted(steward.decided.items()):
            lines.append(f'beliefd_events_total{{verb="{verb}",kind="{kind}"}} {count}')
        lines += [
            "# TYPE beliefd_append_retries_total counter",
            f"beliefd_append_retries_total {steward.retries}",
            "# TYPE beliefd_sessions_in_memory gauge",
            f"beliefd_sessions_in_memory {len(steward.positions)}",
            "# TYPE beliefd_start_time_seconds gauge",
            f"beliefd_start_time_seconds {self._started:.3f}",
        ]
        return "\n".join(lines).encode() + b"\n"
