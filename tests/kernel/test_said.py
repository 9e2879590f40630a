"""Texts that are read by type: nothing that an author may write is passed over."""

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import UNSET, Struct

from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.commands import SubmitClaims
from beliefd.kernel.doors import speculation_in
from beliefd.kernel.scan.said import texts_in

DIGEST = "0" * 64
TIME = "2026-01-05T14:02:00Z"
POINTER = {"source": "s", "source_confidence": 0.9, "evidence_hash": DIGEST, "retrieved_at": TIME}
UNCERTAINTY = {"method": "semantic_entropy", "value": 0.1, "interpretation": "i", "measurement_id": "m"}
CLAIM = {
    "statement": "it is so",
    "claim_type": "DECISION",
    "uncertainty": UNCERTAINTY,
    "risk_tier": "READ_ONLY",
    "id": "c",
    "evidence_pointers": [POINTER, POINTER],
    "if_wrong_cost": "none",
    "action": {"tool": "t"},
    "about": {"hypothesis": "h"},
}
BUNDLE: dict[str, Any] = {
    "origin_agent": "agent://a",
    "claims": [CLAIM, {**CLAIM, "id": "d", "action": {"proposition": "p"}, "about": {"proposition": "q"}}],
    "id": "b",
    "timestamp": TIME,
    "reason": "r",
    "required_approvals": ["x"],
    "audit_trail": {
        "gates_passed": ["g"],
        "gates_failed": ["g"],
        "human_approvals": [{"approver": "h", "timestamp": TIME, "decision": "APPROVED", "reason": "r"}],
        "gates_overridden": [{"gate": "g", "by": ["p"]}],
    },
    "corrects": {"bundle_id": "b", "claim_id": "c"},
}
CANARY = "canary speculative"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from leaves(item, (*path, place))
    elif isinstance(value, str):
        yield path


def with_text(path: tuple[Any, ...], text: str) -> ClaimBundle | None:
    """The bundle with another text in one place; None if no author can write it there."""
    document = copy.deepcopy(BUNDLE)
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = text
    try:
        return msgspec.convert(document, ClaimBundle)
    except msgspec.ValidationError:
        return None


def test_every_field_of_a_bundle_is_tried() -> None:
    bundle = msgspec.convert(BUNDLE, ClaimBundle)
    left = [name for name in bundle.__struct_fields__ if getattr(bundle, name) in (None, UNSET, (), "")]
    assert left == []


def text_at(path: tuple[Any, ...]) -> str:
    place: Any = BUNDLE
    for step in path:
        place = place[step]
    return str(place)


BUNDLE_TEXTS = {path: text_at(path) for path in leaves(BUNDLE)}
LITERALS = ("semantic_entropy", "DECISION", "READ_ONLY", "APPROVED")


@pytest.mark.parametrize("path", BUNDLE_TEXTS, ids=str)
def test_what_can_be_written_is_read(path: tuple[Any, ...]) -> None:
    bundle, closed = with_text(path, CANARY), BUNDLE_TEXTS[path] in (DIGEST, TIME, *LITERALS)
    assert (bundle is None) == closed
    assert bundle is None or CANARY in (texts_in(bundle) or [])


@pytest.mark.parametrize("text", ['{"lane": "speculative"}', "shyp-1-2-3", "bGFuZTogc3BlY3VsYXRpdmUK"])
def test_what_hides_in_any_text_is_stopped_at_the_door(text: str) -> None:
    tried = [bundle for path in BUNDLE_TEXTS if (bundle := with_text(path, text)) is not None]
    assert len(tried) > 10
    assert all(speculation_in(SubmitClaims(bundle=bundle)) is not None for bundle in tried)


class Open(Struct, frozen=True):
    text: str
    anything: dict[str, Any] = {}


class Many(Struct, frozen=True):
    texts: tuple[str | None, ...]


class Parent(Struct, frozen=True):
    inner: Open | None = None


@pytest.mark.parametrize("value", [Open("a"), Many(("a", None)), Parent()])
def test_types_that_do_not_say_it_all_are_opaque(value: Struct) -> None:
    assert texts_in(value) is None
