"""Do pages of the console get slower, or longer, as a ledger grows? Each of a short and of a long session."""

import asyncio
import re
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx
import msgspec
from msgspec import Struct

from beliefd.client import Client
from beliefd.kernel.values import Role, Tier
from beliefd.steward.credentials import create_token
from beliefd.stores.sqlite import SqliteStore
from benchmarks.figures import Figure, Run, Target, alternate
from benchmarks.http import POLICY, serving
from benchmarks.ledgers import filled

SHORT: Final = 100
ROUNDS: Final = 3
"""Of what reads all of a long ledger."""
PAUSE: Final = 1.0
"""Seconds: so long a page under way waits before it looks again."""
POLLS: Final = 600
GOING: Final = "data-again"
OWN: Final = {"Sec-Fetch-Site": "same-origin"}
PROPOSED: Final[dict[str, Any]] = {
    "type": "create_proposition",
    "claim_id": "wait-40",
    "statement": "a wait takes 40 ms",
    "prediction": {
        "quantity": "wait",
        "unit": "ms",
        "criterion": {"region": "tolerance", "value": 40.0, "tolerance": 2.0},
    },
}
MOST_BYTES: Final = 200_000
MOST_TIMES: Final = 3.0
PAGES: Final = (
    "/sessions/{session}",
    "/sessions/{session}?from={middle}",
    "/sessions/{session}/work",
    "/sessions/{session}/work?from={middle}",
    "/sessions/{session}/audit",
    "/sessions/{session}/audit?around={middle}",
    "/sessions/{session}/audit/{middle}",
    "/sessions/{session}/what-if",
    "/inbox?session={session}",
    "/inbox/{item}",
    "/inbox/{item}/whole",
)
"""Each of these shows a piece of a ledger, or an item of it."""
QUESTIONS: Final = (
    "/sessions/{session}/why/h001",
    "/audit?session={session}&verb=REQUEST_TERMINATION",
    "/sessions/{session}/what-if?source.0=tool%3A%2F%2Fbench",
    "/sessions/{session}/verified",
    "/propositions/{claim}",
    "/policy",
)
"""These are answered from all of a ledger: the page says how far that is, and looks again. What is judged is
the slowest of these requests."""


def console(run: Run) -> list[Figure]:
    events, rounds = run.size(100_000, 400), run.size(15, 1)
    # Two servers, because some pages are about all that one of them holds.
    with ExitStack() as both:
        looks = [both.enter_context(_begun(run, count)) for count in (events, SHORT)]
        return [
            figure
            for page in (*PAGES, *QUESTIONS)
            for figure in _figures(page, looks, rounds if page in PAGES else min(rounds, ROUNDS))
        ]


@contextmanager
def _begun(run: Run, events: int) -> Iterator[tuple[httpx.Client, dict[str, str]]]:
    """A server with one session of so many events, and by what its pages are addressed."""
    data = run.folder / f"console-{events}"
    data.mkdir()
    (session_id,) = asyncio.run(filled(data / "beliefd.db", (events,)))
    with _signed_in(run, data) as (client, http):
        yield http, _places(client, http, session_id, events)


class Look(Struct, frozen=True):
    """What somebody sees who looks at a page until it is answered: times in milliseconds."""

    slowest: float
    whole: float
    longest: int

    @classmethod
    def at(cls, http: httpx.Client, path: str) -> "Look":
        begun, slowest, longest = time.perf_counter(), 0.0, 0
        for _ in range(POLLS):
            started = time.perf_counter()
            answer = http.get(path)
            slowest = max(slowest, time.perf_counter() - started)
            answer.raise_for_status()
            longest = max(longest, len(answer.content))
            if GOING not in answer.text:
                return cls(slowest * 1000, (time.perf_counter() - begun) * 1000, longest)
            time.sleep(PAUSE)
        raise RuntimeError(f"{path} was not answered")


def _figures(page: str, both: list[tuple[httpx.Client, dict[str, str]]], rounds: int) -> list[Figure]:
    long, short = (partial(Look.at, http, page.format(**places)) for http, places in both)
    looks = [long()]
    short()

    def looked() -> float:
        looks.append(long())
        return looks[-1].slowest

    far, near = alternate(rounds, looked, lambda: short().slowest)
    named = re.sub(r"{(\w+)}", "*", page)
    figures = [
        Figure(
            benchmark="console",
            what=named,
            unit="ms",
            ours=far,
            peer=near,
            peer_is=f"the same with {SHORT} events",
            ratio=far / near,
            ratio_is="long : short",
            target=Target(at_most=MOST_TIMES),
        ),
        Figure(
            benchmark="console",
            what=f"{named}: length",
            unit="bytes",
            ours=max(one.longest for one in looks),
            target=Target(at_most=MOST_BYTES),
        ),
    ]
    if page in QUESTIONS:
        whole = statistics.median(one.whole for one in looks)
        figures.append(Figure(benchmark="console", what=f"{named}: to its end", unit="ms", ours=whole))
    return figures


def _places(client: Client, http: httpx.Client, session_id: str, events: int) -> dict[str, str]:
    """By what the pages of a session are addressed; an item waits in it, and a proposition was let in."""
    staged = client.stage_intent(session_id, PROPOSED)
    assert staged.approval_id is not None
    yes = {"decision": "APPROVED", "content_hash": client.show_approval(staged.approval_id).content_hash}
    assert http.post(f"/inbox/{staged.approval_id}", data=yes, headers=OWN).status_code == 303
    claim = {
        "statement": "Delete what is left",
        "claim_type": "DECISION",
        "uncertainty": {"method": "confidence_score", "value": 0.1},
        "risk_tier": "DELETE",
    }
    item = client.submit_claims(session_id, {"claims": [claim]}).approval_id
    assert item is not None
    places = {"session": session_id, "item": item, "middle": str(events // 2)}
    return {**places, "claim": PROPOSED["claim_id"]}


@contextmanager
def _signed_in(run: Run, data: Path) -> Iterator[tuple[Client, httpx.Client]]:
    """A server with an agent, and with somebody who looks at it."""
    policy = run.folder / "console-policy.json"
    policy.write_bytes(msgspec.json.encode(POLICY))
    agent, person = asyncio.run(_tokens(data / "beliefd.db"))
    options = ["--port", "0", "--data", str(data), "--policy", str(policy)]
    with serving(["-m", "beliefd.cli.main", "serve", *options]) as port:
        url = f"http://127.0.0.1:{port}"
        with Client(url, agent, timeout=600) as client, httpx.Client(base_url=url, timeout=600) as http:
            assert http.post("/sign-in", data={"token": person}, headers=OWN).status_code == 303
            yield client, http


async def _tokens(path: Path) -> list[str]:
    store = await SqliteStore.open(path)
    try:
        roles = (Role.AGENT, Role.APPROVER)
        return [await create_token(store, f"bench-{role}", role, Tier.PRIVILEGE) for role in roles]
    finally:
        await store.close()
