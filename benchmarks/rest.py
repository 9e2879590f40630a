"""What has neither a body nor an answer of a certain length: feeds, and what is ended by its name alone."""

import time
from contextlib import ExitStack
from typing import Final

from beliefd.protocol.operation import Operation
from beliefd.protocol.operations import OPERATIONS
from benchmarks.attacks import Attack, at_once, attack, check, connection, first_status, head, post, told
from benchmarks.questions import ENDLESS
from benchmarks.victim import Victim

FEEDS: Final = 60
CALLERS: Final = 16
EACH: Final = 20
PIECES: Final = 2_000


def deaf(operation: Operation) -> Attack:
    """Many who follow it and never read."""

    def follow(victim: Victim) -> int:
        target = operation.path.replace("{session_id}", victim.long)
        asked = head("GET", target, victim.admin)
        with ExitStack() as stack:
            for _ in range(victim.size(FEEDS)):
                opened = stack.enter_context(connection(victim))
                opened.sendall(asked)
                check(victim, "a feed", first_status(opened), (200,))
            time.sleep(3 * victim.scale)
        return len(asked) * victim.size(FEEDS)

    return follow


def named(operation: Operation) -> Attack:
    """Many who end what is not there, again and again."""

    def end(victim: Victim) -> int:
        target = operation.path.replace("{session_id}", victim.session)
        for name in operation.path_names:
            target = target.replace(f"{{{name}}}", "x")

        def often() -> None:
            for _ in range(victim.size(EACH)):
                post(victim, target, b"", 404, method=operation.method, token=victim.admin)

        at_once(CALLERS, often)
        return CALLERS * len(target)

    return end


@attack("contents of some bytes, one after the other: what is kept beside each is more than it")
def small_contents(victim: Victim) -> int:
    sent = 0
    for _ in range(victim.size(PIECES)):
        body = str(time.monotonic_ns()).encode()
        told(victim, "/v1/content", body, 201, media="application/octet-stream")
        sent += len(body)
    return sent


REST: Final = {
    f"{row.name} by {FEEDS if row.media == ENDLESS else CALLERS} at once": deaf(row)
    if row.media == ENDLESS
    else named(row)
    for row in OPERATIONS
    if not row.takes_body and (row.writes or row.media == ENDLESS)
}
