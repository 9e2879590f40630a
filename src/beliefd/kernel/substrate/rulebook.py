"""Rules compiled from a policy, once per hash. A memo, not state: the same hash gives the same rules."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraint_index import ConstraintIndex
from beliefd.kernel.substrate.deriving import RuleSet
from beliefd.kernel.substrate.policy_keys import is_of_policy
from beliefd.kernel.substrate.predicates import paths_read
from beliefd.kernel.substrate.schemas import BadSchema, Schema

T = TypeVar("T")
KEEP: Final = 16
KEEP_TRIED: Final = 4
"""Policies that are only tried are kept apart."""
_trying: ContextVar[bool] = ContextVar("trying", default=False)


@contextmanager
def trying() -> Iterator[None]:
    """INVARIANT: what is compiled inside pushes out nothing that is decided by."""
    before = _trying.set(True)
    try:
        yield
    finally:
        _trying.reset(before)


def rulebook(policy: Policy, policy_hash: str) -> ConstraintIndex:
    return _rulebooks.of(_Named(policy, policy_hash))


def rule_set(policy: Policy, policy_hash: str) -> RuleSet:
    """The rules that derive facts; none, where a policy has none."""
    return _rule_sets.of(_Named(policy, policy_hash)) if policy.rules else NO_RULES


def reads_policy(policy: Policy, policy_hash: str) -> bool:
    """Does any constraint or rule look at `policy.*`?"""
    return _readings.of(_Named(policy, policy_hash))


class _Named:
    """A policy that is known by its hash."""

    __slots__ = ("hash", "policy")

    def __init__(self, policy: Policy, policy_hash: str) -> None:
        self.policy = policy
        self.hash = policy_hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Named) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)


class _Memo(Generic[T]):
    """What was made for the policies that were asked for last: for those that are decided by, and apart from
    them for those that are tried."""

    def __init__(self, make: Callable[[_Named], T]) -> None:
        self._decided_by = lru_cache(KEEP)(make)
        self._tried = lru_cache(KEEP_TRIED)(make)

    def of(self, named: _Named) -> T:
        return self._tried(named) if _trying.get() else self._decided_by(named)


def _compiled(named: _Named) -> ConstraintIndex:
    schemas = KnownSchemas(named.policy)
    return ConstraintIndex(named.policy.constraints, schemas.fit, schemas, named.policy.arbitration)


def _derived_by(named: _Named) -> RuleSet:
    schemas = KnownSchemas(named.policy)
    return RuleSet(named.policy.rules or {}, schemas.fit, schemas, named.policy.arbitration)


def _reading(named: _Named) -> bool:
    conditions = (one.when for one in _rulebooks.of(named).constraints if one.when is not None)
    read = any(is_of_policy(path) for when in conditions for path in paths_read(when))
    return read or rule_set(named.policy, named.hash).reads_policy


class KnownSchemas:
    """The schemas that a policy knows by name: its own and its tools'. One that is none is not known."""

    def __init__(self, policy: Policy) -> None:
        self._raw = {**{name: tool.schema for name, tool in policy.tools.items()}, **policy.schemas}
        self._compiled: dict[str, Schema | None] = {}
        self._engine = policy.arbitration.engine

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._schema(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._raw if name in self)

    def fit(self, name: str, value: Any) -> bool:
        schema = self._schema(name)
        if schema is None:
            raise KeyError(name)  # a defect: rules that name it are malformed and never get this far
        return schema.fits(value)

    def _schema(self, name: str) -> Schema | None:
        if name not in self._compiled:
            try:
                self._compiled[name] = Schema(self._raw[name], self._engine) if name in self._raw else None
            except BadSchema:
                self._compiled[name] = None
        return self._compiled[name]


_rulebooks: Final = _Memo(_compiled)
_rule_sets: Final = _Memo(_derived_by)
_readings: Final = _Memo(_reading)
NO_RULES: Final = RuleSet({}, lambda _, __: False)
