"""Every question that there is, about a session with a long ledger, by several callers at once."""

import http.client
from contextlib import closing
from typing import Any, Final, get_args
from urllib.parse import urlencode

import msgspec

from beliefd.protocol.operation import Operation, Parameter
from beliefd.protocol.operations import OPERATIONS
from benchmarks.attacks import MIB, PATIENCE, Attack, at_once, check
from benchmarks.ledgers import NAMES, SOURCE
from benchmarks.victim import Victim

CALLERS: Final = 8
KNOWN: Final[dict[str, Any]] = {"hypothesis": NAMES[0], "text": "nobody says this", "from": 1}
NOT_THERE: Final = {"sha256": "0" * 64}
"""What is asked for in paths, if not `x`."""
"""What a question needs so that it is answered from all of a ledger."""
BODIES: Final[dict[str, Any]] = {"counterfactual": {"without": {"source_ids": [SOURCE]}}}
ENDLESS: Final = "text/event-stream"
"""Feeds do not end by themselves; those that are never read have an attack of their own."""


def asked(operation: Operation) -> Attack:
    """Ask, with the longest page that there is. What is under way are the answers."""

    def ask(victim: Victim) -> int:
        known = {**KNOWN, "session_id": victim.long, "session": victim.long}
        path = operation.path
        for name in operation.path_names:
            path = path.replace(f"{{{name}}}", str({**NOT_THERE, **known}.get(name, "x")))
        query = {one.name: known[one.name] for one in operation.query if one.name in known}
        query |= {one.name: _most(one) for one in operation.query if one.name.endswith("limit")}
        body = b""
        if operation.takes_body:
            body = msgspec.json.encode(BODIES.get(operation.name, operation.example or {}))
        sizes: list[int] = []
        target = f"{path}?{urlencode(query)}" if query else path
        at_once(CALLERS, lambda: sizes.append(_length(victim, operation, target, body)))
        return max(sum(sizes), 1)

    return ask


def _expected(operation: Operation) -> tuple[int, ...]:
    """Much of what is asked for is not there, and has to be looked for."""
    if operation.name == "backtest_policy":
        return (200, 503)  # one at a time of each person
    return (404,) if set(operation.path_names) - {"session_id", *KNOWN} else (200,)


def _most(limit: Parameter) -> int:
    """The longest page that may be asked for."""
    [most] = (bounds.le for bounds in get_args(limit.kind)[1:])
    return int(most)


def _length(victim: Victim, operation: Operation, target: str, body: bytes) -> int:
    """Bytes of the answer, which are dropped as they come."""
    caller = http.client.HTTPConnection("127.0.0.1", victim.port, timeout=PATIENCE)
    headers = {"Content-Type": operation.body_media, "Authorization": f"Bearer {victim.admin}"}
    length = 0
    with closing(caller):
        caller.request(operation.method, target, body or None, headers)
        answer = caller.getresponse()
        check(victim, f"{operation.method} {target}", answer.status, _expected(operation))
        while piece := answer.read(MIB):
            length += len(piece)
    return length


QUESTIONS: Final = {
    f"{row.name} of a long ledger, {CALLERS} at once": asked(row)
    for row in OPERATIONS
    if not row.writes and row.media != ENDLESS
}
