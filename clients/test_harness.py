"""The harness keeps its own promises: a script in every API, ends that are ends, no silent installation."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from clients.harness import install, process
from clients.harness.model import Model
from clients.harness.process import Place
from clients.harness.script import Call, Request, Say, call_id

SCRIPT = (Call("look", {"at": 4711}), (Call("left", {}), Call("right", {})), Say("seen"))
LEAVES_A_CHILD = "import subprocess, sys; print(subprocess.Popen(['sleep', '600']).pid, flush=True)"


def chat(url: str, messages: list[dict[str, object]], **fields: object) -> httpx.Response:
    tools = [{"type": "function", "function": {"name": name}} for name in ("look", "left", "right")]
    asked = {"messages": messages, "tools": tools, **fields}
    return httpx.post(f"{url}/chat/completions", json=asked).raise_for_status()


def test_a_framework_plays_the_script_over_chat_completions(model: Model) -> None:
    with model.playing(SCRIPT) as talk:
        messages: list[dict[str, object]] = [{"role": "user", "content": "look"}]
        for names in (["look"], ["left", "right"]):
            said = chat(talk.url, messages).json()["choices"][0]["message"]
            assert [call["function"]["name"] for call in said["tool_calls"]] == names
            results = [{"role": "tool", "tool_call_id": c["id"], "content": "ok"} for c in said["tool_calls"]]
            messages += [said, *results]
        assert chat(talk.url, messages).json()["choices"][0]["message"]["content"] == "seen"
        assert chat(talk.url, messages, stream=True).text.endswith("data: [DONE]\n\n")
        assert talk.requests[-1].told[call_id(talk.id, 1, 1)].text == "ok"
        assert talk.failures == []


def test_a_defect_of_the_script_fails_the_run_instead_of_the_client(model: Model) -> None:
    def broken(_: Request) -> dict[str, object]:
        raise LookupError("the script asks for what is not there")

    with model.playing((Call("look", broken),)) as talk:
        with pytest.raises(httpx.HTTPStatusError):
            chat(talk.url, [{"role": "user", "content": "look"}])
        (failure,) = talk.failures
        assert "the script asks for what is not there" in failure


def test_conversations_do_not_see_each_other(model: Model) -> None:
    with model.playing((Say("first"),)) as first, model.playing((Say("second"),)) as second:
        for talk, words in ((first, "first"), (second, "second")):
            said = chat(talk.url, [{"role": "user", "content": "who?"}]).json()
            assert said["choices"][0]["message"]["content"] == words
        assert len(first.requests) == len(second.requests) == 1
    with pytest.raises(httpx.HTTPStatusError):
        chat(first.url, [])


def test_nothing_that_a_program_started_outlives_it(place: Place) -> None:
    ended = process.run([sys.executable, "-c", LEAVES_A_CHILD], place.environment(), place.work)
    wait_until_gone(int(ended.output))


def test_what_hangs_is_ended(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LIMIT_SECONDS", 1)
    with pytest.raises(AssertionError, match="took longer than 1 s"):
        process.run(["sleep", "600"], place.environment(), place.work)


def test_a_client_inherits_nothing_of_this_machine(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THE_MACHINE", "4711")
    ended = process.run(["/usr/bin/env"], place.environment(), place.work)
    assert {line.partition("=")[0] for line in ended.output.splitlines()} == {
        "PATH",
        "HOME",
        "LANG",
        "TMPDIR",
    }


@pytest.mark.parametrize("failures", [1, 2])
def test_an_installation_is_tried_twice_and_then_fails(
    failures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = install.PINS / "package.json"
    tries: list[Path] = []

    def fragile(folder: Path, _: Path) -> None:
        tries.append(folder)
        if len(tries) <= failures:
            raise subprocess.CalledProcessError(1, "npm")

    monkeypatch.setattr(install, "FOLDER", tmp_path)
    if failures == install.TRIES:
        with pytest.raises(subprocess.CalledProcessError):
            install.once("npm", pins, fragile)
        assert not (tmp_path / "npm" / "installed").exists()
    else:
        install.once("npm", pins, fragile)
        install.once("npm", pins, fragile)
    assert len(tries) == 2


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        if state_of(pid) == "Z":  # ended; whoever adopted it has not looked yet
            return
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    raise AssertionError(f"{pid} is still there")


def state_of(pid: int) -> str:
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return told.stdout.strip()[:1]
