"""The rules of a session once more, with plain sets and lists, written to be compared with the text.

Nothing here is shared with the kernel but the commands it is given and the codes it answers with.
"""

from dataclasses import dataclass, field
from typing import Any

from beliefd.kernel.beliefs.commands import (
    DeclareConclusion,
    DeclareSession,
    Eliminate,
    EnterObligation,
    Merge,
    RequestExit,
    RequestTermination,
)
from beliefd.kernel.commands import Command
from beliefd.kernel.facts import Facts
from beliefd.kernel.scan.whole_words import folded

Said = dict[str, Any]


def spellings(name: str) -> list[str]:
    """A name, and how else it may be declared."""
    plain = name.strip().strip(".,;!")
    return [name, plain, plain.casefold(), folded(plain)]


@dataclass
class Promise:
    """An obligation: how many eliminations were promised, and how many were seen since."""

    obligation_id: str
    minimum: int
    seen: int = 0
    active: bool = True


@dataclass
class Model:
    """A session as the protocol describes it. `promises` is in order of entry."""

    universe: frozenset[str]
    ignores_unknown: bool
    survivors: set[str] = field(default_factory=set)
    promises: list[Promise] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)
    terminated: bool = False
    witnessed: int = 0

    @classmethod
    def of(cls, declaration: DeclareSession) -> "Model":
        universe = frozenset(declaration.hypotheses)
        ignores = declaration.options.unknown_hypotheses == "ignore"
        return cls(universe, ignores, set(universe))

    @property
    def status(self) -> str:
        if self.terminated:
            return "terminated"
        return {0: "exhausted", 1: "singleton"}.get(len(self.survivors), "open")

    @property
    def active(self) -> str | None:
        entered = [promise.obligation_id for promise in self.promises if promise.active]
        return entered[-1] if entered else None

    @property
    def streak(self) -> int:
        """How many accepted conclusions at the end are the same."""
        same = 0
        while same < len(self.accepted) and self.accepted[-1 - same] == self.accepted[-1]:
            same += 1
        return same

    def hear(self, command: Command, facts: Facts) -> Said:
        """Apply a command; the answer is a refusal code or what was decided."""
        if self.terminated:
            return {"code": "SESSION_TERMINATED"}
        match command:
            case DeclareSession():
                return {"code": "CONFLICT"}
            case Eliminate():
                return self._eliminate(set(command.eliminated), facts)
            case Merge():
                return self._merge(command, facts)
            case EnterObligation():
                return self._enter(command)
            case RequestExit():
                return self._exit(command.obligation_id)
            case DeclareConclusion():
                accepted = self.active is None and not self._ruled_out(command.conclusion_id, facts)
                if accepted:
                    self.accepted.append(command.conclusion_id)
                return {"accepted": accepted}
            case RequestTermination():
                self.terminated = self._may_end(command.context.get("force") is True, facts)
                return {"approved": self.terminated}
            case _:
                raise NotImplementedError(f"no verb of belief: {command}")

    def _eliminate(self, claimed: set[str], facts: Facts) -> Said:
        """No command here cites anything: all of them are attested."""
        if claimed - self.universe and not self.ignores_unknown:
            return {"code": "INVALID_HYPOTHESIS_ID"}
        if facts.policy.beliefs.eliminations.require == "witnessed":
            return {"code": "NOT_WARRANTED"}
        return self._remove(claimed, claimed)

    def _merge(self, command: Merge, facts: Facts) -> Said:
        claimed = {name for told in command.eliminations for name in told.eliminated}
        seen = {
            name for told in command.eliminations if told.label == "witnessed" for name in told.eliminated
        }
        strict = facts.policy.beliefs.eliminations.require == "witnessed"
        self.witnessed += len(seen & self.survivors)
        return self._remove(claimed, seen if strict else claimed)

    def _remove(self, claimed: set[str], admitted: set[str]) -> Said:
        applied = admitted & self.survivors
        self.survivors -= applied
        for promise in self.promises:
            promise.seen += len(applied)
        return {"applied": sorted(applied), "ignored": sorted(claimed - applied)}

    def _ruled_out(self, conclusion_id: str, facts: Facts) -> bool:
        """Does a conclusion name a hypothesis that has fallen, where policy minds that?"""
        starts = [at + 1 for at, char in enumerate(conclusion_id) if char in ":=/\uff1a"]
        said = [conclusion_id[start:] for start in (0, *starts)]
        named = [name for one in said for name in spellings(one) if name in self.universe]
        minds = facts.policy.beliefs.conclusions == "survivors_only"
        return minds and bool(named) and named[0] not in self.survivors

    def _enter(self, command: EnterObligation) -> Said:
        if command.obligation_id in [kept.obligation_id for kept in self.promises if kept.active]:
            return {"code": "CONFLICT"}
        if command.min_total_eliminations > len(self.survivors):
            return {"code": "INVALID_REQUEST"}
        self.promises = [
            promise for promise in self.promises if promise.obligation_id != command.obligation_id
        ]
        self.promises.append(Promise(command.obligation_id, command.min_total_eliminations))
        return {"entered": command.obligation_id}

    def _exit(self, obligation_id: str) -> Said:
        for promise in self.promises:
            if promise.obligation_id == obligation_id:
                if promise.seen >= promise.minimum:
                    promise.active = False
                return {"approved": not promise.active}
        return {"code": "OBLIGATION_NOT_FOUND"}

    def _may_end(self, force: bool, facts: Facts) -> bool:
        if self.active is not None:
            return False
        rules = facts.policy.termination
        if force and facts.principal.role in rules.force_roles:
            return True
        return len(self.survivors) == 1 and self.streak >= rules.stability_window
