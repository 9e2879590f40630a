"""Clauses and the vectors that show them. Each vector names its clauses; nothing is listed twice."""

import hashlib
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from beliefd.conformance.places import FOLDER
from beliefd.conformance.stories import Mismatch, load, mismatches
from beliefd.kernel.beliefs.survivors import Survivors, Universe
from beliefd.kernel.canonical import canonical, digest
from beliefd.kernel.errors import Code
from beliefd.kernel.policy import Policy
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.policy.compiling import problems


class Clause(Struct, frozen=True):
    """Something that a specification asks for, in our words."""

    id: str
    section: str
    says: str


class Specification(Struct, frozen=True):
    name: str
    title: str
    clauses: tuple[Clause, ...]


class Place(Protocol):
    """What is checked: the library, or a server."""

    def tell(self, story: dict[str, Any]) -> None:
        """Carry a story out, each from an empty beginning."""
        ...

    def explained(self, policy: dict[str, Any], state: dict[str, Any], call: dict[str, Any]) -> Any:
        """What arbitration says of a call under a policy, or the error that the policy is refused with."""
        ...

    def replayed(self, ledger: bytes) -> dict[str, Any]:
        """What a recorded ledger comes to when it is taken in, verified and decided again."""
        ...

    def lacks(self, check: "Check") -> str | None:
        """Why a check cannot be made there."""
        ...


class Check(Struct, frozen=True):
    """A vector. `name` is its folder and file, `of` what is in it."""

    name: str
    clauses: tuple[str, ...]
    of: Any
    about: str = ""

    def on(self, place: Place) -> None:
        """Raises Mismatch where the place does something else."""
        raise NotImplementedError

    @property
    def text(self) -> str:
        return msgspec.json.encode(self.of).decode()


class StoryCheck(Check, frozen=True):
    def on(self, place: Place) -> None:
        place.tell(self.of)


class TableCheck(Check, frozen=True):
    """Policies, states and calls with their verdicts."""

    def on(self, place: Place) -> None:
        for case in self.of["cases"]:
            policy = {
                "constraints": case["constraints"],
                "schemas": self.of["schemas"],
                "tools": self.of["tools"],
            }
            answer = place.explained(policy, case["state"], case["call"])
            refused = answer.get("error", {}).get("code") == Code.INVALID_REQUEST
            # A server takes no policy that it cannot read: it says where, instead of denying.
            if refused and any(problems(msgspec.convert(policy, Policy))):
                continue
            if found := mismatches(case["expect"], answer, "$"):
                raise Mismatch(f"{self.name}, case `{case['name']}`: {'; '.join(found)}")


class CanonicalCheck(Check, frozen=True):
    """Canonical JSON and its hash. A server shows it by the hashes of its ledgers."""

    def on(self, place: Place) -> None:
        for one in self.of["accepted"]:
            written = canonical(loads(one["json"].encode()))
            made = [written.decode(), hashlib.sha256(written).hexdigest()]
            _same(self.name, one["name"], made, [one["canonical"], one["sha256"]])
        for one in self.of["refused"]:
            try:
                loads(one["json"].encode())
            except Unreadable:
                continue
            raise Mismatch(f"{self.name}, `{one['name']}`: it was read")


class HashCheck(Check, frozen=True):
    def on(self, place: Place) -> None:
        for one in self.of["universes"]:
            universe = Universe(one["hypotheses"])
            _same(self.name, "universe", universe.digest.hex(), one["universe_hash"])
            for case in one["survivors"]:
                left = Survivors(universe).without(set(one["hypotheses"]) - set(case["surviving"]))
                made = [left.to_bytes().hex(), left.digest]
                _same(self.name, "survivors", made, [case["bitmap"], case["survivors_hash"]])
        for one in self.of["policies"]:
            _same(self.name, "policy", digest(one["document"]), one["policy_hash"])


class LogCheck(Check, frozen=True):
    """A ledger as an earlier version wrote it."""

    def on(self, place: Place) -> None:
        ledger = (FOLDER / f"{self.name}.jsonl").read_bytes()
        expected = {name: self.of[name] for name in ("events", "head", "survivors", "status", "conclusions")}
        if found := mismatches(expected, place.replayed(ledger), "$"):
            raise Mismatch(f"{self.name}: {'; '.join(found)}")


def _same(name: str, what: str, made: Any, expected: Any) -> None:
    if made != expected:
        raise Mismatch(f"{name}, {what}: made {made}, expected {expected}")


def specifications() -> tuple[Specification, ...]:
    document = (FOLDER / "clauses.json").read_bytes()
    return msgspec.convert(loads(document)["specifications"], tuple[Specification, ...])


def checks(only: Collection[str] = ("*",)) -> Iterator[Check]:
    """Everything in the folder whose name fits one of the patterns."""
    return (check for check in _all() if any(fnmatchcase(check.name, pattern) for pattern in only))


def _all() -> Iterator[Check]:
    """What a file is, its members say."""
    for path in sorted((FOLDER / "vectors").glob("*/*.json")):
        yield _read(f"{path.parent.name}/{path.stem}", load(path))
    for path in sorted((FOLDER / "released-logs").glob("*.expected.json")):
        yield _log(path)


def _log(path: Path) -> Check:
    expected = load(path)
    about = f"the ledger that version {expected['version']} recorded verifies, and replays to the same state"
    return LogCheck(_log_name(path), tuple(expected.get("clauses", ())), expected, about)


def _log_name(path: Path) -> str:
    return f"{path.parent.name}/{path.name.removesuffix('.expected.json')}"


def _read(name: str, vector: dict[str, Any]) -> Check:
    kinds: tuple[tuple[str, type[Check]], ...] = (
        ("steps", StoryCheck),
        ("cases", TableCheck),
        ("accepted", CanonicalCheck),
        ("universes", HashCheck),
    )
    for member, kind in kinds:
        if member in vector:
            about = vector.get("about", "canonical JSON and the hashes over it")
            return kind(name, tuple(vector.get("clauses", ())), vector, about)
    raise ValueError(f"`{name}` is none of the known kinds of vectors")
