"""What is not the contract is refused before anything is recorded, with the path and what would pass."""

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.steward.handlers.claims import read_bundle
from beliefd.testing.world import NOW, World, refused
from tests.claims.support import bundle, claim, pointer

Step = str | int
ENUMS: list[tuple[tuple[Step, ...], tuple[str, ...]]] = [
    (("claims", 0, "claim_type"), ("FACT", "INFERENCE", "DECISION")),
    (("claims", 0, "risk_tier"), ("READ_ONLY", "WRITE_LIMITED", "MODIFY", "DELETE", "PRIVILEGE")),
    (
        ("claims", 0, "uncertainty", "method"),
        ("semantic_entropy", "model_disagreement", "confidence_score", "conformal_set"),
    ),
    (("claims", 0, "uncertainty", "gate_recommendation"), ("EXECUTE", "DEFER", "REFUSE", "EXPLAIN")),
    (("decision",), ("PUBLISH", "DEFER", "ESCALATE", "REFUSE")),
    (("audit_trail", "human_approvals", 0, "decision"), ("APPROVED", "REJECTED")),
]
UNITS: list[tuple[Step, ...]] = [
    ("claims", 0, "uncertainty", "value"),
    ("claims", 0, "evidence_pointers", 0, "source_confidence"),
]
TIMES: list[tuple[Step, ...]] = [
    ("timestamp",),
    ("claims", 0, "evidence_pointers", 0, "retrieved_at"),
]
HASH: tuple[Step, ...] = ("claims", 0, "evidence_pointers", 0, "evidence_hash")


def whole() -> dict[str, Any]:
    """A bundle in which every field is given."""
    return bundle(
        claim("READ_ONLY", "FACT"),
        id="b1",
        timestamp=NOW,
        decision="DEFER",
        reason="",
        required_approvals=[],
        audit_trail={
            "gates_passed": [],
            "gates_failed": [],
            "human_approvals": [{"approver": "a", "timestamp": NOW, "decision": "APPROVED", "reason": ""}],
        },
    )


def put(value: Any, steps: tuple[Step, ...], item: object) -> dict[str, Any]:
    changed = copy.deepcopy(value)
    inner: Any = changed
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = item
    return dict(changed)


def without(value: Any, steps: tuple[Step, ...]) -> dict[str, Any]:
    changed = put(value, steps, None)
    inner: Any = changed
    for step in steps[:-1]:
        inner = inner[step]
    del inner[steps[-1]]
    return changed


def path_of(steps: tuple[Step, ...]) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def complaint(body: Any) -> BeliefdError:
    return refused(Code.INVALID_REQUEST, lambda: read_bundle(body))


def fields(value: Any, steps: tuple[Step, ...] = ()) -> Iterator[tuple[Step, ...]]:
    """The way to every field of a JSON value."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield (*steps, key)
            yield from fields(item, (*steps, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from fields(item, (*steps, place))


def test_the_whole_bundle_itself_is_fine() -> None:
    assert read_bundle(whole()).id == "b1"


@pytest.mark.parametrize(("steps", "allowed"), ENUMS, ids=lambda value: str(value[-1]))
@pytest.mark.parametrize(
    "misspelt", ["", "fact", "PUBLISHED", "EXECUTE ", "FACT\n", "ＦＡＣＴ", "'", "x" * 999]
)
def test_a_misspelt_enum_is_refused_and_told_what_would_pass(
    steps: tuple[Step, ...], allowed: tuple[str, ...], misspelt: str
) -> None:
    error = complaint(put(whole(), steps, misspelt))
    assert error.details == {"path": path_of(steps)}
    told = error.message.split(" is not one of ")[1]
    assert set(told.split(", ")) == set(allowed)
    assert len(error.message) < 250


@pytest.mark.parametrize("steps", [steps for steps, _ in ENUMS], ids=path_of)
@pytest.mark.parametrize("wrong", [None, 1, True, [], {}])
def test_an_enum_of_another_type_is_refused(steps: tuple[Step, ...], wrong: object) -> None:
    assert complaint(put(whole(), steps, wrong)).details == {"path": path_of(steps)}


@pytest.mark.parametrize("steps", UNITS, ids=path_of)
@pytest.mark.parametrize(
    "wrong",
    [-0.01, 1.01, 2, -1, 1e308, float("nan"), float("inf"), float("-inf"), "0.5", True, None, [0.5]],
)
def test_a_number_out_of_bounds_is_refused(steps: tuple[Step, ...], wrong: object) -> None:
    assert complaint(put(whole(), steps, wrong)).details == {"path": path_of(steps)}


@pytest.mark.parametrize("steps", UNITS, ids=path_of)
@pytest.mark.parametrize("right", [0, 1, 0.0, 1.0, -0.0, 0.5, 5e-324])
def test_a_number_at_the_bounds_is_taken(steps: tuple[Step, ...], right: float) -> None:
    assert read_bundle(put(whole(), steps, right)).id == "b1"


@pytest.mark.parametrize("steps", TIMES, ids=path_of)
@pytest.mark.parametrize(
    "wrong",
    [
        "2025-13-01T00:00:00Z",
        "2025-02-30T00:00:00Z",
        "2025-00-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "2025-12-01T25:00:00Z",
        "2025-12-01T00:00:61Z",
        "2025-12-01T00:00:00",
        "2025-12-01T00:00:00+24:00",
        "2025-12-01T00:00:00+99:99",
        "2025-12-01T00:00:00Z\n",
        " 2025-12-01T00:00:00Z",
        "2025-12-01 00:00:00Z",
        "2025-12-01",
        "20251201T000000Z",
        "2025-W01-1T00:00:00Z",
        "2025-12-01T00:00:00.1234567Z",
        "２０２５-12-01T00:00:00Z",
        "now",
        "",
        1735689600,
    ],
)
def test_a_time_that_is_none_is_refused(steps: tuple[Step, ...], wrong: object) -> None:
    assert complaint(put(whole(), steps, wrong)).details == {"path": path_of(steps)}


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "ab" * 15,
        "a" * 33,
        "a" * 63,
        "a" * 65,
        "ab" * 65,
        "g" * 64,
        "a" * 63 + "\n",
        "a" * 64 + "\n",
        "0x" + "a" * 62,
        "a" * 32 + " " + "a" * 31,
        "ａ" * 64,
        "sha256:" + "a" * 64,
        None,
        0,
    ],
)
def test_a_hash_that_is_no_digest_is_refused(wrong: object) -> None:
    assert complaint(put(whole(), HASH, wrong)).details == {"path": path_of(HASH)}


@pytest.mark.parametrize("missing", ["source", "source_confidence", "evidence_hash", "retrieved_at"])
def test_a_pointer_must_have_all_its_fields(missing: str) -> None:
    steps = ("claims", 0, "evidence_pointers", 0, missing)
    error = complaint(without(whole(), steps))
    assert error.details == {"path": path_of(steps)}
    assert f"`{missing}`" in error.message


@pytest.mark.parametrize("missing", ["statement", "claim_type", "uncertainty", "risk_tier"])
def test_a_claim_must_have_what_no_default_can_stand_for(missing: str) -> None:
    steps = ("claims", 0, missing)
    assert complaint(without(whole(), steps)).details == {"path": path_of(steps)}


@pytest.mark.parametrize("missing", ["origin_agent", "claims"])
def test_a_bundle_must_say_who_claims_what(missing: str) -> None:
    assert complaint(without(whole(), (missing,))).details == {"path": f"$.{missing}"}


def test_an_empty_bundle_is_refused() -> None:
    assert complaint(bundle(claims=[])).details == {"path": "$.claims"}


@pytest.mark.parametrize("steps", list(fields(whole())), ids=path_of)
def test_a_field_beside_the_contract_is_refused_at_every_level(steps: tuple[Step, ...]) -> None:
    beside = (*steps[:-1], "extra")
    error = complaint(put(whole(), beside, 1))
    assert error.details == {"path": path_of(beside)}


@pytest.mark.parametrize("steps", list(fields(whole())), ids=path_of)
def test_no_field_takes_a_value_of_another_kind(steps: tuple[Step, ...]) -> None:
    error = complaint(put(whole(), steps, {"unexpected": 1}))
    assert str((error.details or {})["path"]).startswith(path_of(steps))


SPELT_TWICE = [steps for steps in fields(whole()) if "_" in str(steps[-1])]


@pytest.mark.parametrize("steps", SPELT_TWICE, ids=path_of)
def test_both_spellings_at_once_are_refused_with_their_place(steps: tuple[Step, ...]) -> None:
    inner: Any = whole()
    for step in steps:
        inner = inner[step]
    other = (*steps[:-1], str(steps[-1]).replace("_", "-"))
    error = complaint(put(whole(), other, inner))
    assert error.details == {"path": path_of(other)}


@pytest.mark.parametrize(
    ("ids", "place"),
    [(("c1", "c1"), 1), (("c1", "c2", "c1"), 2), ((None, "claim-1"), 1), (("claim-2", None), 1)],
)
def test_an_id_names_one_claim(ids: tuple[str | None, ...], place: int) -> None:
    error = complaint(bundle(*(claim(id=name) for name in ids)))
    assert error.details == {"path": f"$.claims[{place}].id"}


@pytest.mark.parametrize("wrong", ["", "a\nb", "a\x00", "\u2028", "x" * 513, 7])
def test_an_id_is_one_visible_line(wrong: object) -> None:
    assert complaint(bundle(claim(), id=wrong)).details == {"path": "$.id"}
    assert complaint(bundle(claim(id=wrong))).details == {"path": "$.claims[0].id"}


def test_a_bundle_has_bounds() -> None:
    many = [claim(id=str(place)) for place in range(1001)]
    assert complaint(bundle(*many)).details == {"path": "$.claims"}
    crowded = claim("READ_ONLY", "FACT", evidence_pointers=[pointer()] * 101)
    assert complaint(bundle(crowded)).details == {"path": "$.claims[0].evidence_pointers"}
    assert complaint(bundle(claim(statement="x" * 20_001))).details == {"path": "$.claims[0].statement"}


@pytest.mark.parametrize("body", [{}, {"claims": "x"}, {"origin_agent": "a", "claims": [1]}])
def test_nothing_is_recorded_of_what_cannot_be_read(body: dict[str, Any]) -> None:
    with World() as house:
        session = house.session()
        before = house.agent.audit_trace(session)
        refused(Code.INVALID_REQUEST, lambda: house.agent.submit_claims(session, body))
        refused(Code.INVALID_REQUEST, lambda: house.agent.check_claims(body))
        assert house.agent.audit_trace(session) == before


def test_a_lone_surrogate_is_refused_and_does_not_harm_the_session() -> None:
    with World() as house:
        session = house.session()
        refused(
            Code.INVALID_REQUEST,
            lambda: house.agent.submit_claims(session, bundle(claim(statement="half \ud800"))),
        )
        assert house.agent.submit_claims(session, bundle()).decision == "PUBLISH"
        assert house.agent.verify(session).ok


def test_the_longest_id_leaves_the_ledger_readable() -> None:
    """A claim without an id is named by the server; that name must fit where names are read back."""
    with World() as house:
        session = house.session()
        longest = "b" * 512
        house.agent.submit_claims(session, bundle(claim(id=None), id=longest))
        assert house.agent.show_claims(session, longest).claims[0].id == "claim-1"
        assert house.agent.verify(session).ok


def test_an_edit_is_held_to_the_same_contract() -> None:
    with World() as house:
        waiting = house.agent.submit_claims(house.session(), bundle(claim("DELETE")))
        for edit, path in (
            ([claim(), claim()], "$.claims[1].id"),
            ([claim(risk_tier="NONE")], "$.claims[0].risk_tier"),
            ([claim(value=2.0)], "$.claims[0].uncertainty.value"),
        ):
            error = refused(Code.INVALID_REQUEST, partial(house.ann.modify, waiting, *edit))
            assert error.details == {"path": path}
        assert house.ann.show_approval(str(waiting.approval_id)).status == "pending"
