"""Random values of any type that the kernel's structs are made of, worked out from the type alone."""

from typing import Any

from hypothesis import strategies as st
from msgspec import inspect

from beliefd.kernel import patterns

SAMPLES = {
    patterns.ID: ["a", "b c", "agent://x"],
    patterns.TIMESTAMP: ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000006+01:00"],
    patterns.DIGEST: ["ab" * 16, "cd" * 32],
    patterns.SHA256: ["0" * 64, "f" * 64],
    patterns.HINTS_DIGEST: ["", "0123456789abcdef"],
    patterns.UNIT: ["1", "ms", "kg/m^2"],
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=2),
    max_leaves=4,
)


def any_of(kind: Any) -> st.SearchStrategy[Any]:
    return _any(inspect.type_info(kind))


def _any(info: inspect.Type) -> st.SearchStrategy[Any]:  # noqa: PLR0911, PLR0912 - one branch per kind of type
    match info:
        case inspect.Metadata():
            return _any(info.type)
        case inspect.AnyType():
            return JSON
        case inspect.NoneType():
            return st.none()
        case inspect.BoolType():
            return st.booleans()
        case inspect.IntType():
            low = info.ge if info.ge is not None else 0
            return st.integers(low, min(info.le if info.le is not None else 9, low + 9))
        case inspect.FloatType():
            return st.floats(0.25, 0.5)
        case inspect.StrType():
            known = next((SAMPLES[one] for one in SAMPLES if one == info.pattern), None)
            if info.pattern is not None and known is None:
                return st.from_regex(info.pattern, fullmatch=True)
            return (
                st.text("ab", min_size=info.min_length or 0, max_size=4)
                if known is None
                else st.sampled_from(known)
            )
        case inspect.LiteralType():
            return st.sampled_from(info.values)
        case inspect.EnumType():
            return st.sampled_from(list(info.cls))
        case inspect.VarTupleType():
            low = info.min_length or 0
            return st.lists(_any(info.item_type), min_size=low, max_size=low + 1).map(tuple)
        case inspect.TupleType():
            return st.tuples(*(_any(one) for one in info.item_types))
        case inspect.DictType():
            return st.dictionaries(_any(info.key_type), _any(info.value_type), max_size=2)
        case inspect.UnionType():
            return st.one_of(*(_any(one) for one in info.types))
        case inspect.StructType():
            return _struct(info)
    raise AssertionError(f"no strategy for {info}")


def _struct(info: inspect.StructType) -> st.SearchStrategy[Any]:
    fields = {
        field.name: _any(field.type) if field.required else st.just(...) | _any(field.type)
        for field in info.fields
    }

    def build(given: dict[str, Any]) -> Any:
        try:
            return info.cls(**{name: value for name, value in given.items() if value is not ...})
        except ValueError:  # what only a whole value can be wrong about, such as an empty patch
            return None

    return st.fixed_dictionaries(fields).map(build).filter(lambda one: one is not None)
