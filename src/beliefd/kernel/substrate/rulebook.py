"""Rules compiled from a policy, once per hash. A memo, not state: the same hash gives the same rules."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from beliefd.kernel.policy import Policy
from beliefd.kernel.substrate.constraint_index import ConstraintIndex
from beliefd.kernel.substrate.deriving import RuleSet
from beliefd.kernel.substrate.policy_keys import is_of_policy
from beliefd.kernel.substrate.predicates import paths_read
from beliefd.kernel.substrate.schemas import BadSchema, Schema

KEEP: Final = 16


def rulebook(policy: Policy, policy_hash: str) -> ConstraintIndex:
    return _compiled(_Named(policy, policy_hash))


def rule_set(policy: Policy, policy_hash: str) -> RuleSet:
    """The rules that derive facts; none, where a policy has none."""
    return _derived_by(_Named(policy, policy_hash)) if policy.rules else NO_RULES


def reads_policy(policy: Policy, policy_hash: str) -> bool:
    """Does any constraint or rule look at `policy.*`?"""
    return _reading(_Named(policy, policy_hash))


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


@lru_cache(KEEP)
def _compiled(named: _Named) -> ConstraintIndex:
    schemas = KnownSchemas(named.policy)
    return ConstraintIndex(named.policy.constraints, schemas.fit, schemas, named.policy.arbitration)


@lru_cache(KEEP)
def _derived_by(named: _Named) -> RuleSet:
    schemas = KnownSchemas(named.policy)
    return RuleSet(named.policy.rules or {}, schemas.fit, schemas, named.policy.arbitration.engine)


@lru_cache(KEEP)
def _reading(named: _Named) -> bool:
    conditions = (one.when for one in _compiled(named).constraints if one.when is not None)
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


NO_RULES: Final = RuleSet({}, lambda _, __: False)
