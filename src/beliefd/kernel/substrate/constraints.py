"""Constraints: what they say, when they apply, and the plain reading of the truth table.

`judge` here reads like the specification and is the oracle; `rules.py` gives the same answers fast.
"""

from collections.abc import Container, Iterable, Mapping
from enum import IntEnum
from typing import Any, Final, Literal, get_args

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from beliefd.kernel.substrate.arbitration_policy import ArbitrationPolicy
from beliefd.kernel.substrate.operators import SchemaCheck
from beliefd.kernel.substrate.paths import is_ambiguous
from beliefd.kernel.substrate.predicates import (
    ARGUMENTS,
    CALL,
    CALL_FACTS,
    Malformed,
    Misfit,
    Predicate,
    ambiguous_paths,
    holds,
    is_of_call,
    parse,
    paths_read,
    schemas_named,
)
from beliefd.kernel.substrate.text_bounds import TextTooLong
from beliefd.kernel.values import Value

OnFail = Literal["block", "ask", "defer", "degrade"]
Effect = Literal["allow", "deny"]
ON_FAIL: Final[tuple[str, ...]] = get_args(OnFail)
EFFECTS: Final[tuple[str, ...]] = get_args(Effect)
MILDER: Final = tuple(one for one in ON_FAIL if one != "block")
"""Effects of their own from version 2 on: a deny with that `on_fail`."""
EFFECTS_BY_VERSION: Final = {1: EFFECTS, 2: (*EFFECTS, *MILDER)}
INVARIANTS: Final = "constraint.invariant."
MALFORMED: Final = "MALFORMED_CONSTRAINT"
TEXT_TOO_LONG: Final = "TEXT_TOO_LONG"
NOT_JUDGED: Final = (MALFORMED, TEXT_TOO_LONG)
"""Codes of constraints that stand in the way whatever they say."""
NEWEST: Final = ArbitrationPolicy()
FIELDS: Final = frozenset({"v", "effect", "subject", "when", "on_fail", "reason"})


class Strictness(IntEnum):
    """Of several failures the strictest wins; block and degrade deny now, ask and defer wait."""

    defer = 0
    ask = 1
    degrade = 2
    block = 3


class Subject(Struct, frozen=True):
    """Whom a constraint is about: one tool, all that need a capability, or (both None) everything."""

    tool_id: str | None = None
    capability: str | None = None


EVERYTHING: Final = Subject()


class Constraint(Struct, frozen=True):
    """A constraint as read. `malformed` says why it could not be; then it denies whatever it names.

    `effect` is `deny` for one that asks, defers or degrades, and `on_fail` says so; `raw` is as it was
    written. `misfit` says where, and what could stand there. `remedy` is what would make it pass, where that
    does not follow from a condition. `deep` are paths it reads that must not be ambiguous.
    """

    key: str
    effect: Effect = "deny"
    subject: Subject = EVERYTHING
    when: Predicate | None = None
    on_fail: OnFail = "block"
    reason: str = ""
    malformed: str | None = None
    raw: Any = None
    remedy: str = ""
    misfit: Misfit | None = None
    deep: tuple[str, ...] = ()

    def names(self, action: "Action") -> bool:
        subject = self.subject
        if subject.tool_id is not None:
            return subject.tool_id == action.tool_id
        return subject.capability is None or subject.capability in action.capabilities


class Action(Struct, frozen=True):
    """What is to be done: a tool call, or (without a tool) a write. `capabilities` is what it takes.

    `facts` is where its values came from; None where policy does not ask for that.
    """

    tool_id: str | None
    capabilities: tuple[str, ...] = ()
    args: Any = None
    context: dict[str, Any] = {}
    facts: dict[str, Any] | None = None

    def known(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        """The state with the call itself written into it."""
        call = {"v": 1, **self.context, "tool_id": self.tool_id, "args": self.args}
        return _Overlay(state, call, self.facts)


class _Overlay(dict[str, Any]):
    """A state that also answers for `call` and `fact.call`; nothing is copied."""

    def __init__(
        self, state: Mapping[str, Any], call: dict[str, Any], facts: dict[str, Any] | None = None
    ) -> None:
        super().__init__({CALL: call} if facts is None else {CALL: call, CALL_FACTS: facts})
        self._state = state

    def get(self, key: str, default: Any = None) -> Any:
        if key in self:
            return self[key]
        # INVARIANT: what a tool wrote into the state under such a key is no fact about a call.
        if key.startswith(f"{CALL_FACTS}.") and CALL_FACTS in self:
            return default
        return self._state.get(key, default)


class Reason(Value, frozen=True):
    """Why something did not pass: which constraint, what it read, and what would make it pass.

    `origin` says which values of a call it is about, and where they came from. `missing` are the keys that
    nobody has said anything about, of what is put off until somebody has.
    """

    code: str
    text: str
    constraint: str | None = None
    keys: tuple[str, ...] = ()
    remedy: str = ""
    origin: tuple[str, ...] | UnsetType = UNSET
    missing: tuple[str, ...] | UnsetType = UNSET

    @property
    def words(self) -> str:
        """The text, with where the values came from that it is about."""
        return f"{self.text} ({'; '.join(self.origin)})" if self.origin else self.text


class Failure(Struct, frozen=True):
    """One constraint that stands in the way; `path` is what it cannot read, where that is why."""

    constraint: Constraint
    code: str
    path: str = ""


def strictest(failures: Iterable[Failure]) -> OnFail:
    return max((item.constraint.on_fail for item in failures), key=lambda name: Strictness[name])


class Judgement(Struct, frozen=True):
    """The failures, and whether anything allows the action at all."""

    allowed: bool
    failures: tuple[Failure, ...]

    @property
    def on_fail(self) -> OnFail | None:
        """What follows: None if it passes; without any allow it is blocked, whatever else is said."""
        if not self.allowable:
            return "block"
        return strictest(self.failures) if self.failures else None

    @property
    def allowable(self) -> bool:
        """Is there an allow that applies, whether or not its condition holds?"""
        return self.allowed or any(item.constraint.effect == "allow" for item in self.failures)


def read_constraint(
    key: str, raw: Any, known: Container[str] | None = None, rules: ArbitrationPolicy = NEWEST
) -> Constraint:
    """INVARIANT: never raises; what cannot be read denies everything its subject names.

    `known` are the schemas that may be named; without it, names are taken on trust.
    """
    subject = EVERYTHING
    try:
        if not isinstance(raw, dict):
            raise Malformed("it is not an object")
        subject = _subject(raw)
        if unknown := sorted(str(name) for name in raw if name not in FIELDS):
            left = sorted(FIELDS - raw.keys())
            raise Malformed(f"`{unknown[0]}` is not a field of a constraint", unknown[0], unknown[0], left)
        version = _version(raw, rules.constraints)
        effect, on_fail = _effect(raw, version)
        reason = raw.get("reason", "")
        if not isinstance(reason, str):
            raise Malformed("`reason` is not text", "reason")
        when = None
        if raw.get("when") is not None:
            read = parse(raw["when"], version=version, engine=rules.engine, widely=rules.strict)
            when = condition(read, known)
            if version > 1 and key.startswith(INVARIANTS):
                _refuse_call(when)
        deep = ambiguous_paths(paths_read(when)) if when is not None and rules.strict else ()
        return Constraint(key, effect, subject, when, on_fail, reason, raw=raw, deep=deep)
    except Malformed as error:
        return Constraint(key, subject=subject, malformed=str(error), raw=raw, misfit=error.misfit)


def _version(raw: dict[str, Any], newest: int) -> int:
    version, known = raw.get("v"), range(1, newest + 1)
    for one in known:
        if version == one and not isinstance(version, bool):
            return one
    said = "is not 1" if newest == 1 else "is neither " + " nor ".join(map(str, known))
    raise Malformed(f"`v` {said}", "v", version, map(str, known))


def _effect(raw: dict[str, Any], version: int) -> tuple[Effect, OnFail]:
    """What it does, and what follows: what asks, defers or degrades is a deny with that consequence."""
    effect, on_fail, fitting = raw.get("effect"), raw.get("on_fail", "block"), EFFECTS_BY_VERSION[version]
    if effect not in fitting:
        said = f"neither {' nor '.join(fitting)}" if version == 1 else f"none of {', '.join(fitting)}"
        raise Malformed(f"`effect` is {said}", "effect", effect, fitting)
    if effect in MILDER:
        if "on_fail" in raw:
            raise Malformed(f"`on_fail` is said already: the effect is `{effect}`", "on_fail")
        return "deny", effect
    if on_fail not in ON_FAIL:
        raise Malformed(f"`on_fail` is none of {', '.join(ON_FAIL)}", "on_fail", on_fail, ON_FAIL)
    return effect, on_fail


def _refuse_call(when: Predicate) -> None:
    """An invariant is about states alone. One that reads a call or the time would silently never see them."""
    if read := sorted(path for path in paths_read(when) if is_of_call(path)):
        raise Malformed(f"an invariant is about states alone, and this one reads `{read[0]}`", "when")


def condition(when: Predicate, known: Container[str] | None) -> Predicate:
    if known is not None:
        # Also where another branch would decide: what cannot be judged whole is not judged in part.
        for name in sorted(schemas_named(when)):
            if name not in known:
                names = known if isinstance(known, Iterable) else ()
                raise Malformed(f"no schema `{name}` is known", "when", name, names)
    return when


def _subject(raw: dict[str, Any]) -> Subject:
    value = raw.get("subject")
    if value is None:
        return EVERYTHING
    if isinstance(value, dict) and len(value) == 1:
        name, named = next(iter(value.items()))
        if name in Subject.__struct_fields__ and isinstance(named, str) and named:
            return Subject(**{name: named})
    fitting = [f"{{{name}: ...}}" for name in Subject.__struct_fields__]
    raise Malformed(
        "`subject` is neither null nor one `tool_id` or `capability`", "subject", None, ["null", *fitting]
    )


def judge(
    constraints: Iterable[Constraint], state: Mapping[str, Any], action: Action, fits: SchemaCheck
) -> Judgement:
    """The truth table, constraint by constraint (decisions 9 and 10)."""
    known = action.known(state)
    allowed = False
    failures: list[Failure] = []
    for constraint in constraints:
        if not constraint.names(action):
            continue
        failure = failure_of(constraint, known, fits)
        if failure is not None:
            failures.append(failure)
        elif constraint.effect == "allow":
            allowed = True
        if action.tool_id is not None and (unclear := ambiguous(constraint, known)) is not None:
            failures.append(unclear)
    return Judgement(allowed, tuple(failures))


def failure_of(constraint: Constraint, state: Mapping[str, Any], fits: SchemaCheck) -> Failure | None:
    """INVARIANT: what cannot be judged blocks, as what cannot be read does, whatever it is for."""
    try:
        code = failing(constraint, state, fits)
    except TextTooLong:
        return Failure(replace(constraint, on_fail="block"), TEXT_TOO_LONG)
    return None if code is None else Failure(constraint, code)


def failing(constraint: Constraint, state: Mapping[str, Any], fits: SchemaCheck) -> str | None:
    """The code under which an applicable constraint stands in the way, or None if it does not. Raises
    `TextTooLong`, where that cannot be said."""
    if constraint.malformed is not None:
        return MALFORMED
    fires = constraint.when is None or holds(constraint.when, state, fits)
    if constraint.effect == "deny":
        return "DENIED" if fires else None
    return None if fires else "NOT_ALLOWED"


def ambiguous(constraint: Constraint, state: Mapping[str, Any]) -> Failure | None:
    """INVARIANT: no call passes a constraint that reads something in it, or in the state, one way where
    whoever carries it out may read it another way. No yes of a person is for such a call.

    Writes are judged by the longest key, so that what makes a state ambiguous can be taken out of it.
    """
    path = next((one for one in constraint.deep if is_ambiguous(state, one)), None)
    if path is None:
        return None
    code = "AMBIGUOUS_ARGUMENT" if path.startswith(ARGUMENTS) else "AMBIGUOUS_STATE"
    blocks = Constraint(
        constraint.key,
        subject=constraint.subject,
        reason=f"`{path}` can be read in two ways: a name with a dot in it stands beside an object",
        raw={"ambiguous": path},
        remedy=f"one value only that `{path}` leads to",
    )
    return Failure(blocks, code, path)
