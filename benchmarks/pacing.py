"""How long an answer takes while callers come at their own pace: raw sockets, one request after a pause.

`python -m benchmarks.pacing PLAN` prints the median, in milliseconds.
"""

import asyncio
import statistics
import sys
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.load import is_whole, request_of


class Pace(Struct, frozen=True, kw_only=True):
    """`{number}` in a body stands for the number of the request: no two are the same."""

    port: int
    callers: int
    requests: int
    pause: float
    paths: list[str]
    body: str


async def _caller(pace: Pace, number: int) -> list[float]:
    reader, writer = await asyncio.open_connection("127.0.0.1", pace.port)
    path = pace.paths[number % len(pace.paths)]
    took: list[float] = []
    await asyncio.sleep(pace.pause * number / pace.callers)
    for count in range(pace.requests):
        body = pace.body.replace("{number}", f"{number}-{count}").encode()
        began = time.perf_counter()
        writer.write(request_of(pace.port, path, body))
        answer = b""
        while not is_whole(answer):
            answer += await reader.read(65_536)
        took.append(1000 * (time.perf_counter() - began))
        if not answer.startswith(b"HTTP/1.1 200") or b'"permit":null' in answer:
            raise RuntimeError(answer.decode(errors="replace")[:500])
        await asyncio.sleep(pace.pause)
    writer.close()
    return took[len(took) // 5 :]


async def asked(pace: Pace) -> float:
    times = await asyncio.gather(*(_caller(pace, number) for number in range(pace.callers)))
    return statistics.median(one for took in times for one in took)


def main() -> None:
    import uvloop

    pace = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Pace)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(runner.run(asked(pace)))


if __name__ == "__main__":
    main()
