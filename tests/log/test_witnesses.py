"""Checkpoints are submitted to witnesses over HTTP; whatever a witness does is named, and nothing is lost."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from beliefd.http import witness as http_witness
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.ledger.checkpoints import Trust, trusted_text
from beliefd.ledger.notes import (
    COSIGNATURE,
    BadNote,
    Checkpoint,
    Note,
    SigningKey,
    VerifierKey,
    read_checkpoint,
    read_key,
    read_note,
)
from beliefd.ledger.witnessing import Submission, read_cosignatures, read_size, read_submission
from beliefd.protocol.log import CheckpointView
from beliefd.steward.effects import witnesses
from beliefd.steward.effects.checkpoints import LogSettings
from beliefd.steward.key_files import write_private
from beliefd.testing.world import World, refused
from tests.support.witness import Liar, WitnessServer

WITNESS = SigningKey("witness.example/w", b"w" * 32, COSIGNATURE)
SECOND = SigningKey("second.example/w", b"v" * 32, COSIGNATURE)


@pytest.fixture
def settings(tmp_path: Path) -> LogSettings:
    return LogSettings(key=tmp_path / "log.key", witnesses=(WITNESS.verifier,))


@pytest.fixture
def log_key(tmp_path: Path, settings: LogSettings) -> VerifierKey:
    """The witness is told of the log's key before there is a witness to ask."""
    with World(tmp_path / "ledger.db", log=replace(settings, witnesses=())) as world:
        world.session()
        world.root.sign_checkpoint()
        return read_key(world.root.log_state().keys[-1])


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    folder = tmp_path / "seen"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def witness(log_key: VerifierKey, seen: Path) -> Iterator[str]:
    with WitnessServer(WITNESS, [log_key], seen) as url:
        yield url


def signed(world: World, observation: str = "o") -> CheckpointView:
    """A checkpoint over more than before. A store that is opened again has its session already."""
    listed = world.agent.list_sessions().sessions
    session = listed[0].session_id if listed else world.session()
    world.agent.eliminate(
        session, source_id="s", observation_id=observation, eliminated=["h1"], justification={}
    )
    return world.root.sign_checkpoint()


def failure(world: World) -> BeliefdError:
    (asked,) = world.root.log_state().asked_witnesses
    assert asked.failure is not None
    return BeliefdError(asked.failure.code, asked.failure.message)


def test_every_checkpoint_is_cosigned_and_shown_and_a_witness_is_asked_for_no_more_than_it_lacks(
    tmp_path: Path, settings: LogSettings, witness: str, log_key: VerifierKey
) -> None:
    required = replace(settings, witness_urls=(witness,))
    trust = Trust((log_key,), (WITNESS.verifier,))
    for _ in range(2):  # the second server process learns from the witness what it has cosigned
        with World(tmp_path / "ledger.db", log=required) as world:
            for _ in range(3):
                view = signed(world)
                assert world.agent.log_checkpoint() == view
                assert [one.key for one in view.witnessed] == [str(WITNESS.verifier)]
                trusted_text(view.note, trust)
            (asked,) = world.root.log_state().asked_witnesses
            assert (asked.url, asked.size, asked.failure) == (witness, view.size, None)
            assert world.root.sign_checkpoint() == view  # nothing came since, and nobody is asked again


def test_all_required_witnesses_count(
    tmp_path: Path, settings: LogSettings, witness: str, log_key: VerifierKey
) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    both = replace(settings, witnesses=(WITNESS.verifier, SECOND.verifier))
    with World(tmp_path / "ledger.db", log=replace(both, witness_urls=(witness,))) as world:
        size = signed(world).size
        assert refused(Code.WITNESS_MISSING, world.agent.log_checkpoint)
    with WitnessServer(SECOND, [log_key], other) as second:
        urls = (witness, second)
        with World(tmp_path / "ledger.db", log=replace(both, witness_urls=urls)) as world:
            view = world.root.sign_checkpoint()  # the same one, which one of them has cosigned already
            assert (view.size, len(view.witnessed)) == (size, 2)
            assert world.agent.log_checkpoint() == view


def test_a_witness_that_was_away_is_asked_again_though_nothing_was_recorded_since(
    tmp_path: Path, settings: LogSettings, log_key: VerifierKey, seen: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = WitnessServer(WITNESS, [log_key], seen)
    away = replace(settings, witness_urls=(f"http://ann:hush@127.0.0.1:{server.port}/?key=hush",), every=0.05)
    with World(tmp_path / "ledger.db", log=away) as world:
        view = signed(world)
        told = failure(world)
        assert told.code == Code.WITNESS_MISSING
        assert f"the witness at `http://127.0.0.1:{server.port}/` has not cosigned" in told.message
        assert "hush" not in told.message + caplog.text
        refused(Code.WITNESS_MISSING, world.agent.log_checkpoint)
    url = replace(away, witness_urls=(f"http://127.0.0.1:{server.port}",))
    with server, World(tmp_path / "ledger.db", log=url) as world:
        assert world.run(lambda: signs_until(world, view.size))


async def signs_until(world: World, size: int) -> bool:
    """The server's own schedule runs until a checkpoint of this size is shown."""
    chore = asyncio.ensure_future(world.runtime.checkpoints.run())
    try:
        async with asyncio.timeout(60):
            while (kept := await world.runtime.checkpoints.newest()) is None:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
        return kept.size == size
    finally:
        chore.cancel()


def test_a_witness_that_has_seen_another_history_or_a_later_one_is_heard(
    tmp_path: Path, settings: LogSettings, witness: str
) -> None:
    required = replace(settings, witness_urls=(witness,))
    store, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    copy.write_bytes(store.read_bytes())
    with World(store, log=required) as world:
        signed(world)
        signed(world)
    # Put back, and without what stands beside the key: the witness alone knows.
    assert required.last is not None
    required.last.path.unlink()
    with World(copy, log=required) as back:
        size = signed(back, "other").size
        told = failure(back)
        assert told.code == Code.LOG_ROLLED_BACK
        assert f"has cosigned {size + 1} leaves of this log, and there are {size}" in told.message
        signed(back, "other")
        told = failure(back)
        assert (told.code, "another log of the same name" in told.message) == (Code.SPLIT_VIEW, True)
        signed(back, "other")
        told = failure(back)
        assert (told.code, "does not find that this log continues" in told.message) == (Code.SPLIT_VIEW, True)
        refused(Code.WITNESS_MISSING, back.agent.log_checkpoint)


def cosigned(body: bytes, key: SigningKey = WITNESS) -> bytes:
    return key.cosign(read_submission(body).note.text, 1_700_000_000).line.encode()


def forged(body: bytes) -> bytes:
    """The right name over another text."""
    return WITNESS.cosign(read_submission(body).note.text + "more\n", 1_700_000_000).line.encode()


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (lambda body: (200, forged(body)), Code.CHECKPOINT_FORGED, "is forged, or of another text"),
        (lambda body: (200, cosigned(body, SECOND)), Code.WITNESS_MISSING, "it signs as `second.example/w"),
        (lambda _: (200, b""), Code.WITNESS_MISSING, "something other than signatures"),
        (lambda _: (200, b"<html>\n"), Code.WITNESS_MISSING, "is no signature"),
        (lambda _: (200, b"\xff"), Code.WITNESS_MISSING, "UTF-8"),
        (lambda _: (200, b"x" * 100_000), Code.WITNESS_MISSING, "more than 65536 bytes"),
        (lambda _: (404, b""), Code.WITNESS_MISSING, "does not know a log of this name"),
        (lambda _: (403, b""), Code.WITNESS_MISSING, "does not know the key"),
        (lambda _: (500, b""), Code.WITNESS_MISSING, "answered with 500"),
        (lambda _: (302, b""), Code.WITNESS_MISSING, "answered with 302"),
        (lambda _: (409, b"1.5\n"), Code.WITNESS_MISSING, "does not say which size"),
        (lambda _: (409, b"0\n"), Code.WITNESS_MISSING, "asks for a proof from size 0, and does not take it"),
        (lambda _: (409, b"999\n"), Code.LOG_ROLLED_BACK, "has cosigned 999 leaves"),
        (lambda _: (422, b""), Code.SPLIT_VIEW, "does not find that this log continues"),
    ],
)
def test_a_witness_that_lies_is_named_and_costs_nothing(
    tmp_path: Path,
    settings: LogSettings,
    answer: Callable[[bytes], tuple[int, bytes]],
    code: Code,
    words: str,
) -> None:
    with Liar(answer) as url, World(tmp_path / "l.db", log=replace(settings, witness_urls=(url,))) as world:
        view = signed(world)
        assert view.witnessed == []
        told = failure(world)
        assert (told.code, words in told.message) == (code, True), told.message
        refused(Code.WITNESS_MISSING, world.agent.log_checkpoint)
        # It is signed and kept: a cosignature that comes another way is enough.
        line = WITNESS.cosign(read_note(view.note).text, 1)
        world.root.add_cosignatures(str(Note(read_note(view.note).text).signed([line])))
        assert world.agent.log_checkpoint().size == view.size


def test_a_witness_that_always_names_another_size_is_given_up(tmp_path: Path, settings: LogSettings) -> None:
    sizes = iter(range(1, 100))
    liar = Liar(lambda _: (409, f"{next(sizes)}\n".encode()))
    with liar as url, World(tmp_path / "l.db", log=replace(settings, witness_urls=(url,))) as world:
        for _ in range(8):
            world.session()
        signed(world)
        assert "it has named 4 sizes" in failure(world).message
        assert [read_submission(body).old for body in liar.heard] == [0, 1, 2, 3]
        assert all(read_submission(body).path for body in liar.heard[1:])


def test_a_witness_that_does_not_answer_holds_nobody_up_for_long(
    tmp_path: Path, settings: LogSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(witnesses, "SECONDS", 0.2)
    answering = threading.Event()

    def silent(_: bytes) -> tuple[int, bytes]:
        answering.wait(60)
        return 500, b""

    with (
        Liar(silent) as url,
        World(tmp_path / "l.db", log=replace(settings, witness_urls=(url,))) as world,
    ):
        signed(world)
        assert "no answer in 0.2 seconds" in failure(world).message
        answering.set()


def test_a_witness_that_cannot_remember_does_not_cosign(
    tmp_path: Path, settings: LogSettings, witness: str, seen: Path
) -> None:
    with World(tmp_path / "ledger.db", log=replace(settings, witness_urls=(witness,))) as world:
        view = signed(world)
        (file,) = seen.iterdir()
        assert read_checkpoint(read_note(file.read_bytes())).size == view.size
        file.write_text("torn")
        signed(world)
        assert "answered with 500" in failure(world).message
        assert file.read_text() == "torn"


def test_two_processes_with_one_memory_do_not_cosign_two_histories(
    seen: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one asks when the first has compared, and has not written yet."""
    log = SigningKey("log.example", b"l" * 32)
    submissions = [
        bytes(Submission(0, (), Note(text).signed([log.sign(text)])))
        for text in (Checkpoint("log.example", 7, bytes([one]) * 32).text for one in range(2))
    ]
    comparing = threading.Event()
    statuses: list[int] = []

    def written(*given: Any, **how: Any) -> None:
        comparing.set()
        time.sleep(0.3)
        write_private(*given, **how)

    def ask(submission: bytes) -> None:
        process = http_witness.Witness(WITNESS, [log.verifier], seen)
        statuses.append(asyncio.run(process.answer(submission)).status_code)

    monkeypatch.setattr(http_witness, "write_private", written)
    asking = [threading.Thread(target=ask, args=(one,)) for one in submissions]
    asking[0].start()
    assert comparing.wait(60)
    asking[1].start()
    for one in asking:
        one.join(60)
    assert sorted(statuses) == [200, 409]


# -- the format ----------------------------------------------------------------------------------------

NOTE = Note(Checkpoint("log.example", 7, bytes(32)).text).signed(
    [SigningKey("log.example", b"l" * 32).sign("x")]
)


def test_a_submission_is_written_as_c2sp_says() -> None:
    text = bytes(Submission(5, (b"\1" * 32, b"\2" * 32), NOTE)).decode()
    old, one, two, empty, *checkpoint = text.split("\n")
    assert (old, empty) == ("old 5", "")
    assert one == "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
    assert two == "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
    assert "\n".join(checkpoint) == str(NOTE)
    assert read_submission(text.encode()) == Submission(5, (b"\1" * 32, b"\2" * 32), NOTE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"old 5\n",
        b"old 05\n\n" + str(NOTE).encode(),
        b"old -1\n\n" + str(NOTE).encode(),
        b"new 5\n\n" + str(NOTE).encode(),
        b"old 5\nAQ==\n\n" + str(NOTE).encode(),
        b"old 5\n\xff\n\n" + str(NOTE).encode(),
        bytes(Submission(5, (bytes(32),) * 64, NOTE)),
        b"old 5\n\n" + b"x" * (1 << 20),
    ],
)
def test_what_is_no_submission_is_refused(data: bytes) -> None:
    with pytest.raises(BadNote):
        read_submission(data)


@given(st.binary(max_size=200))
def test_whatever_is_sent_is_read_or_refused(data: bytes) -> None:
    for read in (read_submission, read_size, read_cosignatures):
        with contextlib.suppress(BadNote):
            read(data)
