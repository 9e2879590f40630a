"""Exports: what cannot be read as one is refused with its line, before anything in it is believed."""

import json
from typing import Any

import pytest

from beliefd.kernel.canonical import digest
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.transfer import BadExport, read_export
from beliefd.testing.world import World
from tests.conformance.node import verify_with_node
from tests.ledger.ledgers import exported, joined, parts, relinked

EXPORT = exported()
LINES = EXPORT.splitlines()
HEADER, ENTRIES = parts(EXPORT)


def with_line(number: int, line: bytes) -> bytes:
    return b"\n".join([*LINES[: number - 1], line, *LINES[number:]]) + b"\n"


UNREADABLE = {
    "not JSON": b"{",
    "cut in the middle": LINES[2][: len(LINES[2]) // 2],
    "a key twice": LINES[2].replace(b'"seq":2', b'"seq":2,"seq":2'),
    "NaN": LINES[2].replace(b"0.42", b"NaN"),
    "an integer past 2^53": LINES[2].replace(b"0.42", b"9007199254740993"),
    "a number that would read back as one": LINES[2].replace(b"0.42", b"1e20"),
    "a lone surrogate": LINES[2].replace(b"disk_full", rb"\ud800"),
    "not UTF-8": LINES[2].replace(b"disk_full", b"\xff\xfe"),
    "two objects": LINES[2] + LINES[2],
    "too deep": LINES[2].replace(b"0.42", b"[" * 80 + b"]" * 80),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_line_that_is_not_strict_json_is_named_by_its_number(name: str) -> None:
    export = with_line(3, UNREADABLE[name])
    with pytest.raises(BadExport) as caught:
        read_export(export.splitlines())
    assert caught.value.line == 3
    verdict = verify_with_node(export)
    assert verdict.code == 5
    assert verdict.text.startswith("bad line 3: ")


@pytest.mark.parametrize(
    "line", [b"[]", b'"x"', b"1", b"{}", b'{"hash":"x"}', b'{"hash":1,"seq":2,"event_id":"e"}']
)
def test_a_line_that_is_no_entry_is_named_by_its_number(line: bytes) -> None:
    with pytest.raises(BadExport) as caught:
        read_export(with_line(5, line).splitlines())
    assert caught.value.line == 5
    assert verify_with_node(with_line(5, line)).code == 5


def changed(**fields: Any) -> bytes:
    return json.dumps({**HEADER, **fields}).encode()


HEADERS = {
    "another format": changed(format="other/1"),
    "another protocol": changed(protocol="belief/2"),
    "no head": json.dumps({name: value for name, value in HEADER.items() if name != "head"}).encode(),
    "head of another shape": changed(head=7),
    "policies of another shape": changed(policies=[]),
    "an entry instead": LINES[1],
    "not an object": b"[]",
}


@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_is_none_is_named_as_line_one(name: str) -> None:
    export = with_line(1, HEADERS[name])
    with pytest.raises(BadExport) as caught:
        read_export(export.splitlines())
    assert caught.value.line == 1
    verdict = verify_with_node(export)
    assert verdict.code == 5
    assert verdict.text.startswith("bad line 1: ")


@pytest.mark.parametrize("export", [b"", b"\n\n", b"  \n"])
def test_an_empty_file_says_so(export: bytes) -> None:
    with pytest.raises(BadExport, match="line 1: the file is empty"):
        read_export(export.splitlines())
    assert verify_with_node(export).text.endswith("the file is empty")


def test_lines_are_counted_as_an_editor_counts_them() -> None:
    """Blank lines are passed over but count."""
    export = b"\n\n".join([*LINES[:3], b"{"])
    with pytest.raises(BadExport) as caught:
        read_export(export.splitlines())
    assert caught.value.line == 7
    assert verify_with_node(export).text.startswith("bad line 7: ")


def test_a_bad_export_is_refused_by_import_and_merge_with_its_line() -> None:
    with World() as world:
        here = world.import_ledger(EXPORT).session_id
        before = world.query_belief(here)
        for refuse in (world.import_ledger, lambda data: world.merge(here, data)):
            with pytest.raises(BeliefdError) as caught:
                refuse(with_line(4, b"{"))
            assert caught.value.code is Code.INVALID_REQUEST
            assert caught.value.details == {"path": "line 4"}
        assert world.query_belief(here) == before


def test_a_ledger_that_is_here_already_is_a_conflict_and_changes_nothing() -> None:
    with World() as world:
        session_id = world.import_ledger(EXPORT).session_id
        with pytest.raises(BeliefdError) as caught:
            world.import_ledger(EXPORT)
        assert caught.value.code is Code.CONFLICT
        assert world.export(session_id) == EXPORT


def test_a_policy_of_the_time_keeps_its_hash_when_policies_grow() -> None:
    """A document is hashed as it was written: leaving out what has a default is another document."""
    header, entries = parts(EXPORT)
    short = {"v": 1}
    renamed = [{**entry, "policy_hash": digest(short)} for entry in entries]
    export = joined(*relinked({**header, "policies": {digest(short): short}}, renamed, 1))
    with World() as world:
        session_id = world.import_ledger(export).session_id
        assert world.export(session_id) == export_as_written(export)
        assert world.verify(session_id).ok
    assert verify_with_node(export).code == 0


def export_as_written(export: bytes) -> bytes:
    """The same ledger with `hash` first in each entry, as beliefd writes its lines."""
    header, *entries = export.splitlines(keepends=True)
    read = read_export(export.splitlines())
    assert len(entries) == len(read.entries)
    return header + b"".join(entry.wire + b"\n" for entry in read.entries)
