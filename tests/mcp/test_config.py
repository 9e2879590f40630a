"""What a gateway is told: names, routes, limits and mistakes in them; and the policy to start from."""

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from beliefd.cli.main import main
from beliefd.kernel.errors import BeliefdError
from beliefd.mcp.config import GatewayConfig, Limits, checked, name_of, of_command, read_config
from beliefd.mcp.process import Budget, Lines, child_environment
from beliefd.mcp.routes import table_of
from beliefd.mcp.starting_policy import starting_policy
from beliefd.policy.files import parse_policy
from beliefd.protocol.wire import convert
from tests.mcp.support import Place


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("npx", "-y", "@modelcontextprotocol/server-filesystem", "/data"), "server-filesystem"),
        (("npx", "-y", "@modelcontextprotocol/server-everything@2026.1"), "server-everything"),
        (("uvx", "mcp-server-git"), "mcp-server-git"),
        (("python", "-m", "mcp_server_time"), "mcp_server_time"),
        (("/usr/bin/python3.11", "/srv/tools/Mail.py"), "mail"),
        (("/srv/tools/mail.py", "--fast"), "mail"),
        (("node", "/srv/node_modules/@acme/server-files/dist/index.js", "/data"), "server-files"),
        (("python", "/srv/mail/src/server.py"), "mail"),
        (("node", "/index.js"), "index"),
        (("https://tools.example.com/mcp",), "tools-example-com"),
        (("npx",), "gateway"),
    ],
)
def test_a_gateway_is_named_after_what_it_starts(command: tuple[str, ...], name: str) -> None:
    assert name_of(command) == name
    assert of_command(command).upstreams.keys() == {name}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"upstreams": {}}, "length >= 1"),
        ({"upstreams": {"a": {}}}, "needs a `command` or a `url`"),
        ({"upstreams": {"a": {"command": ["x"], "url": "http://x"}}}, "and not both"),
        ({"upstreams": {"a": {"url": "file:///etc"}}}, "begins neither"),
        ({"upstreams": {"a": {"command": ["x"], "sampling": True}}}, "unknown field"),
        ({"upstreams": {"A b": {"command": ["x"]}}}, "A b|pattern|regex|expected"),
        ({"upstreams": {"a": {"command": ["x"]}}, "hold_seconds": -1}, ">= 0"),
        (
            {
                "upstreams": {
                    "a": {"command": ["x"], "tools": {"read": "read"}},
                    "b": {"command": ["x"], "tools": {"read": "fetch"}},
                }
            },
            "`read` is routed to `a` and to `b`",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(value: Any, words: str) -> None:
    with pytest.raises(BeliefdError, match=words):
        checked(convert(value, GatewayConfig))


def test_everything_is_closed_or_off_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text("upstreams:\n  files: {command: [npx, server-filesystem]}\n")
    config = read_config(path)
    assert (config.resources, config.prompts, config.sampling) == (False,) * 3
    assert (config.roots, config.hold_seconds, config.limits) == ((), 0, Limits())


def test_a_child_gets_what_is_named() -> None:
    environment = {
        "PATH": "/bin",
        "HOME": "/root",
        "AWS_SECRET_ACCESS_KEY": "x",
        "GITHUB_TOKEN": "y",
        "DB": "z",
    }
    assert child_environment(("DB", "ABSENT"), environment) == {"PATH": "/bin", "HOME": "/root", "DB": "z"}


@given(st.lists(st.binary(max_size=300).filter(lambda line: b"\n" not in line)), st.integers(1, 50))
def test_lines_come_out_as_they_went_in_however_they_are_cut(lines: list[bytes], size: int) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cut = Lines(300)
    found = [line for at in range(0, len(stream), size) for line in cut.fed(stream[at : at + size])]
    assert found == lines


@pytest.mark.parametrize("size", [1, 7, 1000, 100_000])
@pytest.mark.parametrize("id_last", [False, True])
def test_of_a_line_that_is_too_long_an_error_is_left_under_its_id(size: int, id_last: bool) -> None:
    text = b"x" * 5000
    whole = b'{"jsonrpc": "2.0", "id": 17, "result": {"id": 4, "t": "' + text + b'"}}'
    if id_last:
        whole = b'{"result":{"t":"' + text + b'","x":{"id":4}},"jsonrpc":"2.0","id":17}'
    stream = whole + b'\n{"after":1}\n'
    cut = Lines(1000)
    found = [line for at in range(0, len(stream), size) for line in cut.fed(stream[at : at + size])]
    assert found[0].startswith(b'{"jsonrpc":"2.0","id":17,"error":')
    assert found[1] == b'{"after":1}'


def test_a_line_that_hides_its_id_leaves_nothing() -> None:
    cut = Lines(100)
    (found,) = cut.fed(b'{"result":{"id":5,"t":"' + b"x" * 500 + b'"}}\n')
    assert found == b""


def test_a_budget_allows_so_many_per_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("beliefd.mcp.process.time.monotonic", lambda: now[0])
    budget = Budget(3)
    assert [budget.allows() for _ in range(5)] == [True, True, True, False, False]
    now[0] += 1
    assert budget.allows()


def tool(name: str, **hints: Any) -> types.Tool:
    annotations = types.ToolAnnotations(**hints) if hints else None
    return types.Tool(
        name=name, description="does: # it", input_schema={"type": "object"}, annotations=annotations
    )


def config(*names: str, **tables: dict[str, str]) -> GatewayConfig:
    told: dict[str, Any] = {name: {"command": ["x"]} for name in names}
    told |= {name: {"command": ["x"], "tools": table} for name, table in tables.items()}
    return convert({"upstreams": told}, GatewayConfig)


def test_of_names_that_can_be_taken_for_each_other_none_is_routed() -> None:
    tables = {"a": {"read": "read", "one": "one"}, "b": {"READ": "READ", "two": "two"}}
    listed = {upstream: [tool(name) for name in names] for upstream, names in tables.items()}
    table = table_of(listed, config(**tables))
    assert table.routes.keys() == {"one", "two"}
    assert "`a` (`read`) and `b` (`READ`)" in table.problems[0]


def test_of_several_upstreams_one_without_a_table_has_no_routes_and_is_told_what_to_write() -> None:
    table = table_of(
        {"a": [tool("read")], "b": [tool("put"), tool("x\u200b")]}, config("b", a={"see": "read"})
    )
    assert table.routes.keys() == {"see"}
    assert table.problems == (
        '`$.upstreams.b` needs `tools` beside other upstreams; for all its own: `tools: {"put": "put"}`',
    )


@pytest.mark.parametrize("name", ["reаd", "ｒｅａｄ", "read\u200b", "read\n", "re ad", "", "x" * 129])
def test_names_that_are_not_plain_are_not_routed(name: str) -> None:
    table = table_of({"a": [tool(name)]}, config("a"))
    assert not table.routes
    assert table.problems


def test_a_definition_that_cannot_be_kept_is_left_out_and_the_others_are_shown() -> None:
    deep: dict[str, Any] = {"type": "object"}
    for _ in range(100):
        deep = {"type": "object", "properties": {"a": deep}}
    odd = types.Tool(name="odd", description="x", input_schema=deep)
    long = types.Tool(name="long", description="x" * 200_000, input_schema={"type": "object"})
    table = table_of({"a": [odd, long, tool("good")]}, config("a"))
    assert table.routes.keys() == {"good"}
    assert len(table.problems) == 2


def test_the_policy_to_start_from_is_one_allows_nothing_and_takes_tiers_from_annotations() -> None:
    tools = [
        tool("read", read_only_hint=True),
        tool("put", destructive_hint=False),
        tool("drop", destructive_hint=True),
        tool("send_email", read_only_hint=True),
        tool("says: nothing"),
        tool('"quoted'),
    ]
    table = table_of({"a": [one for one in tools if " " not in one.name]}, config("a"))
    policy = parse_policy(starting_policy(table.routes.values()).encode())
    tiers = {name: definition.tier for name, definition in policy.tools.items()}
    assert tiers == {
        "read": "READ_ONLY",
        "put": "WRITE_LIMITED",
        "drop": "DELETE",
        "send_email": "MODIFY",
        '"quoted': "MODIFY",
    }
    assert not policy.constraints
    opened = (
        starting_policy(table.routes.values()).replace("constraints: {}", "constraints:").replace("#  ", "  ")
    )
    assert len(parse_policy(opened.encode()).constraints) == 9


def test_the_command_writes_it_and_writes_over_nothing(place: Place) -> None:
    out = place.folder / "policy.yaml"
    command = ["mcp", "policy-init", "--out", str(out), "--", *place.upstream]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert parse_policy(out.read_bytes()).tools["echo"].tier == "READ_ONLY"
    again = CliRunner().invoke(main, command)
    assert again.exit_code == 2
    assert "is there already" in again.output
    missing = CliRunner().invoke(main, ["mcp", "policy-init", "--", "/no/such/command"])
    assert "there is no such command" in missing.output


@pytest.mark.parametrize(
    ("given", "variable", "tokens"),
    [
        ((), "", ()),
        ((), "ann", ("ann",)),
        ((), "ann ben", ("ann", "ben")),
        (("ann", "ben"), "x", ("ann", "ben")),
    ],
)
def test_each_user_of_a_gateway_over_http_can_have_a_token(
    given: tuple[str, ...], variable: str, tokens: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    served: list[Any] = []
    monkeypatch.setattr("beliefd.cli.gateways.serve_gateway", lambda *told: served.append(told[3]))
    options = [word for token in given for word in ("--http-token", token)]
    command = ["mcp", "gateway", "--http", "0", *options, "--", "x"]
    assert CliRunner().invoke(main, command, env={"BELIEFD_MCP_TOKEN": variable}).exit_code == 0
    assert served == [tokens]
