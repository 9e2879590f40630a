"""No path leads out of a root, and no spelling of an address to another host."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.substrate.capabilities import within
from beliefd.testing.world import AGENT, refused
from tests.substrate.support import ToolWorld, codes, one, tool_call


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Two folders side by side with the same beginning, and links that lead out of the first."""
    root = Path(os.path.realpath(tmp_path))
    for name in ("in", "inside", "in/deep"):
        (root / name).mkdir()
        (root / name / "file").write_text("x")
    (root / "in/out").symlink_to(root / "inside")
    (root / "in/up").symlink_to("..")
    (root / "in/etc").symlink_to("/etc/passwd")
    (root / "in/loop").symlink_to(root / "in/loop")
    (root / "in/fine").symlink_to(root / "in/deep")
    (root / "alias").symlink_to(root / "in")
    return root


OUTSIDE = {
    "a path elsewhere": "/etc/passwd",
    "dots": "{root}/in/../inside/file",
    "dots at the end": "{root}/in/..",
    "dots through what is not there": "{root}/in/nowhere/../../inside/file",
    "a name with the same beginning": "{root}/inside/file",
    "a link to a folder outside": "{root}/in/out/file",
    "a link to a file outside": "{root}/in/etc",
    "a link upwards": "{root}/in/up/inside/file",
    "a link, then dots": "{root}/in/fine/../../inside/file",
    "a relative path": "in/file",
    "a relative path with dots": "../in/file",
    "a home": "~/file",
    "an address": "file://{root}/in/file",
    "nothing": "",
    "NUL": "{root}/in/file\x00.txt",
    "a folder above": "{root}",
    "a number": 7,
    "true": True,
    "an object": {"path": "{root}/in/file"},
    "a list with one bad path": ["{root}/in/file", "{root}/inside/file"],
    "a list in a list": [["{root}/in/file"]],
}
INSIDE = {
    "a file": "{root}/in/file",
    "the root": "{root}/in",
    "a file that is not there yet": "{root}/in/new/file",
    "slashes": "{root}//in///file/",
    "dots that stay inside": "{root}/in/deep/../file",
    "a link that stays inside": "{root}/in/fine/file",
    "a link to the root": "{root}/alias/file",
    "several files": ["{root}/in/file", "{root}/in/deep/file"],
    "no file at all": [],
}


def placed(value: Any, root: Path) -> Any:
    if isinstance(value, str):
        return value.replace("{root}", str(root))
    if isinstance(value, list):
        return [placed(item, root) for item in value]
    return {name: placed(item, root) for name, item in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize("path", OUTSIDE.values(), ids=OUTSIDE.keys())
@pytest.mark.parametrize("writes", [False, True])
def test_no_path_leads_out_of_a_root(house: ToolWorld, place: Path, path: Any, writes: bool) -> None:
    session = house.session()
    token = house.token(session, fs_read_roots=[f"{place}/in"], fs_write_roots=[f"{place}/in"])
    tool, more = ("fs.write", {"text": "x"}) if writes else ("fs.read", {})
    asked = tool_call(tool, token, "k", path=placed(path, place), **more)
    answer = one(house.agent.propose(session, [asked]))
    assert answer.verdict == "deny"
    assert set(codes(answer)) == {"OUT_OF_SCOPE"}
    assert house.toolbox.count == 0
    house.check(session)


@pytest.mark.parametrize("path", INSIDE.values(), ids=INSIDE.keys())
def test_what_stays_inside_a_root_is_let_through(house: ToolWorld, place: Path, path: Any) -> None:
    session = house.session()
    token = house.token(session, fs_read_roots=[f"{place}/in"])
    answer = one(house.agent.propose(session, [tool_call("fs.read", token, path=placed(path, place))]))
    assert answer.verdict == "allow", answer.reasons


def test_reading_is_no_right_to_write_and_writing_is_one_to_read(house: ToolWorld, place: Path) -> None:
    session = house.session()
    reads = house.token(session, fs_read_roots=[f"{place}/in"])
    writes = house.token(session, fs_write_roots=[f"{place}/in"])
    path = f"{place}/in/file"
    for token, tool, verdict in (
        (reads, "fs.read", "allow"),
        (reads, "fs.write", "deny"),
        (writes, "fs.read", "allow"),
        (writes, "fs.write", "allow"),
    ):
        more = {"text": "x"} if tool == "fs.write" else {}
        asked = tool_call(tool, token, token[-8:] + tool, path=path, **more)
        assert one(house.agent.propose(session, [asked])).verdict == verdict, (tool, verdict)


def test_the_root_of_the_file_system_holds_everything_that_has_a_path(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session, fs_read_roots=["/"])
    assert (
        one(house.agent.propose(session, [tool_call("fs.read", token, path="/etc/passwd")])).verdict
        == "allow"
    )
    assert (
        one(house.agent.propose(session, [tool_call("fs.read", token, path="etc/passwd")])).verdict == "deny"
    )
    assert one(house.agent.propose(session, [tool_call("fs.read", token, path="/a\x00b")])).verdict == "deny"


def test_a_link_that_is_turned_after_the_decision_is_not_followed(house: ToolWorld, place: Path) -> None:
    """Between the decision and the run a path may come to mean something else."""
    turned = place / "in" / "turned"
    turned.symlink_to(place / "in" / "deep")

    def turn() -> str:
        turned.unlink()
        turned.symlink_to(place / "inside")
        return "turned"

    house.toolbox.add("turn", turn)
    session = house.session()
    token = house.token(session, fs_read_roots=[f"{place}/in"])
    answer = house.agent.propose(
        session, [tool_call("turn", token), tool_call("fs.read", token, path=f"{turned}/file")]
    )
    assert [result.verdict for result in answer.results] == ["allow", "deny"]
    assert (answer.results[1].status, codes(answer.results[1])) == ("stopped", ["OUT_OF_SCOPE"])
    assert [name for name, _ in house.toolbox.ran] == ["turn"]
    house.check(session)


def test_a_link_that_is_turned_within_a_root_is_not_followed_either(house: ToolWorld, place: Path) -> None:
    """What was judged, and maybe confirmed by a person, is the file that it led to then."""
    turned = place / "in" / "turned"
    turned.symlink_to(place / "in" / "deep")

    def turn() -> str:
        turned.unlink()
        turned.symlink_to(place / "in")
        return "turned"

    house.toolbox.add("turn", turn)
    session = house.session()
    token = house.token(session, fs_read_roots=[f"{place}/in"])
    answer = house.agent.propose(
        session, [tool_call("turn", token), tool_call("fs.read", token, path=f"{turned}/file")]
    )
    assert [result.verdict for result in answer.results] == ["allow", "allow"]
    assert answer.results[1].status == "error"
    assert "leads elsewhere" in answer.results[1].error
    assert [name for name, _ in house.toolbox.ran] == ["turn"]
    house.check(session)


@pytest.mark.parametrize("root", ["data", "/data/", "/data/../etc", "/data/./x", "//data", "", ".", "/a//b"])
def test_a_root_that_is_not_plainly_one_is_refused(house: ToolWorld, root: str) -> None:
    session = house.session()
    for name in ("fs_read_roots", "fs_write_roots"):
        given = {"tools": [], name: [root]}
        issue = partial(house.root.issue_capability, session, agent_id=AGENT.id, scope=given)
        refused(Code.INVALID_REQUEST, issue)


def test_within_goes_by_names_not_by_letters() -> None:
    assert within("/data", ("/data",))
    assert within("/data/x", ("/data",))
    assert not within("/database", ("/data",))
    assert not within("/dat", ("/data",))
    assert not within("", ("/",))
    assert not within("/data", ())


GOOD = [
    "https://api.example.org",
    "https://API.Example.ORG/path?x=1#y",
    "http://api.example.org:8080/",
    "api.example.org",
    "api.example.org:443",
    "api.example.org/path",
    "ftp://api.example.org/~user/@me",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]:443/",
    "[::1]:80",
    ["https://api.example.org/a", "https://api.example.org/b"],
]
BAD = [
    "https://evil.example.org",
    "https://api.example.org.evil.org",
    "https://evil.org/api.example.org",
    "https://evil.org?api.example.org",
    "https://evil.org#api.example.org",
    "https://api.example.org@evil.org/",
    "https://api.example.org:x@evil.org/",
    "https://evil.org@api.example.org/",
    "https://evil.org\\@api.example.org/",
    "https://evil.org\\.api.example.org/",
    "https://api.example.org\\@evil.org/",
    "https://api.example.org @evil.org/",
    "https://evil.org\t@api.example.org",
    "https://evil.org\n.api.example.org",
    "https://api.exam\tple.org",
    "https://api.example.org\n",
    "https://api.example.org\u3002evil.org",
    "https://\uff41pi.example.org",
    "https://\u0430pi.example.org",
    "https:///api.example.org",
    "https:api.example.org",
    "//api.example.org",
    "https://api.example.org:port/",
    "https://api.example.org:99999/",
    "https://[::2]/",
    "https://[::1",
    "https://[api.example.org]/",
    "https://[::1%25eth0]/",
    "https://",
    "",
    "@",
    "2130706433",
    "0x7f.1",
    "127.0.0.1",
    "https://api.example.org\x00.evil.org",
    7,
    {"host": "api.example.org"},
    ["https://api.example.org", "https://evil.org"],
]


@pytest.mark.parametrize("url", GOOD, ids=str)
def test_a_host_of_the_allow_list_may_be_spoken_to(house: ToolWorld, url: Any) -> None:
    session = house.session()
    token = house.token(session, net_allowlist=["Api.Example.org", "::1"])
    answer = one(house.agent.propose(session, [tool_call("net.get", token, url=url)]))
    assert answer.verdict == "allow", answer.reasons


@pytest.mark.parametrize("url", BAD, ids=repr)
def test_no_spelling_of_an_address_leads_to_another_host(house: ToolWorld, url: Any) -> None:
    session = house.session()
    token = house.token(session, net_allowlist=["api.example.org", "::1"])
    answer = one(house.agent.propose(session, [tool_call("net.get", token, url=url)]))
    assert (answer.verdict, set(codes(answer))) == ("deny", {"OUT_OF_SCOPE"})
    assert house.toolbox.count == 0


def test_all_hosts_are_all_that_can_be_read(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session, net_allowlist=["*"])
    assert (
        one(house.agent.propose(session, [tool_call("net.get", token, url="http://x.y")])).verdict == "allow"
    )
    assert (
        one(house.agent.propose(session, [tool_call("net.get", token, url="http://a\\b")])).verdict == "deny"
    )


def test_without_an_allow_list_nobody_is_spoken_to(house: ToolWorld) -> None:
    session = house.session()
    answer = one(house.agent.propose(session, [tool_call("net.get", house.token(session), url="http://x.y")]))
    assert codes(answer) == ["OUT_OF_SCOPE"]


def test_everything_out_of_scope_is_told_at_once(house: ToolWorld) -> None:
    session = house.session()
    token = house.token(session, tools=["note.read"])
    answer = one(house.agent.propose(session, [tool_call("fs.write", token, path="/x", text="t")]))
    assert codes(answer) == ["OUT_OF_SCOPE", "OUT_OF_SCOPE", "NO_IDEMPOTENCY_KEY"]
