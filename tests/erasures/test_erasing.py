"""Erased means: gone wherever the server could reach it, on record, and every proof still holds."""

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from beliefd.kernel.beliefs.commands import Eliminate
from beliefd.kernel.erasures.commands import Erase
from beliefd.kernel.erasures.events import Erased
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.labels import Bringer
from beliefd.kernel.values import Role
from beliefd.ledger.envelope import read
from beliefd.ledger.replay import redecide
from beliefd.ledger.transfer import read_export
from beliefd.ledger.verify import verify
from beliefd.protocol.rights import rights_of
from beliefd.steward.projections.rebuilding import differences, rebuild
from beliefd.testing.world import AGENT, ANN, ONTOLOGY, ROOT, World, refused
from tests.conformance.node import verify_with_node
from tests.erasures.support import SECRET, WITHHOLDING, eliminate, everything, parts, told

REASON = "asked for by the person it is about"


def erased(house: World, session: str) -> None:
    house.root.erase(session, REASON, digests=[one.digest for one in parts(house, session)])


def test_what_is_erased_is_gone_and_every_proof_holds_as_before(stored: World) -> None:
    session = told(stored)
    plain = {"source_id": "s", "observation_id": "o", "eliminated": [], "justification": {"sure": True}}
    stored.agent.batch(session, [{"verb": "ELIMINATE", **plain}] * 256)
    before = stored.entries(session)
    state = stored.hash(session)
    digests = [one.digest for one in parts(stored, session)]
    answer = stored.root.erase(session, REASON, digests=digests)
    assert (answer.erased, answer.swept, len(answer.events)) == (digests, True, 1)
    assert stored.entries(session)[:-1] == before
    assert {one.state for one in parts(stored, session)} == {"erased"}
    assert {one.erased_by for one in parts(stored, session)} == set(answer.events)
    assert SECRET.encode() not in everything(stored, session)
    verified = stored.verify(session)
    assert (verified.ok, verified.withheld, verified.erased, verified.absent) == (True, 3, 3, 0)
    stored.check(session)
    stored.forget()
    stored.check(session)
    assert state != stored.hash(session), "that it is gone is part of the state"
    exported = stored.root.export(session)
    assert verify_with_node(exported).text.endswith("; 3 parts withheld, 3 erased, 0 not in the file")
    entries = [read(entry.record) for entry in stored.entries(session)]
    policies = read_export(exported.splitlines()).header.policies
    again = [step.event for step in redecide(entries, policies)]
    assert again == [entry.delta for entry in entries]
    refused(Code.CONTENT_ERASED, lambda: stored.agent.read_content(digests[0]))
    refused(Code.CONTENT_ERASED, lambda: stored.agent.show_content(digests[0]))


def test_an_erasure_is_an_event_with_who_why_and_what(house: World) -> None:
    session = told(house)
    event_id = house.entries(session)[1].event_id
    answer = house.root.erase(session, REASON, events=[event_id])
    entry = read(house.entries(session)[-1].record)
    assert isinstance(entry.delta, Erased)
    assert (entry.actor.id, entry.delta.reason, entry.delta.event_id) == (ROOT.id, REASON, *answer.events)
    assert set(entry.delta.digests) == {one.digest for one in parts(house, session) if one.seq == 2}
    assert [one.state for one in parts(house, session)] == ["kept", "erased", "erased"]
    again = house.root.erase(session, REASON, events=[event_id])
    assert (again.events, again.erased) == ([], []), "what is gone is not erased twice"
    assert len(house.entries(session)) == 3


def test_an_ended_session_can_be_rid_of_its_texts(stored: World) -> None:
    session = told(stored)
    assert stored.root.request_termination(session, context={"force": True, "by": SECRET}).approved
    erased(stored, session)
    assert {one.state for one in parts(stored, session)} == {"erased"}
    stored.check(session)
    assert stored.root.query_belief(session).status == "terminated"


def test_content_that_is_cited_by_its_hash_can_be_erased_and_is_not_taken_again(stored: World) -> None:
    session = stored.session()
    name = stored.agent.store_content(b"the paper").sha256
    other = stored.agent.store_content(b"another paper").sha256
    eliminate(stored, session, {"n": 1})
    stored.submit(
        session,
        Eliminate(source_id="s", observation_id=name, eliminated=("h2",), justification={}),
        AGENT,
    )
    stored.root.erase(session, REASON, digests=[name])
    refused(Code.CONTENT_ERASED, lambda: stored.agent.read_content(name))
    refused(Code.CONTENT_ERASED, lambda: stored.agent.store_content(b"the paper"))
    assert stored.agent.read_content(other) == b"another paper"
    error = refused(Code.CONTENT_NOT_FOUND, lambda: stored.root.erase(session, REASON, digests=[other]))
    assert error.details is not None
    assert error.details["path"] == "$.digests[0]"
    stored.check(session)


def test_what_stands_in_the_chain_cannot_be_erased_and_nobody_is_told_otherwise(house: World) -> None:
    session = told(house)
    house.agent.enter_obligation(session, "o1", 0)
    last = house.entries(session)[-1].event_id
    error = refused(Code.CONTENT_NOT_FOUND, lambda: house.root.erase(session, REASON, events=[last]))
    assert "is in the chain, and stays" in error.message
    refused(Code.NOT_FOUND, lambda: house.root.erase(session, REASON, events=["nowhere"]))
    refused(Code.INVALID_REQUEST, lambda: house.root.erase(session, REASON))
    refused(Code.INVALID_REQUEST, lambda: house.root.erase(session, "", context=True))
    refused(Code.CONTENT_NOT_FOUND, lambda: house.root.erase(session, REASON, digests=["ab" * 32]))


@pytest.mark.parametrize("who", [AGENT, ANN])
def test_only_administrators_erase_whatever_way_they_come(house: World, who: Any) -> None:
    session = told(house)
    (one, *_) = parts(house, session)
    outcome = house.submit(session, Erase(digests=(one.digest,), reason=REASON), who)
    assert isinstance(outcome.event, Refused)
    assert outcome.event.code is Code.FORBIDDEN
    assert parts(house, session)[0].state == "kept"
    space = house.person(ANN, rights_of(Role.APPROVER, ""))
    refused(Code.FORBIDDEN, lambda: space.erase(session, REASON, digests=[one.digest]))


def test_an_administrator_of_one_space_erases_what_is_of_that_space_alone(house: World) -> None:
    house.root.create_space("lab")
    lab = house.person(ROOT, rights_of(Role.ADMIN, "lab=admin"))
    writer = house.person(AGENT, rights_of(Role.AGENT, "lab=propose,read"))
    session = house.root.declare_session(["h1", "h2"], ONTOLOGY, space="lab").session_id
    here, shared = writer.store_content(b"here", space="lab"), writer.store_content(b"both", space="lab")
    house.agent.store_content(b"both")
    for one in (here, shared):
        house.submit(
            session,
            Eliminate(source_id="s", observation_id=one.sha256, eliminated=("h1",), justification={}),
            AGENT,
        )
    refused(Code.FORBIDDEN, lambda: lab.erase(session, REASON, digests=[shared.sha256]))
    assert lab.erase(session, REASON, digests=[here.sha256]).erased == [here.sha256]
    assert house.agent.read_content(shared.sha256) == b"both"
    refused(Code.SESSION_NOT_FOUND, lambda: lab.erase(told(house), REASON, context=True))


def test_an_administrator_of_one_space_bars_nothing_that_others_may_bring(house: World) -> None:
    """What is cited need not be kept: its hash would be refused in every space from then on."""
    house.root.create_space("lab")
    lab = house.person(ROOT, rights_of(Role.ADMIN, "lab=admin"))
    session = house.root.declare_session(["h1", "h2"], ONTOLOGY, space="lab").session_id
    elsewhere = house.agent.store_content(b"elsewhere").sha256
    nowhere = hashlib.sha256(b"a form that everybody has").hexdigest()
    for name in (elsewhere, nowhere):
        command = Eliminate(source_id="s", observation_id=name, eliminated=("h1",), justification={})
        house.submit(session, command, AGENT)
    there = refused(Code.CONTENT_NOT_FOUND, lambda: lab.erase(session, REASON, digests=[elsewhere]))
    none = refused(Code.CONTENT_NOT_FOUND, lambda: lab.erase(session, REASON, digests=[nowhere]))
    assert there.message.replace(elsewhere, nowhere) == none.message, "it does not tell what others keep"
    assert house.agent.store_content(b"a form that everybody has").sha256 == nowhere
    assert house.root.erase(session, REASON, digests=[nowhere]).erased == [nowhere]
    other = house.root.declare_session(["h1", "h2"], ONTOLOGY, space="lab").session_id
    house.submit(other, command, AGENT)
    assert lab.erase(other, REASON, digests=[nowhere]).erased == [nowhere], "it is gone already"


def test_nothing_of_it_is_left_in_the_files_of_the_store(tmp_path: Path) -> None:
    path = tmp_path / "beliefd.db"
    with World(path, WITHHOLDING) as house:
        session = told(house)
        eliminate(
            house, session, {"long": SECRET * 3_000, "short": SECRET}, notes=SECRET, idempotency_key="k"
        )
        text = SECRET.encode()
        assert any(text in one.read_bytes() for one in tmp_path.iterdir()), "it was there"
        answer = house.root.erase(session, REASON, digests=[one.digest for one in parts(house, session)])
        assert answer.swept
        assert not [one.name for one in tmp_path.iterdir() if text in one.read_bytes()]
        house.check(session)
    assert not [one.name for one in tmp_path.iterdir() if text in one.read_bytes()]


def test_a_reader_that_holds_the_log_open_is_told_of(tmp_path: Path) -> None:
    path = tmp_path / "beliefd.db"
    with World(path, WITHHOLDING) as house:
        session = told(house)
        reader = sqlite3.connect(path, isolation_level=None)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM content").fetchone()
        assert not house.root.erase(session, REASON, events=[house.entries(session)[0].event_id]).swept
        reader.execute("ROLLBACK")
        reader.close()
        assert house.root.erase(session, REASON, events=[house.entries(session)[1].event_id]).swept
        assert not [one.name for one in tmp_path.iterdir() if SECRET.encode() in one.read_bytes()]


def test_content_that_comes_back_with_an_old_copy_goes_again(stored: World) -> None:
    session = told(stored)
    (one, *_) = parts(stored, session)
    kept = stored.run(lambda: stored.store.content(one.digest))
    assert kept is not None
    erased(stored, session)
    # As after a restore of the table alone: the row that says so is gone, and the content is back.
    bringer = Bringer(id="x", role=Role.AGENT, at=stored.clock.now())
    position = stored.run(lambda: stored.steward.positions.existing(session))
    stored.run(lambda: stored.store.replace_projection(session, position.head, "erased", ()))
    stored.run(lambda: stored.store.put_content(one.digest, kept, bringer))
    assert stored.run(lambda: differences(stored.store, session))
    assert SECRET.encode() not in str(parts(stored, session)).encode(), "who reads the ledger is not fooled"
    assert stored.run(lambda: rebuild(stored.store, session)) == ["erased"]
    assert stored.run(lambda: stored.store.content(one.digest)) is None
    assert not stored.run(lambda: differences(stored.store, session))


def test_an_import_brings_parts_along_but_none_that_was_erased(house: World) -> None:
    session = told(house)
    full = house.root.export(session, parts=True)
    house.root.erase(session, REASON, events=[house.entries(session)[0].event_id])
    assert SECRET.encode() in house.root.export(session, parts=True)
    assert SECRET.encode() not in house.root.export(session)
    half = house.root.export(session, parts=True)
    for lines, states in ((full, ["kept"] * 3), (half, ["erased", "kept", "kept"])):
        with World(policy=WITHHOLDING) as there:
            there.root.import_ledger(lines)
            assert [one.state for one in parts(there, session)] == states
            there.check(session)
    header = msgspec.json.decode(half.splitlines()[0])
    forged = {name: part + "x" for name, part in header["parts"].items()}
    rest = half.split(b"\n", 1)[1]
    bad = msgspec.json.encode({**header, "parts": forged}) + b"\n" + rest
    with World() as there:
        refused(Code.INVALID_REQUEST, lambda: there.root.import_ledger(bad))
    assert verify_with_node(bad).code == 5


def test_a_ledger_from_elsewhere_takes_away_nothing_that_is_kept_here(house: World, stored: World) -> None:
    """Who writes a ledger can name any content in it: evidence of others, or the parts of a session here."""
    for _ in range(9):
        house.session()  # its ids are not those of the other world
    evidence = stored.agent.store_content(b"what others rest on").sha256
    here = told(stored)
    for name in (evidence, parts(stored, here)[0].digest):
        there = house.session()
        command = Eliminate(source_id="s", observation_id=name, eliminated=("h1",), justification={})
        house.submit(there, command, AGENT)
        house.root.erase(there, REASON, digests=[name])
        lines = house.root.export(there)
        error = refused(Code.CONFLICT, lambda: stored.root.import_ledger(lines))  # noqa: B023 - called at once
        assert error.details is not None
        assert error.details["kept"] == [name]
        refused(Code.SESSION_NOT_FOUND, lambda: stored.root.query_belief(there))  # noqa: B023
    assert stored.agent.read_content(evidence) == b"what others rest on"
    assert {one.state for one in parts(stored, here)} == {"kept"}
    stored.root.erase(here, REASON, digests=[name])
    assert stored.root.import_ledger(lines).events == 3, "here it is gone, too"


def test_a_forged_withholding_is_named(house: World) -> None:
    session = told(house)
    exported = read_export(house.root.export(session, parts=True).splitlines())
    contents = exported.header.contents
    told_of = house.entries(session)
    good, _ = verify(told_of, session, exported.header.policies, contents=contents)
    assert good.ok
    wrong = dict.fromkeys(contents, b"0" * 64 + b'\n"another text"')
    bad, _ = verify(told_of, session, exported.header.policies, contents=wrong)
    assert bad.first_bad is not None
    assert "has another digest" in bad.first_bad.reason
