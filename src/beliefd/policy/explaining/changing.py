"""Changing one value of what is judged: an argument, a value of the change itself, or a key of the state."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.substrate.namespaces import WRITERS, namespace
from beliefd.kernel.substrate.paths import ABSENT, keys_of, look_up
from beliefd.kernel.substrate.predicates import CALL, CALL_FACTS
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate, DeltaCandidate, Patch
from beliefd.kernel.substrate.symbolic_state import SymbolicState
from beliefd.protocol.explaining import Where

ARGS: Final = f"{CALL}.args"


class Target(Struct, frozen=True):
    """A value that can be changed, by the path that constraints know it by."""

    where: Where
    path: str


Tried = tuple[SymbolicState, Candidate]


def targets(path: str, candidate: Candidate) -> list[Target]:
    """Where a path can be changed by those who propose or write; nowhere, if it is the kernel's."""
    if path == ARGS or path.startswith(f"{ARGS}."):
        return [Target("argument", path)] if isinstance(candidate, CallCandidate) and path != ARGS else []
    if path == CALL_FACTS or path.startswith(f"{CALL_FACTS}.") or not WRITERS.get(namespace(path)):
        return []
    if path.count(".") < 1:
        return []
    found = [Target("state", path)]
    if isinstance(candidate, DeltaCandidate) and _key(candidate.patch.set, path) is not None:
        found.insert(0, Target("patch", path))
    return found


def value_at(target: Target, tried: Tried) -> Any:
    state, candidate = tried
    if target.where == "argument":
        assert isinstance(candidate, CallCandidate)  # noqa: S101 - by `targets`
        return look_up({ARGS: candidate.args}, target.path)
    if target.where == "patch":
        assert isinstance(candidate, DeltaCandidate)  # noqa: S101 - by `targets`
        return look_up(candidate.patch.set, target.path)
    return look_up(state, target.path)


def changed(target: Target, value: Any, tried: Tried) -> Tried | None:
    """The same with another value, or with none; None if no such thing can be written there."""
    state, candidate = tried
    if target.where == "argument":
        assert isinstance(candidate, CallCandidate)  # noqa: S101 - by `targets`
        args = _placed(candidate.args, target.path[len(ARGS) + 1 :], value)
        return None if args is None else (state, replace(candidate, args=args))
    if target.where == "patch":
        assert isinstance(candidate, DeltaCandidate)  # noqa: S101 - by `targets`
        patch = _patched(candidate.patch, target.path, value)
        return None if patch is None else (state, replace(candidate, patch=patch))
    key = _key(state, target.path) or _new_key(target.path)
    after = _written(state.get(key, ABSENT), key, target.path, value)
    if after is None:
        return None
    return (state.patched({}, (key,)) if after is ABSENT else state.patched({key: after})), candidate


def _patched(patch: Patch, path: str, value: Any) -> Patch | None:
    key = _key(patch.set, path)
    after = None if key is None else _written(patch.set[key], key, path, value)
    # A patch that sets nothing there is another patch, and perhaps an empty one.
    return (
        None
        if after is None or after is ABSENT or key is None
        else replace(patch, set={**patch.set, key: after})
    )


def _key(state: Mapping[str, Any], path: str) -> str | None:
    """The key that a path is in: the longest that is there."""
    return next((key for key in keys_of(path) if key in state), None)


def _new_key(path: str) -> str:
    """A key for what is not there: a namespace and one name, and the rest of the path are its fields."""
    return ".".join(path.split(".")[:2])


def _written(before: Any, key: str, path: str, value: Any) -> Any:
    """What stands under a key then; ABSENT to remove it, None if it could not stand there."""
    if path == key:
        versioned = isinstance(value, dict) and type(value.get("v")) is int
        return value if value is ABSENT or versioned else None
    if before is ABSENT:
        return None if value is ABSENT else _placed({"v": 1}, path[len(key) + 1 :], value)
    return _placed(before, path[len(key) + 1 :], value) if isinstance(before, dict) else None


def _placed(holder: dict[str, Any], path: str, value: Any) -> dict[str, Any] | None:
    """An object with a value at a path inside; names may hold dots, so what is there is found first."""
    there = next((name for name in keys_of(path) if name in holder), None)
    name = there if there is not None else path.partition(".")[0]
    if name == path:
        rest = {inner: one for inner, one in holder.items() if inner != name}
        return rest if value is ABSENT else {**rest, name: value}
    inner = holder.get(name, {})
    placed = _placed(inner, path[len(name) + 1 :], value) if isinstance(inner, dict) else None
    return None if placed is None else {**holder, name: placed}
