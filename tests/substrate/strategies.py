"""Random constraints, states and actions, small enough that they have to do with each other."""

from typing import Any

from hypothesis import strategies as st

from beliefd.kernel.substrate.constraints import EFFECTS, EFFECTS_BY_VERSION, Action

KEYS = ("fact.a", "fact.a.b", "fact.b", "goal.x", "goal.x.y", "goal.z")
PATHS = (
    *KEYS,
    "fact.a.b.c",
    "fact.b.value",
    "goal.x.y.n",
    "goal.z.n",
    "fact",
    "call",
    "call.args.n",
    "call.tool_id",
)
TOOLS = ("t.one", "t.two")
CAPABILITIES = ("net", "disk")
SCHEMAS: dict[str, dict[str, Any]] = {"whole": {"type": "integer"}, "thing": {"type": "object"}}

TIMES = ("2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-01-01T00:01:00Z", "2026-13-01T00:00:00Z")
scalars = st.sampled_from([None, True, False, 0, 1, 1.0, 2, -0.5, "1", "a", "ab", "", *TIMES])
small = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["b", "c", "n", "b.c"]), inner, max_size=2)
    ),
    max_leaves=4,
)
values = st.dictionaries(st.sampled_from(["b", "n", "value", "b.c"]), small, max_size=3).map(
    lambda fields: {"v": 1, **fields}
)
states = st.dictionaries(st.sampled_from(KEYS), values, max_size=4)
patches = st.tuples(
    st.dictionaries(st.sampled_from(KEYS), values, max_size=2),
    st.lists(st.sampled_from(KEYS), max_size=2).map(tuple),
)
paths = st.sampled_from(PATHS)

leaves = st.one_of(
    st.builds(lambda path, value: {"op": "eq", "args": [path, value]}, paths, small),
    st.builds(lambda path, some: {"op": "in", "args": [path, some]}, paths, st.lists(small, max_size=3)),
    st.builds(lambda op, path: {"op": op, "args": [path]}, st.sampled_from(["exists", "missing"]), paths),
    st.builds(
        lambda path, schema: {"op": "schema", "args": [path, schema]},
        paths,
        st.sampled_from(["whole", "thing", {"type": "array"}, {"required": ["n"]}]),
    ),
)


def leaf(op: Any, *args: Any) -> st.SearchStrategy[dict[str, Any]]:
    """An operator on some path; it and its arguments are drawn, or stand as they are."""
    drawn = [one if isinstance(one, st.SearchStrategy) else st.just(one) for one in (op, *args)]
    return st.builds(lambda op, path, *rest: {"op": op, "args": [path, *rest]}, drawn[0], paths, *drawn[1:])


lists = st.lists(small, max_size=3)
later_leaves = st.one_of(
    leaf(st.sampled_from(["lt", "le", "gt", "ge"]), st.sampled_from([0, 1, 1.5, *TIMES[:3]])),
    leaf("between", 0, st.sampled_from([0, 1.0])),
    leaf("between", TIMES[0], TIMES[2]),
    leaf("age_over", st.sampled_from([0, 30, 60])),
    leaf(st.sampled_from(["starts_with", "ends_with"]), st.sampled_from(["", "a", "2026", "Z"])),
    leaf("matches", st.sampled_from(["", "^a", "b$", "[0-9]+", "^(a|ab)*$"])),
    leaf(st.sampled_from(["subset", "intersects"]), lists),
    leaf("count", st.sampled_from(["lt", "le", "gt", "ge", "eq"]), st.integers(0, 2)),
)


def joined(some: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.recursive(
        some,
        lambda inner: (
            st.builds(
                lambda op, args: {"op": op, "args": args},
                st.sampled_from(["all", "any"]),
                st.lists(inner, max_size=3),
            )
            | st.builds(lambda one: {"op": "not", "args": [one]}, inner)
        ),
        max_leaves=5,
    )


predicates = joined(leaves)
later_predicates = joined(leaves | later_leaves)
junk = st.one_of(
    small,
    st.builds(lambda op, args: {"op": op, "args": args}, st.sampled_from(["xor", "not", "eq"]), st.just([])),
    st.just({"op": "schema", "args": ["call.args", "nobody"]}),
    st.just({"op": "schema", "args": ["call.args", {"type": "nothing"}]}),
    st.just({"op": "matches", "args": ["call.args", "(?=a)"]}),
    later_leaves,
)
subjects = st.one_of(
    st.none(),
    st.sampled_from(TOOLS).map(lambda name: {"tool_id": name}),
    st.sampled_from((*CAPABILITIES, "write:fact", "write:goal")).map(lambda name: {"capability": name}),
)
on_fails = st.sampled_from(["block", "ask", "defer", "degrade"])


@st.composite
def constraints(draw: st.DrawFn, malformed: bool = True) -> Any:
    """Most can be read; some are spoilt in one place or another."""
    version = draw(st.sampled_from([1, 2]))
    made: dict[str, Any] = {
        "v": version,
        "effect": draw(st.sampled_from(EFFECTS_BY_VERSION[version])),
        "subject": draw(subjects),
    }
    if made["effect"] in EFFECTS:
        made["on_fail"] = draw(on_fails)
    if draw(st.booleans()):
        made["when"] = draw(predicates if version == 1 else later_predicates)
    if malformed and draw(st.integers(0, 5)) == 0:
        return draw(st.one_of(small, st.builds(lambda name, bad: {**made, name: bad}, spoilt, junk)))
    return made


spoilt = st.sampled_from(["v", "effect", "subject", "when", "on_fail", "reason", "other"])
names = st.builds(
    lambda prefix, letter: prefix + letter,
    st.sampled_from(["constraint.", "constraint.", "constraint.invariant."]),
    st.sampled_from("abcdefgh"),
)
policies = st.dictionaries(names, constraints(), max_size=6)

actions = st.builds(
    Action,
    st.sampled_from([None, *TOOLS, "t.other"]),
    st.lists(st.sampled_from((*CAPABILITIES, "write:fact", "write:goal")), max_size=3).map(tuple),
    st.dictionaries(st.sampled_from(["n", "b"]), small, max_size=2),
    st.sampled_from([{}, {"tier": "DELETE", "confirmed": True}, {"now": TIMES[2]}, {"now": TIMES[0]}]),
)
