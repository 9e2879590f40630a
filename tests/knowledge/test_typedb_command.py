"""The TypeDB adapter from outside: addresses, servers that are not there, and the command that exports."""

import asyncio
import json
import socket
import sys
from pathlib import Path

import pytest

from beliefd.knowledge import typedb
from beliefd.knowledge.typedb import Address, GraphUnavailable, TypeDBGraph, parse_address
from beliefd.stores.base import Store
from beliefd.stores.sqlite import SqliteStore
from tests.cli.runner import beliefd
from tests.knowledge.fake_typedb import FakeDriver
from tests.knowledge.story import supported
from tests.knowledge.test_typedb import copy_in, exported

# -- connecting ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("typedb://host/beliefs", Address("host:1729", "beliefs", "admin", None, True)),
        ("typedb://eve:p%40ss@host:99/b?tls=off", Address("host:99", "b", "eve", "p@ss", False)),
        ("typedb://[::1]/b", Address("[::1]:1729", "b", "admin", None, True)),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["host", "http://host/b", "typedb://host", "typedb:///b", "typedb://h/a/b", "typedb://h/b?tls=no",
             "typedb://h/b?x=1", "typedb://u:secret@/b"]
)  # fmt: skip
def test_what_is_no_address_is_refused_without_showing_a_password(text: str) -> None:
    with pytest.raises(ValueError, match=r"no address|not understood") as caught:
        parse_address(text)
    assert "secret" not in str(caught.value)


def test_a_server_that_is_not_there_is_told_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody answers here
        host = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(GraphUnavailable) as caught:
            TypeDBGraph.open(Address(host, "b", "admin", None, False), "password")
    assert host in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "typedb.driver", None)
    with pytest.raises(GraphUnavailable, match=r"pip install 'beliefd\[typedb\]'"):
        TypeDBGraph.open(Address("h:1", "b", "admin", None, False), "password")


# -- the command -----------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> str:
    async def run() -> None:
        store: Store = await SqliteStore.open(tmp_path / "beliefd.db")
        await supported("a", 1).write(store)
        await store.close()

    asyncio.run(run())
    return str(tmp_path)


def test_the_command_exports_and_says_how_much(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver()
    monkeypatch.setattr(typedb.TypeDBGraph, "open", lambda address, password: copy_in(driver))
    asked = ("knowledge", "export", "--to", "typedb://h/b", "--password", "x", "--data", data)
    events = len(supported("a", 1).entries)
    assert beliefd(*asked).stdout == f"1 ledgers looked at, {events} new events exported\n"
    assert json.loads(beliefd(*asked, "--json").stdout) == {
        "sessions": 1, "events": 0, "failed": {}, "broken": {}
    }  # fmt: skip
    assert not driver.open


def test_the_command_names_what_it_could_not_export(data: str, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = FakeDriver()
    exported(driver, supported("a", 9))
    monkeypatch.setattr(typedb.TypeDBGraph, "open", lambda address, password: copy_in(driver))
    asked = ("knowledge", "export", "--to", "typedb://h/b", "--password", "x", "--data", data)
    shown = beliefd(*asked)
    assert (shown.exit_code, "session a: " in shown.stderr) == (1, True)
    assert "another ledger" in shown.stderr
    assert (
        shown.stdout == "1 ledgers looked at, 0 new events exported, 1 ledgers not exported to their ends\n"
    )
    assert list(json.loads(beliefd(*asked, "--json").stdout)["failed"]) == ["a"]


def test_the_command_wants_an_address_and_a_password(data: str) -> None:
    bad = beliefd("knowledge", "export", "--to", "http://h", "--password", "x", "--data", data)
    assert (bad.exit_code, "--to" in bad.stderr) == (2, True)
    bare = beliefd("knowledge", "export", "--to", "typedb://h/b", "--data", data)
    assert (bare.exit_code, "TYPEDB_PASSWORD" in bare.stderr) == (2, True)


def test_the_command_tells_that_nobody_answers(data: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"typedb://127.0.0.1:{taken.getsockname()[1]}/b?tls=off"
        shown = beliefd("knowledge", "export", "--to", address, "--password", "x", "--data", data)
    assert shown.exit_code == 1
    assert "STORAGE_UNAVAILABLE" in shown.stderr
