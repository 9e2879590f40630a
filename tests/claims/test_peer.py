"""The recorded race against Guardrails AI is one between equals."""

import json

import pytest
from benchmarks.peers.guardrails import RECORD, cases, ours

from beliefd.kernel.claims.gates import GATES

RECORDED = json.loads(RECORD.read_text(encoding="utf-8"))


def test_there_is_a_case_for_every_gate_and_one_that_passes() -> None:
    assert set(RECORDED["verdicts"]) == set(cases()) == {"passes", *GATES}
    assert [name for name, passed in RECORDED["verdicts"].items() if passed] == ["passes"]


@pytest.mark.parametrize("name", cases())
def test_a_bundle_is_judged_as_both_judged_it_when_they_were_timed(name: str) -> None:
    assert ours()(json.dumps(cases()[name])) == RECORDED["verdicts"][name]
