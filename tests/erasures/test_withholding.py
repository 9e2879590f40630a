"""What policy names stands beside the ledger, under a digest that tells nothing."""

import hashlib
import json
from typing import Any

import msgspec
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.policy import Policy
from beliefd.ledger.envelope import read
from beliefd.ledger.withheld import parts_of
from beliefd.steward.write.withholding import MAX_PARTS
from beliefd.stores.base import Append
from beliefd.stores.citations import Uncited
from beliefd.testing.world import ONTOLOGY, World, policy, refused
from tests.conformance.node import verify_with_node
from tests.erasures.support import PHONE, SECRET, WITHHOLDING, eliminate, parts, told


def test_a_ledger_says_of_a_withheld_part_only_where_it_was_and_its_salted_digest(stored: World) -> None:
    session = told(stored)
    first, second = (read(entry.record) for entry in stored.entries(session))
    declared, eliminated = (parts_of(one, WITHHOLDING) for one in (first, second))
    assert [part.path for part in declared] == ["/payload/metadata/reporter"]
    assert [part.path for part in eliminated] == [
        "/payload/justification/seen/0",
        "/payload/justification/seen/1/phone",
    ]
    said = msgspec.json.decode(second.payload)["justification"]
    marks = [f"erasable:sha256:{part.digest}" for part in eliminated]
    assert said == {"seen": [marks[0], {"phone": marks[1]}], "sure": True, "empty": ""}
    assert msgspec.json.decode(first.payload)["metadata"]["team"] == "red"
    digests = {part.digest for part in (*declared, *eliminated)}
    assert len(digests) == 3, "the same text twice has two digests"
    assert not digests & {hashlib.sha256(text.encode()).hexdigest() for text in (SECRET, json.dumps(SECRET))}
    for entry in stored.entries(session):
        assert SECRET.encode() not in entry.record
    stored.check(session)


def test_whoever_may_read_the_session_reads_what_it_withholds(stored: World) -> None:
    session = told(stored)
    assert [(one.seq, one.verb, one.state, one.value) for one in parts(stored, session)] == [
        (1, "DECLARE_SESSION", "kept", SECRET),
        (2, "ELIMINATE", "kept", SECRET),
        (2, "ELIMINATE", "kept", PHONE),
    ]
    page = stored.root.list_parts(session, limit=1)
    assert [one.seq for one in page.items] == [1]
    rest = stored.root.list_parts(session, cursor=page.next)
    assert ([one.seq for one in rest.items], rest.next) == ([2, 2], None)


def test_notes_are_withheld_of_every_verb_that_policy_names_all_of(house: World) -> None:
    session = house.session()
    house.agent.enter_obligation(session, "o1", 1, notes=SECRET)
    (part,) = parts(house, session)
    assert (part.path, part.value) == ("/notes", SECRET)
    assert read(house.entries(session)[-1].record).notes == f"erasable:sha256:{part.digest}"
    house.check(session)


def test_flags_that_a_rule_reads_are_never_withheld(house: World) -> None:
    session = told(house)
    answer = house.root.request_termination(session, context={"force": True, "why": SECRET})
    assert answer.approved
    assert [one.path for one in parts(house, session)][-1] == "/payload/context/why"
    house.check(session)


@pytest.mark.parametrize(
    ("erasable", "told"),
    [
        ({"SUBMIT_CLAIMS": ["bundle"]}, "`bundle` of `SUBMIT_CLAIMS`"),
        ({"ELIMINATE": ["eliminated"]}, "may name `justification`, `notes`"),
        ({"ELIMINATE": ["notes.x"]}, "`notes.x` of `ELIMINATE`"),
        ({"FORGET": ["x"]}, "`FORGET`, which is no verb"),
        ({"*": ["reason"]}, "`reason` of `*`"),
        ({"ELIMINATE": []}, "length >= 1"),
    ],
)
def test_policy_cannot_name_what_rules_read(erasable: dict[str, Any], told: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=told.replace("*", "[*]")):
        msgspec.convert({"erasable": erasable}, Policy)


def test_a_policy_that_withholds_nothing_keeps_its_hash() -> None:
    assert b"erasable" not in msgspec.json.encode(Policy())


def test_the_door_reads_what_is_withheld(stored: World) -> None:
    session = stored.session()
    error = refused(
        Code.SPECULATIVE_EVIDENCE,
        lambda: eliminate(stored, session, {"note": {"epistemic_status": "speculative", "x": SECRET}}),
    )
    assert SECRET not in str(error)
    assert error.details is not None
    assert error.details["withheld"]
    delta = stored.deltas(session)[-1]
    assert isinstance(delta, Refused)
    stored.check(session)
    stored.root.erase(session, "asked for", events=[stored.entries(session)[-1].event_id])
    stored.check(session)
    assert stored.verify(session).erased == 2


def test_the_same_request_is_known_again_and_another_is_not(stored: World) -> None:
    session = stored.session()
    first = eliminate(stored, session, {"seen": SECRET}, idempotency_key="k")
    again = eliminate(stored, session, {"seen": SECRET}, idempotency_key="k")
    assert again.audit_event_id == first.audit_event_id
    assert len(stored.entries(session)) == 2
    refused(Code.CONFLICT, lambda: eliminate(stored, session, {"seen": "x"}, idempotency_key="k"))
    stored.root.erase(session, "asked for", events=[first.audit_event_id])
    for justification in ({"seen": SECRET}, {"seen": "x"}):
        text = str(
            refused(
                Code.CONFLICT,
                lambda told=justification: eliminate(  # type: ignore[misc]
                    stored, session, told, idempotency_key="k"
                ),
            )
        )
        assert "erased" in text
        assert SECRET not in text


def test_a_repeated_declaration_is_known_again(stored: World) -> None:
    asked: dict[str, Any] = {"metadata": {"reporter": SECRET}, "idempotency_key": "d"}
    first = stored.agent.declare_session(["h1"], ONTOLOGY, **asked)
    assert stored.agent.declare_session(["h1"], ONTOLOGY, **asked).session_id == first.session_id


def test_an_approvers_reason_is_withheld_where_it_is_repeated_too(house: World) -> None:
    from tests.claims.support import bundle, claim

    session = house.session()
    judged = house.agent.submit_claims(session, bundle(claim("DELETE", "DECISION")))
    house.ann.reject(judged, reason=SECRET)
    assert SECRET.encode() not in b"".join(entry.record for entry in house.entries(session))
    assert [one.value for one in parts(house, session)] == [SECRET]
    house.check(session)


def test_what_is_withheld_counts_for_who_brought_it() -> None:
    with World(
        policy=policy(erasable={"ELIMINATE": ["justification"]}, content={"max_items_per_principal": 1})
    ) as house:
        session = house.session()
        eliminate(house, session, {"seen": SECRET})
        refused(Code.QUOTA_EXCEEDED, lambda: eliminate(house, session, {"seen": "more"}))
        assert len(house.entries(session)) == 2
        house.root.erase(session, "asked for", events=[house.entries(session)[-1].event_id])
        eliminate(house, session, {"seen": "more"})


def test_another_implementation_verifies_what_is_withheld(house: World) -> None:
    session = told(house)
    verdict = verify_with_node(house.root.export(session))
    assert verdict.code == 0
    assert verdict.text.endswith("; 3 parts withheld, 0 erased, 3 not in the file")
    verdict = verify_with_node(house.root.export(session, parts=True))
    assert verdict.code == 0
    assert verdict.text.endswith("; 3 parts withheld, 0 erased, 0 not in the file")


def test_a_policy_that_comes_into_force_holds_for_the_next_command() -> None:
    with World() as house:
        session = house.session()
        eliminate(house, session, {"seen": "in the clear"})
        house.root.adopt_policy(WITHHOLDING)
        eliminate(house, session, {"seen": SECRET})
        assert [one.seq for one in parts(house, session)] == [3]
        house.check(session)


def test_what_is_refused_without_a_record_is_not_kept_either(stored: World) -> None:
    """There would be no event to erase it by."""
    session = told(stored)
    before = kept(stored)
    refused(Code.CONFLICT, lambda: eliminate(stored, session, {"seen": SECRET}, if_match="another"))
    stored.root.seal_session(session, "over")
    refused(Code.SESSION_SEALED, lambda: eliminate(stored, session, {"seen": SECRET}))
    assert kept(stored) == before
    stored.root.unseal_session(session, "on again", notes="a remark")
    assert len(kept(stored) - before) == 1, "what takes a seal away is recorded, and withheld"


def test_one_command_has_no_more_parts_than_one_erasure_takes(house: World) -> None:
    session = told(house)
    before = kept(house)
    many = {"seen": [1] * (MAX_PARTS + 1)}
    error = refused(Code.INVALID_REQUEST, lambda: eliminate(house, session, many))
    assert f"more than {MAX_PARTS}" in error.message
    assert kept(house) == before
    eliminate(house, session, {"seen": [1] * MAX_PARTS, "not counted": [True, None, ""] * MAX_PARTS})
    assert len(kept(house) - before) == MAX_PARTS
    house.check(session)


def test_parts_that_are_collected_before_they_are_recorded_are_kept_anew(
    stored: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing cites them until then."""
    session = told(stored)
    before = kept(stored)
    append, removed = stored.store.append, list[str]()

    async def collecting(batch: Append) -> None:
        if not removed:
            removed.extend(found := sorted(set(batch.rests_on) - before))
            await stored.store.remove_content(found, "9999", Uncited(found))
        await append(batch)

    monkeypatch.setattr(stored.store, "append", collecting)
    eliminate(stored, session, {"seen": SECRET})
    assert len(removed) == 1
    assert [one.state for one in parts(stored, session)] == ["kept"] * 4
    assert not kept(stored) & set(removed)
    stored.check(session)


def test_a_merge_brings_nothing_into_the_chain_that_policy_keeps_beside_it(house: World) -> None:
    for _ in range(9):
        house.session()  # its ids are not those of the other world
    session = house.agent.declare_session(["h1", "h2"], ONTOLOGY).session_id
    start = house.root.export(session)
    with World() as there:  # where nothing is withheld
        there.root.import_ledger(start)
        eliminate(there, session, {"seen": [SECRET]})
        eliminate(there, session, {"sure": True})
        replica = there.root.export(session)
    assert SECRET.encode() in replica
    house.root.merge(session, replica)
    assert SECRET.encode() not in house.root.export(session, parts=True)
    items = msgspec.json.decode(read(house.entries(session)[-1].record).payload)["eliminations"]
    assert [item.get("justification") for item in items] == [None, {"sure": True}]
    assert house.root.query_belief(session).survivors == ["h2"]
    house.check(session)


def kept(house: World) -> set[str]:
    rows = house.run(lambda: house.store.content_before("9999", None, 10_000))
    return {row.sha256 for row in rows}
