"""Where our protocol class cannot be used, uvicorn's own serves: all but a few promises hold there, too."""

import ast
import inspect
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from beliefd.http import exchange, fitting, protocol
from beliefd.http.protocol_choice import FALLBACK, choose_protocol
from beliefd.kernel.errors import Code
from tests.http import test_batch, test_conditions, test_feed, test_hostile_json, test_operations
from tests.http.calls import error_of
from tests.http.raw import Connection, connected
from tests.support.server import ServerProcess, server_process

SAME = (test_batch, test_conditions, test_feed, test_hostile_json, test_operations)
"""What these modules test is tested here again, on the fixtures below."""

for _module in SAME:
    for _name, _test in vars(_module).items():
        if _name.startswith("test_") and {"http", "server"} & inspect.signature(_test).parameters.keys():
            assert _name not in globals()
            globals()[_name] = _test
victim = test_hostile_json.victim


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server in a process that cannot import httptools."""
    shadow = tmp_path_factory.mktemp("shadow")
    (shadow / "httptools.py").write_text('raise ImportError("httptools is not installed")\n')
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(shadow), prepend=os.pathsep)
            running = stack.enter_context(server_process(tmp_path_factory.mktemp("fallback")))
        yield running
        (warning,) = running.complaints
        assert (
            " warning http: httptools is not installed; serving with uvicorn's own HTTP protocol" in warning
        )


@pytest.fixture(scope="module")
def http(server: ServerProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=60, verify=False) as client:
        yield client


def assert_refused(connection: Connection) -> None:
    """Answered with a 400 and closed; h11 gives the text no length, it ends with the connection."""
    assert connection.answer(head_only=True).status == 400
    assert connection.line() == b"Invalid HTTP request received."
    assert connection.is_closed()


def test_heads_are_bounded(server: ServerProcess, http: httpx.Client) -> None:
    with connected(server) as connection:
        connection.send(b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000)
        assert http.get("/healthz").status_code == 200
        connection.send(b"a" * 70_000)
        assert_refused(connection)


def test_bodies_are_bounded(http: httpx.Client) -> None:
    error_of(http.post("/v1/sessions", content=b" " * (65 << 20)), 413, Code.PAYLOAD_TOO_LARGE)


def test_pages_of_other_sites_are_turned_away(http: httpx.Client) -> None:
    error_of(http.get("/v1/sessions", headers={"Origin": "https://evil.example"}), 403, Code.FORBIDDEN)


def test_what_is_no_request_is_refused(server: ServerProcess) -> None:
    with connected(server) as connection:
        connection.send(b"hello\r\n\r\n")
        assert_refused(connection)


# -- which of the two serves ---------------------------------------------------------------------------


def test_ours_serves_where_everything_it_needs_is_there(caplog: pytest.LogCaptureFixture) -> None:
    assert choose_protocol() is protocol.Protocol
    assert not caplog.records


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (HttpToolsProtocol, "on_response_complete"),
        (HttpToolsProtocol, "on_headers_complete"),
        (HttpToolsProtocol, "connection_made"),
        (FlowControl, "resume_reading"),
    ],
)
def test_uvicorns_own_serves_where_something_is_missing(
    owner: type, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delattr(owner, name)
    with caplog.at_level(logging.WARNING, "beliefd.http"):
        assert choose_protocol() == FALLBACK
    [record] = caplog.records
    assert "uvicorn's internals differ: " in record.getMessage()


def test_a_cycle_with_other_attributes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = RequestResponseCycle.__init__

    def renamed(self: RequestResponseCycle, *arguments: object, **options: object) -> None:
        begun(self, *arguments, **options)  # type: ignore[arg-type]
        del self.response_complete

    monkeypatch.setattr(RequestResponseCycle, "__init__", renamed)
    assert fitting.missing_internals() == ["cycle.response_complete"]


def test_all_that_is_used_of_uvicorns_class_is_looked_for() -> None:
    tree = ast.parse(Path(inspect.getfile(protocol)).read_text())
    [ours] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Protocol"]
    attributes = [ast.unparse(node) for node in ast.walk(ours) if isinstance(node, ast.Attribute)]
    used = {text.removeprefix("self.") for text in attributes if text.startswith("self.")}
    own = {node.name for node in ours.body if isinstance(node, ast.FunctionDef)} | {"wire", "brought"}
    known = {*fitting.INTERNALS, *(name.partition(".")[0] for name in fitting.INTERNALS)}
    known |= {"loop.time", "loop.call_later", "loop.call_soon", "app.verbs", "cycle.message_event.set"}
    known |= {f"transport.{name}" for name in ("write", "close", "abort", "is_closing", "get_extra_info")}
    foreign = {name for name in used if name.partition(".")[0] not in own and not name.startswith("_")}
    assert foreign <= known, foreign - known
    assert {text.removeprefix("super().") for text in attributes if text.startswith("super().")} == {
        *fitting.PASSED_ON
    }
    assert set(exchange.Exchange.__slots__) | {"message_event"} >= {
        name.removeprefix("cycle.") for name in fitting.INTERNALS if name.startswith("cycle.")
    }
