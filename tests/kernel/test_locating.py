"""Whatever closed set a value misses, the error names its members and the path, derived from the types."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.params import PARAMS
from beliefd.kernel.locating import KNOWN_FIELDS, MESSAGE_LENGTH, located
from beliefd.kernel.values import Principal
from beliefd.protocol.operations import BY_NAME, OPERATIONS
from beliefd.protocol.wire import convert

ROOTS: dict[str, Any] = {
    **{operation.name: operation.body for operation in OPERATIONS if operation.body is not None},
    **{str(name): params for name, params in PARAMS.items()},
}
KEY = "a key.with [dots]"

Built = Callable[[Any], Any]
"""Puts a value where a type is met, with no more around it than leads there."""


class Met(msgspec.Struct):
    """A type somewhere in a body: where, and how to put a value there."""

    root: str
    kind: inspect.Type
    path: str
    built: Built

    def complaint(self, value: Any) -> tuple[str, str]:
        with pytest.raises(BeliefdError) as raised:
            convert(self.built(value), ROOTS[self.root])
        assert raised.value.code is Code.INVALID_REQUEST
        return raised.value.message, (raised.value.details or {})["path"]

    def __repr__(self) -> str:
        return f"{self.root} {self.path}"


def walk(met: Met, above: frozenset[type] = frozenset()) -> Iterator[Met]:
    kind = met.kind
    if isinstance(kind, inspect.Metadata):
        yield from walk(msgspec.structs.replace(met, kind=kind.type), above)
        return
    yield met
    inner: list[tuple[inspect.Type, str, Built]] = []
    if isinstance(kind, inspect.UnionType):
        inner = [(one, "", lambda value: value) for one in kind.types]
    elif isinstance(kind, inspect.StructType) and kind.cls not in above:
        above |= {kind.cls}
        inner = [(field.type, f".{field.encode_name}", in_struct(kind, field)) for field in kind.fields]
    elif isinstance(kind, inspect.DictType) and not choices(kind.key_type):
        inner = [(kind.value_type, f".{KEY}", lambda value: {KEY: value})]
    elif isinstance(kind, inspect.ListType | inspect.VarTupleType):
        inner = [(kind.item_type, "[0]", lambda value: [value])]
    for one, step, put in inner:
        built = lambda value, put=put: met.built(put(value))  # noqa: E731
        yield from walk(Met(met.root, one, met.path + step, built), above)


def in_struct(kind: inspect.StructType, field: inspect.Field) -> Built:
    tag = {} if kind.tag_field is None else {kind.tag_field: kind.tag}
    return lambda value: {**tag, field.encode_name: value}


def choices(kind: inspect.Type) -> list[str]:
    if isinstance(kind, inspect.LiteralType):
        return [str(value) for value in kind.values]
    return [str(member.value) for member in kind.cls] if isinstance(kind, inspect.EnumType) else []


def tagged(kind: inspect.Type) -> list[inspect.StructType]:
    kinds = kind.types if isinstance(kind, inspect.UnionType) else [kind]
    return [one for one in kinds if isinstance(one, inspect.StructType) and one.tag_field is not None]


PLACES = [
    met
    for root, kind in ROOTS.items()
    for met in walk(Met(root, inspect.type_info(kind), "$", lambda value: value))
]
UNIONS = [met for met in PLACES if len(tagged(met.kind)) > 1]


def _is_closed(kind: inspect.StructType) -> bool:
    return kind.cls.__struct_config__.forbid_unknown_fields


TAGGED = [met for met in PLACES if len(tagged(met.kind)) == 1 and not isinstance(met.kind, inspect.UnionType)]
CLOSED = [met for met in PLACES if choices(met.kind)]
STRUCTS = [met for met in PLACES if isinstance(met.kind, inspect.StructType) and _is_closed(met.kind)]
OPEN = [met for met in PLACES if isinstance(met.kind, inspect.StructType) and not _is_closed(met.kind)]


def test_the_unions_that_are_known_to_be_there_were_found() -> None:
    assert {repr(met) for met in UNIONS} >= {
        "propose $.candidates[0]",
        "design_experiment $.spec.criterion",
        "model_simulation $.model",
    }
    assert len(TAGGED) > 10
    assert len(CLOSED) > 10
    assert len(STRUCTS) > 50


@pytest.mark.parametrize("met", UNIONS, ids=repr)
def test_an_unknown_tag_is_told_all_that_are_known(met: Met) -> None:
    kinds = tagged(met.kind)
    field, tags = kinds[0].tag_field, ", ".join(str(one.tag) for one in kinds)
    path = f"{met.path}.{field}"
    assert met.complaint({field: "unheard of"}) == (f"`unheard of` is not one of {tags}", path)
    assert met.complaint({field: 7}) == (f"expected `str`, got `int`; it must be one of {tags}", path)
    missing = f"object missing required field `{field}`; it must be one of {tags}"
    assert met.complaint({}) == (missing, path)


@pytest.mark.parametrize("met", TAGGED, ids=repr)
def test_another_tag_than_the_only_one_is_told_it(met: Met) -> None:
    [kind] = tagged(met.kind)
    message, path = met.complaint({kind.tag_field: "unheard of"})
    assert path == f"{met.path}.{kind.tag_field}"
    assert message.startswith("`unheard of` is not ")
    assert str(kind.tag) in message


@pytest.mark.parametrize("met", CLOSED, ids=repr)
def test_a_value_outside_a_closed_set_is_told_its_members(met: Met) -> None:
    names = choices(met.kind)
    message, path = met.complaint("unheard of" if not names[0].isdigit() else 10**6)
    assert path == met.path
    told = message.partition(" is not ")[2].removeprefix("one of ").replace("`", "")
    assert set(names) <= set(told.split(", "))
    message, path = met.complaint([])
    assert path == met.path
    assert all(name in message for name in names)


@pytest.mark.parametrize("met", STRUCTS, ids=repr)
def test_an_unknown_field_is_told_the_known_ones(met: Met) -> None:
    assert isinstance(met.kind, inspect.StructType)
    tag = {} if met.kind.tag_field is None else {met.kind.tag_field: met.kind.tag}
    names = [*tag, *(field.encode_name for field in met.kind.fields)]
    message, path = met.complaint({**tag, "x" * 999: 1})
    assert path == f"{met.path}.{'x' * 64}..."
    assert message.startswith(f"unknown field `{'x' * 64}...`")
    listed = [name for name in names if f"`{name}`" in message]
    assert len(listed) == min(len(names), KNOWN_FIELDS)
    assert (f"{len(names) - KNOWN_FIELDS} more" in message) == (len(names) > KNOWN_FIELDS)
    for name in names[-1:]:  # the one that a long list would leave out comes first when it is meant
        assert f"known: `{name}`" in met.complaint({**tag, f"{name}_": 1})[0]


def test_only_what_clients_of_others_write_may_hold_fields_that_are_unknown() -> None:
    assert {repr(met) for met in OPEN} == {"hook_event $"}


def test_the_tag_that_is_given_says_which_fields_are_known() -> None:
    body = {"candidates": [{"kind": "delta", "tool": "x"}]}
    with pytest.raises(BeliefdError) as raised:
        convert(body, BY_NAME["propose"].body)
    assert raised.value.details == {"path": "$.candidates[0].tool"}
    assert raised.value.message == "unknown field `tool`; known: `kind`, `patch`, `delta_vector`, `rationale`"


def test_a_tier_that_is_none_is_told_the_tiers_and_no_regular_expression() -> None:
    with pytest.raises(BeliefdError) as raised:
        convert({"id": "a", "role": "agent", "tier": "GOD"}, Principal)
    told = "expected `str` that is one of READ_ONLY, WRITE_LIMITED, MODIFY, DELETE, PRIVILEGE"
    assert (raised.value.message, raised.value.details) == (told, {"path": "$.tier"})


class Nested(msgspec.Struct):
    shelves: dict[str, dict[str, Principal]]


def test_entries_of_mappings_in_mappings_are_named() -> None:
    whole = {"id": "a", "role": "agent"}
    body = {"shelves": {"x": {"y": whole}, "z": {"v": whole, "w": {**whole, "role": "pope"}}}}
    with pytest.raises(BeliefdError) as raised:
        convert(body, Nested)
    assert raised.value.details == {"path": "$.shelves.z.w.role"}


# msgspec says what is wrong in texts that it is free to reword.
REWORDED = {
    "Nope": ("nope", "$"),
    "the tag `call` is unknown at $.candidates[0].kind": (
        "the tag `call` is unknown at $.candidates[0].kind",
        "$",
    ),
    "Bad tag - at `$.candidates[0].kind`": ("bad tag", "$.candidates[0].kind"),
    "Bad entry - at `$.candidates[...][...].kind`": ("bad entry", "$.candidates[...][...].kind"),
    "Invalid value 'x' - at `$.nowhere[7].at[...].all`": ("invalid value 'x'", "$.nowhere[7].at[...].all"),
    "Object contains unknown field `x` - at `$.nowhere`": ("unknown field `x`", "$.nowhere.x"),
    "Bad key - at `key` in `$.candidates`": ("bad key", "$.candidates"),
    "": ("this value does not fit", "$"),
    "X" * 999: ("x" + "X" * (MESSAGE_LENGTH - 1), "$"),
}


@pytest.mark.parametrize("text", REWORDED, ids=lambda text: text[:40])
def test_a_text_that_is_not_recognised_is_handed_on(text: str) -> None:
    error = msgspec.ValidationError(text)
    value = {"candidates": [{"kind": "call"}]}
    assert located(error, value, BY_NAME["propose"].body) == REWORDED[text]
    assert located(error, None, BY_NAME["propose"].body)[0] == REWORDED[text][0]
