"""Who stands beside an attack: a caller of `/healthz`, and an honest one with work to do.

`python -m benchmarks.beside PORT TOKEN SESSION` asks until its standard input is closed, and then prints what
it saw. It is a process of its own: what the attack costs the attacker must not slow it down.
"""

import http.client
import sys
import threading
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from benchmarks.workload import JUSTIFICATION, SOURCE, hypothesis

HEALTH_PAUSE = 0.01
HONEST_PAUSE = 0.05
PATIENCE = 120.0


class Seen(Struct):
    """Seconds that `/healthz` took, each time; requests of the honest caller, and how some of them failed."""

    health: list[float] = []
    asked: int = 0
    failures: list[str] = []

    @property
    def worst(self) -> float:
        return max(self.health)

    @property
    def usual(self) -> float:
        """The 99th percentile."""
        return sorted(self.health)[int(len(self.health) * 0.99)]


class Caller:
    """One connection that is kept, as clients do; it is made again if the server has closed it."""

    def __init__(self, port: int) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def ask(self, method: str, path: str, body: bytes | None = None, token: str | None = None) -> int:
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        try:
            self._http.request(method, path, body, headers)
            answer = self._http.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self._http.close()
            raise
        return answer.status

    def close(self) -> None:
        self._http.close()


def watch_health(port: int, over: threading.Event, seen: Seen) -> None:
    """Over a connection that is kept, and over a new one: who crowds the others out is seen on that only."""
    kept = Caller(port)
    while not over.is_set():
        new = Caller(port)
        for caller in (kept, new):
            started = time.perf_counter()
            try:
                if (status := caller.ask("GET", "/healthz")) != http.HTTPStatus.OK:
                    seen.failures.append(f"healthz: status {status}")
            except (OSError, http.client.HTTPException) as error:
                seen.failures.append(f"healthz: {error!r}")
            seen.health.append(time.perf_counter() - started)
        new.close()
        over.wait(HEALTH_PAUSE)


def work_honestly(port: int, token: str, session_id: str, over: threading.Event, seen: Seen) -> None:
    caller = Caller(port)
    while not over.is_set():
        observation = {
            "source_id": SOURCE,
            "observation_id": f"o{seen.asked}",
            "eliminated": [hypothesis(seen.asked)],
            "justification": JUSTIFICATION,
        }
        body = msgspec.json.encode(observation)
        requests: list[Callable[[], int]] = [
            lambda body=body: caller.ask("POST", f"/v1/sessions/{session_id}/eliminate", body, token),  # type: ignore[misc]
            lambda: caller.ask("GET", f"/v1/sessions/{session_id}?survivors_limit=1", None, token),
        ]
        for request in requests:
            seen.asked += 1
            try:
                if (status := request()) != http.HTTPStatus.OK:
                    seen.failures.append(f"status {status}")
            except (OSError, http.client.HTTPException) as error:
                seen.failures.append(repr(error))
        over.wait(HONEST_PAUSE)


def main() -> None:
    port, token, session_id = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    over, seen = threading.Event(), Seen()
    threads = [
        threading.Thread(target=watch_health, args=(port, over, seen)),
        threading.Thread(target=work_honestly, args=(port, token, session_id, over, seen)),
    ]
    for thread in threads:
        thread.start()
    while not (seen.health and seen.asked):
        time.sleep(0.001)
    print("ready", flush=True)
    sys.stdin.read()
    over.set()
    for thread in threads:
        thread.join()
    print(msgspec.json.encode(seen).decode())


if __name__ == "__main__":
    main()
