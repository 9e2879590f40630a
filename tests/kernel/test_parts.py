"""The parts of a session: what is in them survives being packed, and every verb and event has its field."""

import ast
import importlib
import inspect
import pkgutil
from types import ModuleType
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rpds import HashTrieMap

import beliefd.kernel
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.beliefs.events import Declared
from beliefd.kernel.commands import VERB_OF
from beliefd.kernel.decide import RULES
from beliefd.kernel.event import EventBase, Refused
from beliefd.kernel.events import KIND_OF
from beliefd.kernel.evolve import FOLDS, begin
from beliefd.kernel.state import Session, grounded
from beliefd.kernel.values import OntologyBundle
from beliefd.ledger.state_hash import PartField, part_fields, state_hash
from beliefd.steward.write.positions import pack, unpack
from tests.kernel.any_value import any_of

BEGUN = begin(
    "s",
    DeclareSession(
        ontology=OntologyBundle(
            hypothesis_space_id="x",
            hypothesis_version="1",
            causal_graph_ref="none",
            causal_graph_version="none",
        ),
        hypotheses=("h1", "h2", "h3"),
    ),
)


def held_in(field: PartField) -> st.SearchStrategy[Any]:
    if field.kept is None:
        return any_of(field.kind)
    entries = st.dictionaries(
        st.sampled_from(["a", "b", "c"]), any_of(field.kept.kind), min_size=1, max_size=2
    )
    if field.kind is dict:
        return entries
    return entries.map(HashTrieMap if field.kind is HashTrieMap else field.kind)


def same(one: Any, other: Any) -> bool:
    """Equal in value and in type, all the way down."""
    if type(one) is not type(other):
        return False
    if isinstance(one, msgspec.Struct):
        return all(same(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    if hasattr(one, "items"):
        return sorted(one) == sorted(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@pytest.mark.parametrize("field", part_fields(), ids=lambda field: f"{field.part}.{field.field}")
@given(data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
def test_every_field_of_every_part_survives_packing_with_value_and_type(
    field: PartField, data: st.DataObject
) -> None:
    # What is empty is left out of the document, so what a field is empty of is its default.
    held = data.draw(held_in(field)) or field.of(BEGUN)
    part = replace(getattr(BEGUN, field.part), **{field.field: held})
    session = replace(BEGUN, **{field.part: part})
    restored = unpack(pack(session, 256), BEGUN, state_hash(session))
    assert restored is not None
    assert same(restored, session)


def test_the_order_of_obligations_survives() -> None:
    field = next(one for one in part_fields() if one.field == "obligations")
    assert field.kept is not None
    assert field.kept.in_order


def test_every_part_that_grows_says_so() -> None:
    """A trie whose annotation does not tell what is in it could be packed, but not restored."""
    untold = [
        field for field in part_fields() if isinstance(field.of(BEGUN), HashTrieMap) and field.kept is None
    ]
    assert not untold


def test_no_two_fields_share_a_name_in_the_document() -> None:
    names = [field.name for field in part_fields()]
    assert len(names) == len(set(names))
    assert not {"session_id", "survivors_hash"} & set(names)


def test_a_grounded_session_has_all_parts_but_the_speculative_one() -> None:
    speculation = replace(
        BEGUN.speculation, ideas=HashTrieMap({"i": 1}), ideas_per_claim=HashTrieMap({"c": 1})
    )
    assert grounded(replace(BEGUN, speculation=speculation)) == BEGUN


def vocabulary_modules(name: str) -> list[ModuleType]:
    found = [
        f"{package.name}.{name}" for package in pkgutil.iter_modules(beliefd.kernel.__path__) if package.ispkg
    ]
    modules = []
    for dotted in found:
        try:
            modules.append(importlib.import_module(f"beliefd.kernel.{dotted}"))
        except ModuleNotFoundError:  # the scan is no vocabulary
            continue
    return modules


def defined(modules: list[ModuleType], base: type) -> set[type]:
    return {
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, base) and one.__module__ == module.__name__
    }


def test_every_command_of_a_vocabulary_is_a_command_and_has_a_rule() -> None:
    tagged = {
        one
        for one in defined(vocabulary_modules("commands"), msgspec.Struct)
        if one.__struct_config__.tag_field == "verb"  # type: ignore[attr-defined]
    }
    assert tagged == set(VERB_OF)
    assert set(RULES) == tagged - {DeclareSession}


def test_every_event_of_a_vocabulary_is_an_event_and_has_a_fold() -> None:
    assert defined(vocabulary_modules("events"), EventBase) | {Refused} == set(KIND_OF)
    assert set(FOLDS) == set(KIND_OF) - {Declared, Refused}


def test_verbs_and_kinds_are_told_apart_by_their_names() -> None:
    assert len(set(VERB_OF.values())) == len(VERB_OF)
    assert len(set(KIND_OF.values())) == len(KIND_OF)


def test_the_session_is_made_of_parts() -> None:
    parts = set(Session.__struct_fields__) - {"session_id", "ontology", "options", "metadata"}
    assert {field.part for field in part_fields()} == parts


def test_a_fold_replaces_fields_and_never_builds_a_part_anew() -> None:
    """A part that is built from what a fold knows loses every field that is added later."""
    parts = {
        field.type.__name__ for field in msgspec.structs.fields(Session) if hasattr(field.type, "__mro__")
    }
    for module in vocabulary_modules("folds"):
        tree = ast.parse(inspect.getsource(module))
        called = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & parts, module.__name__


@pytest.mark.parametrize(
    "field", [one for one in part_fields() if one.part == "speculation"], ids=lambda one: one.field
)
def test_whatever_is_speculated_is_not_shown_to_grounded_rules(field: PartField) -> None:
    held = replace(BEGUN.speculation, **{field.field: HashTrieMap({"c": 1})})
    assert grounded(replace(BEGUN, speculation=held)) == BEGUN
