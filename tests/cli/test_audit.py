"""`beliefd audit`: ledgers that are read, carried, replayed, and not believed when they were touched."""

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import beliefd as library
from beliefd.cli import progress
from beliefd.client.requests import Request
from beliefd.ledger import non_interference
from beliefd.protocol.experiments import ExperimentRows
from beliefd.testing.kernel import KernelSession
from beliefd.testing.world import ONTOLOGY
from tests.cli.runner import answer, beliefd
from tests.support.server import server_process

BY = ("--source", "human://alice", "--observation", "o1")


@pytest.fixture
def worked(data: Path, session: str) -> str:
    """A session with an elimination, a refusal and a ruling in it."""
    answer("session", "eliminate", session, "a", *BY, "--data", data)
    answer("session", "eliminate", session, "zebra", *BY, "--data", data, code=4)
    answer("session", "conclude", session, "it_is:b", "--data", data)
    return session


@pytest.fixture
def exported(data: Path, worked: str, tmp_path: Path) -> Path:
    path = tmp_path / "ledger.jsonl"
    assert (
        beliefd("audit", "export", worked, "-o", path, "--data", data).stdout == f"wrote 4 events to {path}\n"
    )
    return path


def tamper(data: Path, seq: int) -> None:
    """Rewrite history as somebody with the file in their hands could."""
    connection = sqlite3.connect(data / "beliefd.db")
    with connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        touched = connection.execute(
            "UPDATE audit_events SET record = replace(record, '//alice', '//mallory') WHERE seq = ?",
            (seq,),
        )
        assert touched.rowcount == 1
    connection.close()


def events(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()[1:]]


def test_the_timeline_says_who_did_what_and_what_was_refused(data: Path, worked: str) -> None:
    lines = beliefd("audit", "show", worked, "--data", data).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["#1", "#2", "#3", "#4"]
    assert "DECLARE_SESSION" in lines[0]
    assert "operator://local  1 fell: a  human://alice on o1" in lines[1]
    assert "refused INVALID_HYPOTHESIS_ID: not declared in this session: `zebra`" in lines[2]
    assert "granted it_is:b: no obligation is active" in lines[3]


def test_the_timeline_shows_what_the_firewall_stopped_and_where(data: Path, worked: str) -> None:
    body = {"run_id": "r", "role": "support", "claim_id": "c", "lane": "speculative"}
    request = Request(ExperimentRows.link_evidence, {"session_id": worked}, {}, body)
    with library.open(data / "beliefd.db") as embedded, pytest.raises(ValueError, match="CRITICAL"):
        embedded._send(request)
    line = beliefd("audit", "show", worked, "--data", data).stdout.splitlines()[-1]
    assert "RECORD_ATTEMPT" in line
    assert "refused SPECULATIVE_EVIDENCE: CRITICAL: Attempted to persist speculative evidence" in line
    assert line.endswith("(link_evidence at $.lane)")


def test_the_timeline_starts_where_it_is_told_to(data: Path, worked: str) -> None:
    page = answer("audit", "show", worked, "--data", data)
    second = page["events"][1]["event_id"]
    assert answer("audit", "show", worked, "--since", second, "--data", data)["events"] == page["events"][2:]
    assert beliefd("audit", "show", worked, "--since", second, "--data", data).stdout.startswith("#3")
    for more in ((), ("--json",), ("--follow",)):
        refused = beliefd("audit", "show", worked, "--since", "unheard-of", *more, "--data", data)
        assert refused.exit_code == 2


def test_a_sound_ledger_verifies_from_store_and_file(data: Path, worked: str, exported: Path) -> None:
    head = events(exported)[-1]["hash"]
    for call in (("verify", worked, "--data", data), ("verify", "--file", exported)):
        assert answer("audit", *call)["head"]["hash"] == head
        assert beliefd("audit", *call).stdout == f"verified: 4 events, head {head[:16]}\n"
    every = answer("audit", "verify", "--all", "--data", data)
    assert (every["ok"], list(every["sessions"])) == (True, [worked])
    assert "1 ledgers checked" in beliefd("audit", "verify", "--all", "--data", data).stdout


def test_the_timeline_has_dates_reasons_and_claims_from_store_and_file(
    data: Path, worked: str, exported: Path
) -> None:
    stored = beliefd("audit", "show", worked, "--data", data).stdout
    assert stored == beliefd("audit", "show", "--file", exported).stdout
    assert re.search(r"^#2 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z  ELIMINATE", stored, re.MULTILINE)
    assert answer("audit", "show", "--file", exported) == answer("audit", "show", worked, "--data", data)
    second = events(exported)[1]["event_id"]
    rest = beliefd("audit", "show", "--file", exported, "--since", second[-8:]).stdout
    assert rest.startswith("#3")
    bad = beliefd("audit", "show", "--file", exported, "--since", "00000000")
    assert (bad.exit_code, "no events of this ledger are `00000000`" in bad.stderr) == (2, True)
    for arguments in ((), (worked, "--file", exported), ("--file", exported, "--follow")):
        assert beliefd("audit", "show", *arguments, "--data", data).exit_code == 2


def test_who_did_what_is_found_by_actor_source_and_in_files(data: Path, worked: str, exported: Path) -> None:
    everything = beliefd("audit", "who", "operator://local", "--data", data).stdout.splitlines()
    assert everything[0] == f"session {worked}"
    assert [line[:2] for line in everything[1:] if line.startswith("#")] == ["#1", "#2", "#3", "#4"]
    by_source = beliefd("audit", "who", "human://alice", "--data", data)
    assert "#2" in by_source.stdout
    assert "#4" not in by_source.stdout
    assert beliefd("audit", "who", "human://alice", "--file", exported).stdout == by_source.stdout
    nobody = beliefd("audit", "who", "human://nobody", "--data", data)
    assert (nobody.exit_code, "no event is by or about `human://nobody`" in nobody.stderr) == (1, True)


def test_what_became_of_a_tool_is_found_by_its_name(data: Path, session: str, tmp_path: Path) -> None:
    written = tmp_path / "calls.json"
    for tool in ("pool.drop", "pool.look"):
        call: dict[str, object] = {"kind": "tool_call", "tool_id": tool, "args": {}, "join_key": tool}
        written.write_text(json.dumps([call]))
        beliefd("state", "propose", session, written, "--execute", "caller", "--data", data)
    found = beliefd("audit", "who", "pool.drop", "--data", data)
    assert found.exit_code == 0
    assert "pool.drop" in found.stdout
    assert "pool.look" not in found.stdout
    assert beliefd("audit", "who", "pool.fill", "--data", data).exit_code == 1


def test_who_asks_a_server_that_is_not_there_is_asked_whether_it_runs() -> None:
    for words in (("inbox", "list"), ("session", "list"), ("audit", "who", "human://ana")):
        went = beliefd(*words, "--url", "http://127.0.0.1:1")
        assert (went.exit_code, "is `beliefd serve` running?" in went.stderr) == (1, True)


def test_a_head_that_was_noted_is_found_again_or_history_is_another(
    data: Path, worked: str, exported: Path
) -> None:
    noted = [one["hash"] for one in events(exported)]
    where = (("verify", worked, "--data", data), ("verify", "--file", exported))
    for call in where:
        assert "the head is the expected one" in beliefd("audit", *call, "--expect-head", noted[-1]).stdout
        earlier = beliefd("audit", *call, "--expect-head", noted[1][:16]).stdout
        assert "event 2 was the expected head; 2 were recorded since" in earlier
        other = beliefd("audit", *call, "--expect-head", "0" * 64)
        assert (other.exit_code, "this is another history" in other.stderr) == (5, True)
        assert beliefd("audit", *call, "--expect-head", "abc").exit_code == 2


def test_a_touched_event_in_the_store_is_named(data: Path, worked: str) -> None:
    event_id = answer("audit", "show", worked, "--data", data)["events"][1]["event_id"]
    tamper(data, 2)
    for call in (("verify", worked), ("verify", "--all")):
        told = beliefd("audit", *call, "--data", data)
        assert told.exit_code == 5
        assert f"broken: event 2 ({event_id})" in told.stdout
    bad = answer("audit", "verify", worked, "--data", data, code=5)["first_bad"]
    assert (bad["seq"], bad["event_id"]) == (2, event_id)
    assert beliefd("audit", "replay", worked, "--data", data).exit_code == 5
    assert beliefd("session", "show", worked, "--data", data).exit_code == 5


@pytest.mark.parametrize("forge", ["payload", "removed", "swapped", "cut", "unreadable"])
def test_a_forged_file_is_named_at_the_forged_place(exported: Path, forge: str) -> None:
    lines = exported.read_bytes().splitlines()
    place = {"payload": 2, "removed": 2, "swapped": 2, "cut": 4, "unreadable": 3}[forge]
    if forge == "payload":
        lines[2] = lines[2].replace(b"alice", b"malice")
    elif forge == "removed":
        del lines[2]
    elif forge == "swapped":
        lines[2], lines[3] = lines[3], lines[2]
    elif forge == "cut":
        del lines[4]
    else:
        lines[3] = lines[3][:-5]
    exported.write_bytes(b"\n".join(lines))
    bad = answer("audit", "verify", "--file", exported, code=5)["first_bad"]
    assert bad["seq"] == place
    assert f"broken: event {place} (" in beliefd("audit", "verify", "--file", exported).stdout
    assert beliefd("audit", "replay", exported).exit_code == 5
    assert answer("audit", "replay", exported, code=5)["error"]["code"] == "LEDGER_BROKEN"


@pytest.mark.parametrize("text", ["", "hello", "[]", '{"format": "other/1"}'])
@pytest.mark.parametrize("command", ["verify", "replay", "import"])
def test_a_file_that_is_no_ledger_is_bad_input(tmp_path: Path, data: Path, text: str, command: str) -> None:
    path = tmp_path / "no-ledger"
    path.write_text(text)
    given = ["--file", str(path)] if command == "verify" else [str(path)]
    where = ["--data", str(data)] if command == "import" else []
    assert beliefd("audit", command, *given, *where).exit_code == 2


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    result = beliefd("audit", "verify", "--file", tmp_path / "nothing.jsonl")
    assert result.exit_code == 2
    assert "cannot read" in result.stderr


def test_replay_gives_the_state_back_from_file_and_session(data: Path, worked: str, exported: Path) -> None:
    from_file = answer("audit", "replay", exported)
    assert from_file == answer("audit", "replay", worked, "--data", data)
    assert from_file["same"] is True
    assert from_file["snapshot"] == answer("session", "show", worked, "--data", data)
    assert "4 events folded and decided again: same state" in beliefd("audit", "replay", exported).stdout


def test_export_writes_the_same_bytes_to_stdout(data: Path, worked: str, exported: Path) -> None:
    assert beliefd("audit", "export", worked, "--data", data).stdout_bytes == exported.read_bytes()
    assert answer("audit", "export", worked, "-o", exported, "--data", data)["events"] == 4
    assert beliefd("audit", "export", worked, "-o", "/proc/none", "--data", data).exit_code == 2


def test_import_takes_a_ledger_in_once_and_whole(tmp_path: Path, worked: str, exported: Path) -> None:
    other = tmp_path / "other"
    assert answer("audit", "import", exported, "--data", other)["events"] == 4
    assert beliefd("audit", "export", worked, "--data", other).stdout_bytes == exported.read_bytes()
    assert beliefd("audit", "import", exported, "--data", other).exit_code == 4
    again = beliefd("audit", "import", "-", "--data", tmp_path / "third", stdin=exported.read_bytes())
    assert "took in 4 verified events" in again.stdout


def test_import_refuses_a_forged_ledger_and_keeps_nothing(tmp_path: Path, exported: Path) -> None:
    exported.write_bytes(exported.read_bytes().replace(b"alice", b"malice"))
    other = tmp_path / "other"
    assert beliefd("audit", "import", exported, "--data", other).exit_code == 5
    assert answer("session", "list", "--data", other)["sessions"] == []


def test_merge_takes_over_what_a_replica_learned(
    tmp_path: Path, data: Path, worked: str, exported: Path
) -> None:
    other = tmp_path / "other"
    answer("audit", "import", exported, "--data", other)
    answer("session", "eliminate", worked, "b", *BY, "--data", other)
    answer("audit", "export", worked, "-o", exported, "--data", other)
    assert answer("audit", "merge", worked, exported, "--data", data)["applied_eliminated"] == ["b"]
    # Four events that came with the import, the one that says so, and the elimination.
    assert "replica at event 6" in beliefd("audit", "show", worked, "--data", data).stdout
    assert beliefd("audit", "verify", worked, "--data", data).exit_code == 0


def test_long_ledgers_show_how_far_the_checking_is(
    data: Path, session: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "is_watched", lambda: True)
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    command = {
        "verb": "ELIMINATE",
        "source_id": "s",
        "observation_id": "o",
        "eliminated": [],
        "justification": {},
    }
    with library.open(data / "beliefd.db") as embedded:
        embedded.batch(session, [command] * 60)
    shown = beliefd("audit", "verify", session, "--data", data)
    assert "61/61" in shown.stderr
    assert shown.stdout.startswith("verified: 61 events")
    path = tmp_path / "long.jsonl"
    assert beliefd("audit", "export", session, "-o", path, "--data", data).exit_code == 0
    replayed = beliefd("audit", "replay", path)
    assert "folding" in replayed.stderr
    assert "deciding again" in replayed.stderr
    monkeypatch.undo()
    assert beliefd("audit", "replay", path).stderr == "", "nobody watches"


def test_a_replay_is_drawn_in_a_process_that_has_drawn_nothing_before(tmp_path: Path) -> None:
    """Views are imported when they are needed: the first one must not depend on another having been."""
    with library.open(":memory:") as embedded:
        session = embedded.declare_session(["a", "b"], ONTOLOGY).session_id
        (tmp_path / "ledger.jsonl").write_bytes(embedded.export(session))
    command = [sys.executable, "-m", "beliefd", "audit", "replay", str(tmp_path / "ledger.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 of 2 left" in done.stdout


def test_what_speculation_changed_is_told_apart_from_what_deciding_again_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two verdicts: the state is the same when it is decided again, and the same without its speculation."""
    with library.open(":memory:") as embedded:
        session = embedded.declare_session(["a", "b"], ONTOLOGY).session_id
        embedded.speculate(session, "c", [{"statement": "perhaps"}])
        (tmp_path / "ledger.jsonl").write_bytes(embedded.export(session))
    monkeypatch.setattr(
        non_interference,
        "grounded_again",
        lambda *_: replace(KernelSession().session, session_id="another"),
    )
    found = answer("audit", "replay", tmp_path / "ledger.jsonl", code=5)
    assert (found["same"], found["same_without"]) == (True, False)


@pytest.mark.slow
def test_all_ledgers_of_a_server_are_verified_and_its_own_for_who_may_read_it(
    data: Path, worked: str
) -> None:
    admin, agent = (
        beliefd("token", "create", "--data", data, "--name", role, "--role", role).stdout.splitlines()[-1]
        for role in ("admin", "agent")
    )
    with server_process(data) as server:
        asked = ("audit", "verify", "--all", "--url", server.url, "--token")
        assert set(answer(*asked, admin)["sessions"]) == {worked, "system"}
        other = beliefd(*asked, agent)
    assert other.exit_code == 0
    assert "1 ledgers checked" in other.stdout
    assert "left out: it takes the token of an admin" in other.stderr
    assert set(answer("audit", "verify", "--all", "--data", data)["sessions"]) == {worked, "system"}


def test_an_event_whose_words_are_to_be_erased_is_named_by_its_number(data: Path, session: str) -> None:
    at = ("--data", data)
    answer("session", "eliminate", session, "a", "--source", "s", "--observation", "o", *at)
    second = answer("audit", "show", session, *at)["events"][1]["event_id"]
    told = beliefd("audit", "erase", session, "--event", "2", "--reason", "asked for", *at)
    assert f"event `{second}` withholds nothing" in told.output
    assert "no event `99`" in beliefd("audit", "erase", session, "--event", "99", "--reason", "x", *at).output
