"""It is known what has reached each anchor, what has not is brought again, and late cosignatures are, too."""

import re
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

import beliefd as library
from beliefd.http.metrics import Metrics
from beliefd.ledger.notes import COSIGNATURE, SigningKey, read_note
from beliefd.steward.directory import LOCAL_OPERATOR
from beliefd.steward.effects.anchors import anchor_of
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.testing.world import ONTOLOGY, World
from tests.cli.runner import answer, beliefd
from tests.support.server import ServerProcess

WITNESS = SigningKey("witness.example/w", b"w" * 32, COSIGNATURE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "anchor"
    place.mkdir()
    return place


@pytest.fixture
def data(tmp_path: Path) -> Path:
    place = tmp_path / "data"
    place.mkdir(mode=0o700)
    return place


def settings_of(data: Path, folder: Path) -> LogSettings:
    return LogSettings(key=data / "log.key", anchors=(anchor_of(str(folder)),))


def notes_in(folder: Path) -> list[str]:
    return [one.read_text() for one in sorted(folder.iterdir())]


def shown(world: World) -> tuple[int | None, str | None]:
    (one,) = world.root.log_state().anchors
    return one.size, one.failure


def test_an_anchor_that_was_away_gets_the_checkpoint_though_nothing_was_recorded_since(
    data: Path, folder: Path
) -> None:
    with World(data / "beliefd.db", log=settings_of(data, folder)) as world:
        world.session()
        first = world.root.sign_checkpoint()
        assert shown(world) == (first.size, None)
        folder.rename(away := folder.with_name("away"))
        world.session()
        second = world.root.sign_checkpoint()
        size, failure = shown(world)
        assert (size, "No such file or directory" in (failure or "")) == (first.size, True)
        text = Metrics().render(world.steward, world.runtime.checkpoints.anchored).decode()
        for family, value in (("anchored_leaves", first.size), ("anchor_failing", 1)):
            assert f'beliefd_log_{family}{{anchor="{folder}"}} {value}\n' in text
        away.rename(folder)
        world.run(world.runtime.checkpoints.round)
        assert notes_in(folder) == [first.note, second.note]
        assert shown(world) == (second.size, None)
    # The next server process knows it, and brings nothing twice.
    for one in folder.iterdir():
        one.unlink()
    with World(data / "beliefd.db", log=settings_of(data, folder)) as world:
        assert shown(world) == (second.size, None)
        world.run(world.runtime.checkpoints.round)
        assert notes_in(folder) == []


def test_a_cosignature_that_comes_late_reaches_the_anchors(data: Path, folder: Path) -> None:
    settings = replace(settings_of(data, folder), witnesses=(WITNESS.verifier,))
    with World(data / "beliefd.db", log=settings) as world:
        world.session()
        signed = world.root.sign_checkpoint()
        text = read_note(signed.note).text
        note = str(read_note(signed.note).signed([WITNESS.cosign(text, 1_800_000_000)]))
        world.root.add_cosignatures(note)
        assert notes_in(folder) == [signed.note]
        world.run(world.runtime.checkpoints.round)
        assert notes_in(folder) == [note]


def test_the_log_and_the_doctor_say_how_far_anchors_have_come(data: Path, folder: Path) -> None:
    with World(data / "beliefd.db", log=settings_of(data, folder)) as world:
        world.session()
        size = world.root.sign_checkpoint().size
    with library.open(str(data / "beliefd.db"), principal=LOCAL_OPERATOR) as calls:
        calls.declare_session(["a"], ONTOLOGY)
    answer("log", "checkpoint", "--now", "--data", data)
    printed = beliefd("log", "show", "--data", data).output
    assert re.search(rf"anchor .*anchor, {size} leaves anchored, 1 not", printed.replace("\n", ""))
    told = answer("doctor", "--data", data)
    (line,) = [one["message"] for one in told["findings"] if one["check"] == "log"]
    assert f"{size} by one that is anchored at `{folder}`" in line


def test_what_cannot_be_read_of_anchors_is_named_and_all_are_brought_the_newest_again(
    data: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with World(data / "beliefd.db", log=settings_of(data, folder)) as world:
        world.session()
        signed = world.root.sign_checkpoint()
        for one in folder.iterdir():
            one.unlink()
        (data / "log.anchored").write_text("{")
        with caplog.at_level("WARNING", logger="beliefd"):
            assert shown(world) == (None, None)
        assert "log.anchored`, which says what anchors have" in caplog.text
        world.run(world.runtime.checkpoints.round)
        assert notes_in(folder) == [signed.note]
        assert shown(world) == (signed.size, None)


@pytest.mark.slow
def test_a_server_tries_a_failed_anchor_again_by_itself(data: Path, folder: Path) -> None:
    with World(data / "beliefd.db") as world:
        world.session()
    server = ServerProcess(data, options=("--checkpoint-every", "0.2", "--log-anchor", str(folder)))
    try:
        with server.client() as client:
            until = time.monotonic() + 60
            while not notes_in(folder) and time.monotonic() < until:
                time.sleep(0.02)
            folder.rename(away := folder.with_name("away"))
            client.declare_session(["a"], ONTOLOGY)
            while not client.log_state().anchors[0].failure and time.monotonic() < until:
                time.sleep(0.02)
            away.rename(folder)
            while client.log_state().anchors[0].failure and time.monotonic() < until:
                time.sleep(0.02)
            state = client.log_state()
            assert (state.anchors[0].size, len(notes_in(folder))) == (state.covered, 2)
    finally:
        server.stop()
        server.forget()
