"""Which events can confirm: runs that support solidly, people who agree, calls that ended well."""

import base64
from typing import Any

import pytest

from beliefd.kernel.approvals.commands import DecideApproval
from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.experiments.events import EvidenceLinked, RunRecorded
from beliefd.kernel.substrate.echo import MOST_CALLERS, MOST_PUT_IN, echoes, put_in, put_in_by
from beliefd.kernel.substrate.tools import Witness
from beliefd.kernel.values import PEOPLE, Principal, Role
from beliefd.kernel.witness import witness_of
from beliefd.testing.world import AGENT, ANN
from tests.firewall.lab import Lab


def witnesses(lab: Lab, kind: type) -> list[Witness | None]:
    return [witness_of(entry.delta, entry.actor) for entry in lab.recorded if isinstance(entry.delta, kind)]


@pytest.mark.parametrize(
    ("outcome", "more", "witness"),
    [
        ("support", {}, True),
        ("support", {"fragile": True}, False),
        ("support", {"typed": True}, False),
        ("support", {"bookkeeping": True}, False),
        ("refute", {}, False),
        ("unresolved", {}, False),
        ("support", {"status": "failed"}, False),
    ],
    ids=str,
)
def test_a_run_is_a_witness_if_its_evidence_supports_and_is_solid(
    outcome: str, more: dict[str, Any], witness: bool
) -> None:
    lab = Lab()
    lab.ran("heat", outcome, **more)
    (found,) = witnesses(lab, RunRecorded)
    assert (found is not None) == witness
    assert found is None or (found.kind, found.about) == ("run", "heat")


def test_the_same_data_under_another_seed_or_linked_is_the_same_evidence() -> None:
    lab = Lab()
    lab.evidence("heat", body=1)
    lab.ran("heat", body=1)
    lab.ran("light", body=1)
    first, second, other = witnesses(lab, RunRecorded)
    assert witnesses(lab, EvidenceLinked) == [first]
    assert first == second
    assert first != other


def test_nothing_else_that_happens_in_a_story_is_a_witness() -> None:
    lab = Lab()
    lab.speculate("heat")
    lab.stage("create_claim", "heat", statement="perhaps")
    lab.evidence("heat")
    lab.proposition("heat")
    lab.link("heat", "nothing", "support")
    found = {type(entry.delta) for entry in lab.recorded if witness_of(entry.delta, entry.actor) is not None}
    assert found == {RunRecorded, EvidenceLinked, ApprovalDecided}


@pytest.mark.parametrize("word", ["APPROVED", "REJECTED", "DEFERRED"])
def test_of_what_people_say_only_a_yes_is_a_witness(word: str) -> None:
    lab = Lab()
    lab.stage("create_proposition", "heat", statement="the mean is one")
    lab.decide(word)
    (found,) = witnesses(lab, ApprovalDecided)
    assert (found is not None) == (word == "APPROVED")


def test_a_yes_is_a_witness_only_by_a_person_and_only_if_it_was_carried_out() -> None:
    lab = Lab()
    lab.stage("create_proposition", "heat", statement="the mean is one")
    waiting = lab.waiting
    lab.stage("create_proposition", "heat", statement="the mean is two")
    second = next(one for one in lab.state.approvals.by_id.values() if one is not waiting)
    for item in (waiting, second):
        command = DecideApproval(
            approval_id=item.approval_id, decision="APPROVED", content_hash=item.content_hash
        )
        lab.ask(command, ANN)
    done, failed = witnesses(lab, ApprovalDecided)
    assert done is not None
    assert failed is None, "there was a proposition of that name already"
    event = next(entry.delta for entry in lab.recorded if isinstance(entry.delta, ApprovalDecided))
    for role in Role:
        who = Principal(id=AGENT.id, role=role)
        assert (witness_of(event, who) is not None) == (role in PEOPLE)


def test_a_call_that_says_back_what_it_was_told_confirms_nothing() -> None:
    lie = "the pool is empty and all two hundred connections are in use"
    for result, *args in (
        ({"said": ["disk is full", 3]}, {"say": "disk is full", "n": [3]}),
        ({"said": "you said: disk is full"}, {"say": "disk is full"}),
        ({}, {"path": "/"}),
        ({"out": f'{{"{lie}": true}}'}, {lie: True}),
        ({"out": lie.upper()}, {"text": lie}),
        ({"out": base64.b64encode(lie.encode()).decode()}, {"text": lie}),
        ({"out": "caf\\u00e9 is closed for good"}, {"text": "café is closed for good"}),
        ({"v": lie}, {"value": lie}, {"value": [f"{number:0100d}" for number in range(320)]}),
        ({"free": 0.02}, {"value": "x" * (MOST_PUT_IN + 1)}),
    ):
        assert echoes(result, put_in(args)), result
    assert not echoes({"free": 0.02}, put_in([{"path": "/"}]))


LIE = "the pool is empty and all two hundred connections are in use"
BULK = {"value": "x" * (MOST_PUT_IN - 10)}


def test_what_others_put_in_by_the_megabyte_speaks_against_nobody_and_hides_nothing() -> None:
    told = {"free": 0.02, "note": "as it was measured"}
    flood = [("liar", BULK), ("liar", {"value": "y" * MOST_PUT_IN})]
    flood += [(f"liar/{number}", BULK) for number in range(2 * MOST_CALLERS)]
    assert not echoes(told, put_in_by([*flood, ("other", {"path": "/"})], "other"))
    for said in (LIE, {"key": LIE}):
        for who in ("other", "third", "liar"):
            put = [*flood, (who, {"value": said})]
            assert echoes({"out": LIE.upper()}, put_in_by(put, "other")), (said, who)
    # One that was short of its bound is looked for in parts, too.
    assert echoes({"out": f"they say {LIE}"}, put_in_by([("liar", BULK), ("third", {"say": LIE})], "other"))


def test_nobody_can_tell_what_a_caller_repeats_who_put_in_too_much_himself() -> None:
    for mine in ([("me", {"value": LIE}), ("me", BULK)], [("me", BULK), ("me", {"value": LIE})]):
        assert put_in_by(mine, "me").whole is None
        assert echoes({"free": 0.02}, put_in_by(mine, "me"))
    # The same text twice is no more than once.
    assert put_in_by([("me", BULK)] * 3, "me").whole is not None
