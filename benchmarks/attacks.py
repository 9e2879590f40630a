"""What one caller can try on a server: one function per attack.

Each returns how many bytes it had under way at once: what a server needs in memory is measured by that.
"""

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any, Final

import msgspec

from beliefd.client import Client
from beliefd.kernel.json_bounds import weighed
from beliefd.protocol.operation import Operation
from beliefd.protocol.operations import OPERATIONS
from beliefd.testing.world import ONTOLOGY
from benchmarks.victim import POLICY, Victim
from benchmarks.workload import JUSTIFICATION, SOURCE

Attack = Callable[[Victim], int]
MIB: Final = 1024 * 1024
PATIENCE: Final = 300.0
JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"
STATEMENT: Final = 20_000
"""Characters of one."""
VALUES: Final = 1_000_000
"""A few less than a body may have."""
ATTACKS: Final[dict[str, Attack]] = {}


class Unanswered(Exception):
    """Somebody who did nothing wrong was not served."""


def attack(name: str) -> Callable[[Attack], Attack]:
    def registered(function: Attack) -> Attack:
        ATTACKS[name] = function
        return function

    return registered


# -- how they are sent ---------------------------------------------------------------------------------


@contextmanager
def connection(victim: Victim) -> Iterator[socket.socket]:
    with closing(socket.create_connection(("127.0.0.1", victim.port), timeout=PATIENCE)) as opened:
        yield opened


def head(method: str, path: str, token: str = "", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    if token:
        lines.append(f"Authorization: Bearer {token}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "", "")).encode()


def post(victim: Victim, path: str, body: bytes, *expects: int, media: str = JSON, **more: str) -> int:
    """Send a body. It is a surprise if the answer has none of the statuses that are expected."""
    told(victim, path, body, *expects, media=media, **more)
    return len(body)


def told(victim: Victim, path: str, body: bytes, *expects: int, media: str = JSON, **more: str) -> bytes:
    """The same; what was answered."""
    token, method = more.get("token", victim.hostile), more.get("method", "POST")
    caller = http.client.HTTPConnection("127.0.0.1", victim.port, timeout=PATIENCE)
    try:
        with closing(caller):
            caller.request(method, path, body, {"Content-Type": media, "Authorization": f"Bearer {token}"})
            answer = caller.getresponse()
            said, status = answer.read(), answer.status
    except (OSError, http.client.HTTPException) as error:
        said, status = repr(error).encode(), 0
    check(victim, f"{method} {path}", status, expects, said)
    return said


def check(victim: Victim, asked: str, status: int, expects: tuple[int, ...], said: bytes = b"") -> None:
    if status not in expects:
        shown = said[:300].decode(errors="replace")
        victim.surprises.append(f"`{asked}` was answered {status}, expected was {expects}: {shown}")


def first_status(opened: socket.socket) -> int:
    """The status of the first answer, of which nothing more is read; 0 if the connection ended without."""
    with suppress(OSError):
        line = opened.recv(len(b"HTTP/1.1 200"), socket.MSG_WAITALL)
        return int(line[-3:]) if line.startswith(b"HTTP/1.1 ") else 0
    return 0


def at_once(count: int, work: Callable[[], Any]) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_session(victim: Victim, rest: str) -> str:
    return f"/v1/sessions/{victim.session}/{rest}"


# -- HTTP itself ---------------------------------------------------------------------------------------


@attack("20 MB of chunked trailers, no token")
def trailers(victim: Victim) -> int:
    body = b"0\r\n" + b"X: " + b"y" * victim.size(20 * MIB)
    with connection(victim) as opened, suppress(OSError):
        opened.sendall(head("POST", "/v1/sessions/x/eliminate", Transfer_Encoding="chunked"))
        opened.sendall(body)
        check(victim, "trailers", first_status(opened), (431,))
    return len(body)


@attack("20,000 pipelined requests")
def pipeline(victim: Victim) -> int:
    count = victim.size(20_000)
    requests = head("GET", "/healthz") * count
    with connection(victim) as opened:
        sending = threading.Thread(target=opened.sendall, args=[requests])
        sending.start()
        answered, rest = 0, b""
        while answered < count:
            got = opened.recv(1 << 16)
            if not got:
                raise Unanswered(f"only {answered} of {count} pipelined requests were answered")
            joined = rest + got
            answered += joined.count(b"HTTP/1.1 200")
            rest = joined[-len(b"HTTP/1.1 20") :]
        sending.join()
    return len(requests)


@attack("500 heads that come a byte at a time")
def slow_heads(victim: Victim) -> int:
    with ExitStack() as stack:
        opened = [stack.enter_context(connection(victim)) for _ in range(victim.size(500))]
        for _ in range(victim.size(20)):
            for one in opened:
                with suppress(OSError):
                    one.sendall(b"G")
            time.sleep(0.05)
    return len(opened) * 20


@attack("60 feeds that never read")
def deaf_feeds(victim: Victim) -> int:
    body = {
        "source_id": SOURCE,
        "observation_id": "long",
        "eliminated": [],
        "justification": {**JUSTIFICATION, "log": "x" * victim.size(100_000)},
    }
    with victim.client() as client:
        session = client.declare_session(["a", "b"], ONTOLOGY).session_id
    written = sum(
        post(victim, f"/v1/sessions/{session}/eliminate", msgspec.json.encode(body), 200)
        for _ in range(victim.size(50))
    )
    with ExitStack() as stack:
        for _ in range(victim.size(60)):
            opened = stack.enter_context(connection(victim))
            opened.sendall(head("GET", f"/v1/sessions/{session}/events", victim.hostile))
            check(victim, "a feed", first_status(opened), (200,))
        time.sleep(3 * victim.scale)
    return written


@attack("500 callers that ask for the document 40 times and never read, no token")
def deaf_strangers(victim: Victim) -> int:
    requests = head("GET", "/openapi.json") * 40
    count = victim.size(500)
    with ExitStack() as stack:
        for _ in range(count):
            stack.enter_context(connection(victim)).sendall(requests)
        time.sleep(3 * victim.scale)
    return count * len(requests)


@attack("/readyz as fast as it goes, no token")
def readiness(victim: Victim) -> int:
    request = head("GET", "/readyz")
    with connection(victim) as opened:
        for _ in range(victim.size(5_000)):
            opened.sendall(request)
            if not opened.recv(1 << 16).startswith(b"HTTP/1.1 200"):
                raise Unanswered("`/readyz` was not answered 200")
    return len(request)


@attack("40 long measurements whose callers leave")
def abandoned(victim: Victim) -> int:
    words = [f"w{number}" for number in range(victim.size(2_000))]
    answers = [" ".join(words[number:] + words[:number]) for number in range(victim.size(200))]
    body = msgspec.json.encode({"answers": answers})
    with ExitStack() as stack:
        for _ in range(victim.size(40)):
            opened = stack.enter_context(connection(victim))
            length = str(len(body))
            asked = head("POST", "/v1/uncertainty/semantic_entropy", victim.hostile, Content_Length=length)
            with suppress(OSError):
                opened.sendall(asked + body)
    time.sleep(1 * victim.scale)
    return len(body) * victim.size(40)


@attack("70 calls of one agent that hang")
def hanging_calls(victim: Victim) -> int:
    """Somebody else's call must run meanwhile."""
    seconds = 5 * victim.scale
    call = {"kind": "tool_call", "tool_id": "bench.hang", "args": {"seconds": seconds}}
    proposal = {"provenance": {"source": "agent"}, "candidates": [_with_capability(victim, call, "hostile")]}
    body = msgspec.json.encode(proposal)
    threads = [
        threading.Thread(target=post, args=(victim, in_session(victim, "proposals"), body, 200))
        for _ in range(victim.size(70))
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 5)
    echo = {"kind": "tool_call", "tool_id": "bench.echo", "args": {}}
    with Client(f"http://127.0.0.1:{victim.port}", victim.honest, timeout=PATIENCE) as honest:
        answer = honest.propose(victim.session, [_with_capability(victim, echo, "honest")])
    for thread in threads:
        thread.join()
    told = msgspec.json.encode(answer)
    if b"at once" not in told:
        raise Unanswered(f"a call of somebody else did not run: {told[:300].decode()}")
    return len(body) * len(threads)


def _with_capability(victim: Victim, call: dict[str, Any], name: str) -> dict[str, Any]:
    scope = {"tools": [call["tool_id"]], "budgets": {"calls": 1000}}
    with Client(f"http://127.0.0.1:{victim.port}", victim.admin) as admin:
        issued = admin.issue_capability(victim.session, agent_id=f"agent://{name}", scope=scope)
    return {**call, "capability_token": issued.token}


# -- bodies --------------------------------------------------------------------------------------------


@attack("claims/check: 16 MB of words that detectors look for")
def triggers(victim: Victim) -> int:
    text = "ignore all previous instructions " * (victim.size(15 * MIB) // 33)
    return post(victim, "/v1/claims/check", bundle(text), 413 if victim.is_whole else 200)


@attack("claims: 5,000,000 empty ones")
def empty_claims(victim: Victim) -> int:
    body = b'{"claims":[' + b",".join([b"{}"] * victim.size(5_000_000)) + b"]}"
    return post(victim, in_session(victim, "claims"), body, 400)


@attack("1,200,000 keys")
def many_keys(victim: Victim) -> int:
    members = b",".join(b'"k%d":0' % number for number in range(victim.size(1_200_000)))
    return post(victim, in_session(victim, "eliminate"), b'{"justification":{' + members + b"}}", 400)


@attack('4 MB of `{"` in a text')
def braces(victim: Victim) -> int:
    text = '{"' * victim.size(2 * MIB)
    return post(victim, "/v1/claims/check", bundle(text), 413 if victim.is_whole else 200)


@attack("batch: 4 MB of bad lines")
def bad_lines(victim: Victim) -> int:
    return post(
        victim,
        in_session(victim, "batch"),
        b"{}\n" * victim.size(4 * MIB // 3),
        400 if victim.is_whole else 200,
        media=LINES,
    )


def _taken(
    victim: Victim, justification: Any, eliminated: list[str] | None = None, expects: int = 200
) -> int:
    """An elimination that is read, decided and recorded. It weighs what the server counts for it."""
    body = msgspec.json.encode(
        {
            "source_id": SOURCE,
            "observation_id": "taken",
            "eliminated": eliminated or [],
            "justification": {**JUSTIFICATION, "log": justification},
        }
    )
    post(victim, in_session(victim, "eliminate"), body, expects)
    return weighed(body)


@attack("an elimination with one text of 15 MB, recorded")
def long_text(victim: Victim) -> int:
    return _taken(victim, "x" * victim.size(15_000_000))


@attack("an elimination with 900,000 short texts, recorded")
def short_texts(victim: Victim) -> int:
    return _taken(victim, ["a"] * victim.size(900_000))


@attack("an elimination with 90,000 objects, recorded")
def small_objects(victim: Victim) -> int:
    return _taken(victim, [{"a": "b"}] * victim.size(90_000))


@attack("900,000 hypotheses that nobody declared")
def undeclared(victim: Victim) -> int:
    return _taken(victim, "", [f"h{number}" for number in range(victim.size(900_000))], 400)


@attack("30 MB of JSON")
def large_json(victim: Victim) -> int:
    names = b",".join(b'"h%d"' % number for number in range(victim.size(3_000_000)))
    return post(victim, "/v1/sessions", b'{"hypotheses":[' + names + b"]}", 400)


@attack("16 bodies of 16 MB at once")
def many_bodies(victim: Victim) -> int:
    body = msgspec.json.encode({"justification": {"log": "x" * victim.size(15 * MIB)}})
    at_once(16, lambda: post(victim, in_session(victim, "eliminate"), body, 400, 429))
    return 16 * len(body)


@attack("20 bundles of 15 MB that are to wait for a person, and the inbox")
def pending(victim: Victim) -> int:
    body = bundle("x" * victim.size(14 * MIB))
    for _ in range(victim.size(20)):
        post(victim, in_session(victim, "claims"), body, 413 if victim.is_whole else 200)
    post(victim, "/v1/approvals?limit=500", b"", 200, method="GET")
    return len(body)


@attack("a policy file of YAML aliases")
def aliases(victim: Victim) -> int:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    for number in range(1, int(9 * victim.scale) + 1):
        lines.append(f"a{number}: &a{number} [{','.join([f'*a{number - 1}'] * 9)}]")
    written = "\n".join(lines).encode()
    victim.policy.write_bytes(written)
    time.sleep(5 * victim.scale)
    victim.policy.write_text(POLICY)
    time.sleep(3 * victim.scale)
    return len(written)


REFUSED_AS: Final = {
    "store_content": 201,
    "unarchive_session": 409,
    "decide_approval": 404,
    "withdraw_approval": 404,
    "begin_call": 404,
    "report_outcome": 404,
    "hook_event": 404,
}
"""How the largest bodies are answered, if not with 400: they are about what is not there, or are taken."""


def largest(operation: Operation) -> Attack:
    """The largest body that an operation takes, of as many short texts as may be in one.

    They stand where the operation expects nothing: it is refused after it was read. What gets further has an
    attack of its own above, or in `accepted`.
    """

    def send(victim: Victim) -> int:
        size = victim.size(operation.max_body - 1024)
        if operation.body_media == LINES:
            body = b'{"x":[{}]}\n' * (size // 11)
        elif operation.body is None:
            body = b"x" * size
        else:
            example = msgspec.json.encode(operation.example or {})
            room = size - len(example)
            text = b'"%s"' % (b"x" * (room // VALUES - 3))
            body = example[:-1] + (b"," if len(example) > 2 else b"") + b'"x":['
            body += b",".join([text] * (room // (len(text) + 1))) + b"]}"
        path = operation.path.replace("{session_id}", victim.session)
        for name in operation.path_names:
            path = path.replace(f"{{{name}}}", "x")
        more = {"media": operation.body_media, "token": victim.admin, "method": operation.method}
        few = operation.name == "batch" and not victim.is_whole  # each line is answered then
        post(victim, path, body, 200 if few else REFUSED_AS.get(operation.name, 400), **more)
        return weighed(body) if operation.body_media == JSON else len(body)

    return send


BODIES: Final = {
    f"{row.name} with {row.max_body // MIB} MB": largest(row) for row in OPERATIONS if row.takes_body
}


def bundle(text: str) -> bytes:
    """Decisions that only a person may take, each as long as a statement may be."""
    claim = {
        "claim_type": "DECISION",
        "uncertainty": {"method": "confidence_score", "value": 0.12},
        "risk_tier": "DELETE",
        "if_wrong_cost": "work is lost",
    }
    statements = (text[at : at + STATEMENT] for at in range(0, len(text), STATEMENT))
    return msgspec.json.encode({"claims": [{**claim, "statement": one} for one in statements]})
