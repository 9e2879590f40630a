"""What a policy promises of itself: proved before a policy is adopted, for all calls in all states."""

from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.values import Id, Role, TierName, Value

Never = Literal["without_person", "at_all", "fire", "matter"]
Can = Literal["pass", "fire", "matter"]
Update = Literal["permits_nothing_new", "loosens_nothing"]
ModeName = Literal["boost", "normal", "eco", "throttled", "offline-safe"]
OF_CONSTRAINTS: Final = ("fire", "matter")
ABOUT: Final = ("role", "tool", "capability", "agent_tier", "mode", "when")
"""Fields that say which calls are meant; those that are left out leave it open."""
FOR_CALLS: Final = ("without_person", "at_all")
SAYS: Final = ("never", "can", "update", "never_conflict")


class Guarantee(Value, frozen=True):
    """One promise: exactly one of `never`, `can`, `update` and `never_conflict`.

    `never: without_person`: no such call is let through unless a person is asked. `never: at_all`: none is
    let through or waits. `can: pass`: some such call is let through. With `constraint`, `fire` is that it
    stands in the way of some call (an allow: that its condition holds), and `matter` that some verdict
    depends on it.
    `update` holds for whatever is adopted next: `permits_nothing_new` is let through, or nothing is denied
    less (`loosens_nothing`). `never_conflict` names two constraints of which one lets through what the other
    stands in the way of, or which want different things of the same call.
    """

    name: Id | UnsetType = UNSET
    role: Role | UnsetType = UNSET
    tool: Id | UnsetType = UNSET
    capability: Id | UnsetType = UNSET
    agent_tier: TierName | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    when: Any = UNSET
    constraint: Id | UnsetType = UNSET
    never: Never | UnsetType = UNSET
    can: Can | UnsetType = UNSET
    update: Update | UnsetType = UNSET
    never_conflict: tuple[Id, Id] | UnsetType = UNSET

    def __post_init__(self) -> None:
        said = [name for name in SAYS if getattr(self, name) is not UNSET]
        if len(said) != 1:
            raise ValueError(f"a guarantee says one of {', '.join(f'`{name}`' for name in SAYS)}")
        if (self.constraint is not UNSET) != (self.never in OF_CONSTRAINTS or self.can in OF_CONSTRAINTS):
            raise ValueError("`constraint` goes with `fire` and `matter`, and these with it")
        about = [name for name in ABOUT if getattr(self, name) is not UNSET]
        if about and said[0] in ("update", "never_conflict"):
            raise ValueError(f"`{about[0]}` says nothing beside `{said[0]}`, which is about all calls")

    @property
    def words(self) -> str:
        """The promise in one line."""
        if self.name is not UNSET:
            return self.name
        if self.update is not UNSET:
            return f"the update {self.update.replace('_', ' ')}"
        if self.never_conflict is not UNSET:
            return f"{self.never_conflict[0]} and {self.never_conflict[1]} never conflict"
        about = [f"{name} {getattr(self, name)}" for name in ABOUT[:-1] if getattr(self, name) is not UNSET]
        about += ["when ..."] if self.when is not UNSET else []
        of_calls = " ".join(about) or "any call"
        if self.constraint is not UNSET:
            verb = f"can never {self.never}" if self.never is not UNSET else f"can {self.can}"
            return f"{self.constraint} {verb}" + (f" ({of_calls})" if about else "")
        if self.can is not UNSET:
            return f"{of_calls}: some call can pass"
        passes = "without a person" if self.never == "without_person" else "at all"
        return f"{of_calls}: never {passes}"


def contradictions(promises: tuple[Guarantee, ...]) -> Iterator[tuple[int, int]]:
    """Places of promises of which no policy keeps both: one forbids all that the other asks for."""
    for at, wanted in enumerate(promises):
        for other, never in enumerate(promises):
            if _excludes(never, wanted):
                yield at, other


def _excludes(never: Guarantee, wanted: Guarantee) -> bool:
    if never.never is UNSET or wanted.can is UNSET:
        return False
    same = (
        wanted.can == "pass" and never.never in FOR_CALLS
        if wanted.constraint is UNSET
        else (wanted.constraint, wanted.can) == (never.constraint, never.never)
    )
    wider = all(getattr(never, name) in (UNSET, getattr(wanted, name)) for name in ABOUT)
    return bool(same) and wider
