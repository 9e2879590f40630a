"""`beliefd token` on a machine whose commands go to a server elsewhere, and tokens asked for wrongly."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from beliefd.cli.main import main
from beliefd.cli.output import Exit
from beliefd.client import Client
from beliefd.kernel.errors import BeliefdError, Code
from tests.cli.runner import answer, beliefd

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


def test_a_part_of_an_id_revokes_the_one_token_that_has_it(tmp_path: Path) -> None:
    def tokens() -> dict[str, bool]:
        listed = answer("token", "list", "--data", tmp_path)["tokens"]
        return {one["token_id"]: one["revoked_at"] is not None for one in listed}

    for name in ("ann", "bob"):
        made = beliefd("token", "create", "--name", name, "--role", "agent", "--data", tmp_path)
        assert made.exit_code == 0
    first, second = tokens()
    for several in ("", "-", first[:3]):
        assert beliefd("token", "revoke", several, "--data", tmp_path).exit_code == Exit.BAD_INPUT
    assert tokens() == {first: False, second: False}
    assert answer("token", "revoke", first[-8:], "--data", tmp_path) == {"revoked": first}
    assert tokens() == {first: True, second: False}


@pytest.mark.parametrize("spaces", ["default=read", {"default": "read"}, ["default"]])
def test_rights_that_are_no_lists_are_an_error_that_says_so(spaces: object) -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(BeliefdError) as refused:
        client.create_token("a", "agent", spaces=spaces)  # type: ignore[arg-type]
    assert refused.value.code is Code.INVALID_REQUEST
    assert refused.value.details == {"path": "$.spaces"}
    assert '{"default": ["read"]}' in refused.value.message
