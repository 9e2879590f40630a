"""`beliefd hook doctor` says of Codex's hooks what Codex itself does with them."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from clients.harness.agents import CODEX
from clients.harness.codex import PROGRAM as CODEX_PROGRAM
from clients.harness.guard import PROGRAM, Guard, install_hook
from clients.harness.install import node
from clients.harness.model import Model
from clients.harness.process import Place, run
from clients.harness.script import Say, Script, Shell
from clients.harness.setup import Setup

TOUCHES: Script = (Shell("echo 4711 | tee effect.txt"), Say("done"))


class Codex:
    """Its own account of its hooks: what its settings show to a person."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._asked = 0
        self.ask("initialize", {"clientInfo": {"name": "test", "version": "1"}})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._asked += 1
        asked = {"id": self._asked, "method": method, "params": params}
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        for line in self._process.stdout:
            if (told := json.loads(line)).get("id") == self._asked:
                return told["result"]
        raise AssertionError(f"Codex did not answer {method}")

    def hooks(self, place: Place) -> list[dict[str, Any]]:
        (listed,) = self.ask("hooks/list", {"cwds": [str(place.work)]})["data"]
        return list(listed["hooks"])

    def trusts(self, hooks: list[dict[str, Any]]) -> None:
        """As a person does in the terminal."""
        state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in hooks}
        edit = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
        self.ask("config/batchWrite", {"edits": [edit], "reloadUserConfig": True})


@contextmanager
def codex(place: Place) -> Iterator[Codex]:
    with subprocess.Popen(
        [node(), str(CODEX_PROGRAM), "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=place.environment(),
        cwd=place.work,
    ) as process:
        try:
            yield Codex(process)
        finally:
            process.kill()


def test_codex_runs_the_hook_from_when_the_doctor_is_content(
    model: Model, place: Place, guard: Guard
) -> None:
    environment = guard.environment(guard.hook)
    setup = Setup(environment=environment, trusted=False)

    def complaints() -> list[str]:
        told = run((*PROGRAM, "hook", "doctor", "codex"), place.environment() | environment, place.work)
        return [line for line in told.output.splitlines() if line.startswith("wrong")]

    install_hook(CODEX.name, place, environment)
    CODEX.run(model, place, "touch", TOUCHES, setup)
    assert guard.ledger().verdicts == []
    with codex(place) as asked:
        found = asked.hooks(place)
        assert {hook["trustStatus"] for hook in found} == {"untrusted"}
        wrong = complaints()
        assert ["nobody has trusted" in line for line in wrong] == [True] * len(found), wrong
        asked.trusts(found)
        assert {hook["trustStatus"] for hook in asked.hooks(place)} == {"trusted"}
    assert complaints() == []
    CODEX.run(model, place, "touch", TOUCHES, setup)
    assert guard.ledger().verdicts == ["allow"]
    install_hook(CODEX.name, place, environment)
    assert complaints() == []
    hooks = place.root / "home" / ".codex" / "hooks.json"
    hooks.write_text(hooks.read_text().replace(" || exit 2", " || exit 2 "))
    with codex(place) as asked:
        assert {hook["trustStatus"] for hook in asked.hooks(place)} == {"modified"}
    wrong = complaints()
    assert ["has changed since" in line for line in wrong] == [True] * len(found), wrong
