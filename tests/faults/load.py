"""Writers that remember exactly what was acknowledged to them, and the comparison with what a server kept."""

import asyncio
import itertools
import json
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx
from msgspec import Struct

from beliefd.testing.world import ONTOLOGY_JSON

HYPOTHESES: Final = tuple(f"h{number:03d}" for number in range(256))
TIMEOUT: Final = 60.0
RETRY_SECONDS: Final = 0.05


class Request(Struct, frozen=True):
    """One elimination as a client sends it; its observation id is like no other of the test."""

    session_id: str
    observation_id: str
    eliminated: tuple[str, ...]
    key: str | None = None

    @property
    def url(self) -> str:
        return f"/v1/sessions/{self.session_id}/eliminate"

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.key is None else {"Idempotency-Key": self.key}

    @property
    def body(self) -> dict[str, Any]:
        return {
            "source_id": "probe://load",
            "observation_id": self.observation_id,
            "eliminated": list(self.eliminated),
            "justification": {"text": "x" * 64},
        }


class Answer(Struct, frozen=True):
    event_id: str
    seq: int
    applied: tuple[str, ...]


class Failure(Exception):
    """The server answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"{status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message


class Log:
    """What the clients know."""

    def __init__(self) -> None:
        self.acknowledged: dict[Request, Answer] = {}
        self.unanswered: set[Request] = set()
        self.failures: list[Failure] = []

    def keep(self, request: Request, answer: Answer) -> None:
        self.acknowledged[request] = answer
        self.unanswered.discard(request)

    def check(self, session_id: str, events: Sequence[dict[str, Any]]) -> None:
        """What was acknowledged is there once, as acknowledged; nothing is there that nobody sent."""
        kept: dict[str, dict[str, Any]] = {}
        for event in events:
            if event["verb"] != "ELIMINATE":
                continue
            observation_id = event["payload"]["observation_id"]
            assert observation_id not in kept, f"{observation_id} is there twice"
            kept[observation_id] = event
        for request, answer in self.acknowledged.items():
            if request.session_id == session_id:
                event = kept.pop(request.observation_id, {})
                assert event, f"acknowledged, but not there: {request} {answer}"
                assert _answer_in(event) == answer
                assert tuple(event["payload"]["eliminated"]) == request.eliminated
        known = {request.observation_id for request in self.unanswered}
        assert kept.keys() <= known, "events that nobody sent"


def _answer_in(event: dict[str, Any]) -> Answer:
    return Answer(event["event_id"], event["seq"], tuple(event["delta"]["eliminated"]))


def client(url: str) -> httpx.AsyncClient:
    # Loading certificates would take longer than a server lives here.
    return httpx.AsyncClient(base_url=url, timeout=TIMEOUT, verify=False)


def answer_of(response: httpx.Response) -> dict[str, Any]:
    body: dict[str, Any] = response.json()
    if response.is_error:
        raise Failure(response.status_code, body["error"]["code"], body["error"]["message"])
    return body


async def send(http: httpx.AsyncClient, request: Request, if_match: str | None = None) -> Answer:
    headers = request.headers if if_match is None else {**request.headers, "If-Match": f'"{if_match}"'}
    body = answer_of(await http.post(request.url, json=request.body, headers=headers))
    return Answer(body["audit_event_id"], body["snapshot"]["seq"], tuple(body["applied_eliminated"]))


async def declare(http: httpx.AsyncClient, metadata: dict[str, Any], key: str | None = None) -> str:
    body = {"ontology": ONTOLOGY_JSON, "hypotheses": HYPOTHESES, "metadata": metadata}
    headers = {} if key is None else {"Idempotency-Key": key}
    session_id: str = (answer_of(await http.post("/v1/sessions", json=body, headers=headers)))["session_id"]
    return session_id


async def snapshot(http: httpx.AsyncClient, session_id: str) -> dict[str, Any]:
    return answer_of(await http.get(f"/v1/sessions/{session_id}"))


async def audit(
    http: httpx.AsyncClient, session_id: str, since_event_id: str | None = None
) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = []
    while True:
        query = {} if since_event_id is None else {"since_event_id": since_event_id}
        page = answer_of(await http.get(f"/v1/sessions/{session_id}/audit", params=query))
        events += page["events"]
        since_event_id = page["next"]
        if since_event_id is None:
            return events


async def write_bulk(http: httpx.AsyncClient, session_id: str, acknowledged: list[str]) -> None:
    """Half a megabyte of events in one request. Each line has an answer of its own, of success or failure."""
    line = json.dumps(
        {
            "verb": "ELIMINATE",
            "source_id": "probe://bulk",
            "observation_id": "bulk",
            "eliminated": [],
            "justification": {"text": "x" * 8_000},
        }
    )
    response = await http.post(f"/v1/sessions/{session_id}/batch", content="\n".join([line] * 64))
    answers = [json.loads(one) for one in response.text.splitlines()]
    acknowledged.extend(answer["audit_event_id"] for answer in answers if "error" not in answer)
    for error in (answer["error"] for answer in answers if "error" in answer):
        raise Failure(response.status_code, error["code"], error["message"])


def requests(name: str, sessions: Sequence[str], seed: int) -> Iterator[Request]:
    """Endless, different on every step and the same on every run; every other one has a key."""
    chance = random.Random(f"{seed}-{name}")
    for number in itertools.count():
        observation_id = f"{name}-{number}"
        yield Request(
            chance.choice(sessions),
            observation_id,
            tuple(sorted(chance.sample(HYPOTHESES, chance.randint(0, 2)))),
            f"key-{seed}-{observation_id}" if chance.random() < 0.5 else None,
        )


async def write_until_cut_off(http: httpx.AsyncClient, log: Log, todo: Iterator[Request]) -> None:
    """Send one after the other until the server is gone, or says that it goes; what was sent to one that is
    gone stays unanswered."""
    for request in todo:
        try:
            log.keep(request, await send(http, request))
        except Failure as failure:
            if "the server is stopping; nothing was done" not in failure.message:
                raise
            return
        except httpx.TransportError:
            log.unanswered.add(request)
            return


async def write_through_failures(http: httpx.AsyncClient, log: Log, todo: Iterator[Request]) -> None:
    """Send one after the other; try again what has a key, give up on the answer of what has none."""
    for request in todo:
        while True:
            try:
                log.keep(request, await send(http, request))
            except Failure as failure:
                log.failures.append(failure)
                log.unanswered.add(request)
                await asyncio.sleep(RETRY_SECONDS)
                if request.key is not None:
                    continue
            break


@asynccontextmanager
async def writing(
    http: httpx.AsyncClient, log: Log, streams: Sequence[Iterator[Request]]
) -> AsyncIterator[None]:
    """Writers that go on through all failures while the block runs, and finish what they have begun."""
    stop = asyncio.Event()
    tasks = [
        asyncio.create_task(
            write_through_failures(http, log, itertools.takewhile(lambda _: not stop.is_set(), stream))
        )
        for stream in streams
    ]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that must happen; the test's own time limit ends a wait for what does not."""
    while not condition():  # noqa: ASYNC110 - the condition is a plain value of the log
        await asyncio.sleep(0.01)
