"""The hook that clients start before each tool: one request to the server, and its answer word for word.

It runs once per call of a tool, so it imports the standard library only, and little of that. It can be
started as `python -S -E entry.py CLIENT`. INVARIANT: whatever goes wrong, it exits with 2 and says why:
clients run the tool when a hook fails in any other way. A result that could not be recorded is not shown to
the model: clients hide it when the hook exits with 2, and Claude Code when it is given another instead.
"""

from __future__ import annotations

import json
import os
import sys
import threading

TYPE_CHECKING = False  # importing `typing` takes longer than the rest
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NoReturn
    from urllib.parse import SplitResult

BLOCKED = 2
DEFAULT_URL = "http://127.0.0.1:8642"
DEADLINE_SECONDS = 20.0
"""Below the 30 seconds that `beliefd hook install` gives the client to wait."""
MOST_IN = 16 * 1024 * 1024
MOST_OUT = 4 * 1024 * 1024
VARIABLES = {
    "BELIEFD_GATED": "MCP servers, by commas, whose calls a gateway judges already.",
    "BELIEFD_HOOK_NOWHERE": "Find no server: `beliefd hook doctor` sets it, to see that the hook blocks.",
    "BELIEFD_HOOK_SECONDS": "How long the hook waits for its verdict; 20 by default.",
    "BELIEFD_PROJECT": "The folder of the project, if not the one that the client names.",
    "BELIEFD_SPACE": "The space that the sessions of the client begin in.",
    "BELIEFD_TOKEN_FILE": "Where the hook finds its token; by default ~/.config/beliefd/hook-token.",
}
"""What only the hook reads of its environment, for the reference."""
AFTER_TOOL_IN_CLAUDE_CODE = "PostToolUse"
KEPT = ("type", "status")
"""Members of a result that say what kind it is: another one there, and it would not be taken."""
TYPES = {"exit_code": int, "stdout": str, "stderr": str}


class Failed(Exception):
    """Why the tool must not run."""


def main(argv: list[str] | None = None) -> NoReturn:
    """Never returns, and never ends in another way than by an exit code that was chosen."""
    try:
        arguments = sys.argv[1:] if argv is None else argv
        seconds = _seconds()
        timer = threading.Timer(seconds, _end, (f"no answer within {seconds:g} seconds",))
        timer.daemon = True
        timer.start()
        if len(arguments) != 1:
            raise Failed("usage: beliefd hook CLIENT")
        body = _event()
        _came_in.append((arguments[0], body))
        code, printed, said = _answer(_asked(arguments[0], body))
        _write(1, printed)
        _write(2, said)
    except Failed as error:
        _end(str(error))
    except BaseException as error:
        _end(f"{type(error).__name__}: {error}")
    os._exit(code)  # nothing that is left to do may change how it ends


def _seconds() -> float:
    try:
        seconds = float(os.environ.get("BELIEFD_HOOK_SECONDS") or DEADLINE_SECONDS)
    except ValueError:
        return DEADLINE_SECONDS
    return min(max(seconds, 0.1), 3600.0)


_came_in: list[tuple[str, bytes]] = []
"""The client and its event, from when it was read."""


def _end(reason: str) -> NoReturn:
    code = BLOCKED
    try:
        if instead := _hidden(reason):
            _write(1, instead)
            code = 0  # with any other, it reads nothing of that
        _write(2, f"beliefd: nothing may run without a verdict: {reason}\n")
    finally:
        os._exit(code)


def _hidden(reason: str) -> str:
    """What Claude Code is told to show instead of the result of a tool that has run."""
    try:
        client, body = _came_in[0]
        event = json.loads(body)
        if client != "claude-code" or event["hook_event_name"] != AFTER_TOOL_IN_CLAUDE_CODE:
            return ""
        words = f"beliefd: the tool has run; its result could not be recorded and is not shown: {reason}"
        foreign = event["tool_name"].startswith("mcp__")  # any text will do, and its members are anybody's
        shown = words if foreign else _instead(event["tool_response"], words)
        told = {"hookEventName": AFTER_TOOL_IN_CLAUDE_CODE, "updatedToolOutput": shown}
        return json.dumps({"hookSpecificOutput": told}) + "\n"
    except (IndexError, KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return ""


def _instead(result: object, words: str) -> object:
    """A result of the same shape, which it must have, with these words in it."""
    if isinstance(result, str):
        return words
    if isinstance(result, list):
        return [_instead(one, words) for one in result]
    if not isinstance(result, dict):
        return result
    if "file" in result:  # it may be a picture
        lines = {"numLines": 1, "startLine": 1, "totalLines": 1}
        return {"type": "text", "file": {"filePath": "", "content": words, **lines}}
    told = {name: value if name in KEPT else _instead(value, words) for name, value in result.items()}
    return {**told, "isImage": False} if "isImage" in told else told


def _write(descriptor: int, text: str) -> None:
    rest = text.encode("utf-8", "replace")
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _event() -> bytes:
    parts, size = [], 0
    while True:
        part = os.read(0, 1 << 20)
        if not part:
            break
        size += len(part)
        if size > MOST_IN:
            raise Failed(f"the event is longer than {MOST_IN} bytes")
        parts.append(part)
    body = b"".join(parts)
    if not body.strip():
        raise Failed("no event came in")
    return body


def _asked(client: str, body: bytes) -> tuple[int, bytes]:
    """The answer's status and body."""
    from urllib.parse import quote, urlsplit

    if os.environ.get("BELIEFD_HOOK_NOWHERE"):
        raise Failed("it was told to find no server")  # how the doctor sees that it blocks then
    url = os.environ.get("BELIEFD_URL") or DEFAULT_URL
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Failed("BELIEFD_URL is no address of a server")
    query = "&".join(f"{name}={quote(value, safe='')}" for name, value in _told(url))
    path = f"{parts.path.rstrip('/')}/v1/hooks/{quote(client, safe='')}?{query}"
    headers = {"Host": parts.netloc.rpartition("@")[2], "Content-Type": "application/json"}
    headers |= {"Content-Length": str(len(body)), "Connection": "close"}
    if token := _token():
        headers["Authorization"] = f"Bearer {token}"
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    if any(letter in line for line in lines for letter in "\r\n\0"):
        raise Failed("a setting holds a line break")
    return _exchanged(parts, "\r\n".join(lines).encode("latin-1") + body)


def _told(url: str) -> Iterator[tuple[str, str]]:
    """What only this process knows: the project, and whether somebody sits in front of the client."""
    names = os.environ
    yield "url", url
    if (
        project := names.get("BELIEFD_PROJECT")
        or names.get("CLAUDE_PROJECT_DIR")
        or names.get("GEMINI_PROJECT_DIR")
    ):
        yield "project", project
    if names.get("BELIEFD_GATED"):
        yield "gated", names["BELIEFD_GATED"]
    if names.get("BELIEFD_SPACE"):
        yield "space", names["BELIEFD_SPACE"]
    if names.get("CLAUDE_CODE_SESSION_ATTENDED") == "0":
        yield "unattended", "yes"


def _token() -> str:
    if token := os.environ.get("BELIEFD_TOKEN"):
        return token.strip()
    path = os.environ.get("BELIEFD_TOKEN_FILE") or os.path.expanduser("~/.config/beliefd/hook-token")
    try:
        with open(path, encoding="ascii") as file:
            return file.read(4096).strip()
    except FileNotFoundError:
        return ""


def _exchanged(parts: SplitResult, request: bytes) -> tuple[int, bytes]:
    import socket

    if parts.hostname is None:
        raise Failed("BELIEFD_URL names no host")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        connection: socket.socket = socket.create_connection((parts.hostname, port))
    except OSError as error:
        address = f"{parts.scheme}://{parts.hostname}:{port}"
        raise Failed(f"no server at {address} ({error}): is `beliefd serve` running?") from None
    if parts.scheme == "https":
        import ssl

        connection = ssl.create_default_context().wrap_socket(connection, server_hostname=parts.hostname)
    with connection:
        connection.sendall(request)
        answer = bytearray()
        while part := connection.recv(1 << 16):
            answer += part
            if len(answer) > MOST_OUT:
                raise Failed("the answer is too long")
    return _taken_apart(bytes(answer))


def _taken_apart(answer: bytes) -> tuple[int, bytes]:
    head, blank, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.split(b"\r\n")
    words = first.split(b" ")
    if not blank or not words[0].startswith(b"HTTP/1.") or len(words) < 2 or not words[1].isdigit():
        raise Failed("the answer is not one of a server")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in rest)
    }
    if headers.get(b"transfer-encoding", b"").lower() == b"chunked":
        return int(words[1]), _joined(body)
    # Without a length it ends with the connection; half an object is none, so it is whole if it is one.
    length = headers.get(b"content-length", b"%d" % len(body))
    if not length.isdigit() or int(length) != len(body):
        raise Failed("the answer is not whole")
    return int(words[1]), body


def _joined(body: bytes) -> bytes:
    parts: list[bytes] = []
    while True:
        size, mark, body = body.partition(b"\r\n")
        try:
            length = int(size.partition(b";")[0], 16)
        except ValueError:
            raise Failed("the answer is not whole") from None
        if not mark or length < 0 or body[length : length + 2] != b"\r\n":
            raise Failed("the answer is not whole")
        if length == 0:
            return b"".join(parts)
        parts.append(body[:length])
        body = body[length + 2 :]


def _answer(told: tuple[int, bytes]) -> tuple[int, str, str]:
    status, body = told
    try:
        answer = json.loads(body)
    except ValueError:
        raise Failed(f"the server answered {status}, and not in JSON") from None
    if status != 200:
        error = answer.get("error", answer) if isinstance(answer, dict) else {}
        message = error.get("message", "") if isinstance(error, dict) else ""
        raise Failed(f"the server answered {status}: {str(message)[:2000]}")
    if not isinstance(answer, dict) or any(
        type(answer.get(name)) is not kind for name, kind in TYPES.items()
    ):
        raise Failed("the server's answer is not one to a hook")
    if answer["exit_code"] not in (0, BLOCKED):
        raise Failed("the server's answer has no exit code that clients know")
    if answer["exit_code"] == BLOCKED and not answer["stderr"].strip():
        raise Failed("the server refuses, and does not say why")
    return answer["exit_code"], answer["stdout"], answer["stderr"]


if __name__ == "__main__":
    main()
