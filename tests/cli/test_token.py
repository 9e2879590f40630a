"""`beliefd token` on a machine whose commands go to a server elsewhere, and tokens asked for wrongly."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from beliefd.cli.main import main
from beliefd.cli.output import Exit
from beliefd.client import Client
from beliefd.kernel.errors import BeliefdError, Code

COMMANDS = {
    "create": ["create", "--name", "a", "--role", "agent"],
    "list": ["list"],
    "revoke": ["revoke", "x"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_where_commands_go_to_a_server_no_store_is_made_or_meant_here(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner(env={"BELIEFD_URL": "http://beliefs.example:8642", "BELIEFD_DATA": None})
    result = runner.invoke(main, ["token", *COMMANDS[name]])
    assert result.exit_code == Exit.BAD_INPUT
    assert "`http://beliefs.example:8642`" in result.output
    assert "`--data` or `--store`" in result.output
    assert os.listdir(tmp_path) == []
    made = runner.invoke(main, ["token", *COMMANDS["create"], "--data", "here"])
    assert made.exit_code == 0
    assert os.listdir(tmp_path) == ["here"]


@pytest.mark.parametrize("spaces", ["default=read", {"default": "read"}, ["default"]])
def test_rights_that_are_no_lists_are_an_error_that_says_so(spaces: object) -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(BeliefdError) as refused:
        client.create_token("a", "agent", spaces=spaces)  # type: ignore[arg-type]
    assert refused.value.code is Code.INVALID_REQUEST
    assert refused.value.details == {"path": "$.spaces"}
    assert '{"default": ["read"]}' in refused.value.message
