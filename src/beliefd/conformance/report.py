"""The report of `beliefd conform`: every vector carried out, every clause with what became of its vectors."""

from collections.abc import Callable, Collection, Iterator
from typing import Literal

from msgspec import Struct

from beliefd.conformance.checks import Check, Clause, Place, checks, specifications
from beliefd.conformance.stories import Mismatch
from beliefd.kernel.errors import BeliefdError

State = Literal["passed", "failed", "not run"]


class CheckReport(Struct, frozen=True):
    """`reason` says what was answered instead, or why it was not run."""

    name: str
    state: State
    about: str
    clauses: tuple[str, ...]
    reason: str | None = None


class ClauseReport(Struct, frozen=True):
    """A clause fails with any of its vectors, and is shown if at least one was run and none failed."""

    id: str
    specification: str
    section: str
    says: str
    state: State
    vectors: tuple[str, ...]


class Report(Struct, frozen=True):
    """`of` is the address of the server, or `library`."""

    of: str
    clauses: tuple[ClauseReport, ...]
    checks: tuple[CheckReport, ...]

    @property
    def failed(self) -> bool:
        return any(check.state == "failed" for check in self.checks)

    @property
    def partial(self) -> bool:
        return any(check.state == "not run" for check in self.checks)


def report_on(
    of: str,
    place: Place,
    only: Collection[str] = (),
    progress: Callable[[int], None] = lambda _: None,
) -> Report:
    """On all vectors, or on those `only` whose names fit a pattern; then on their clauses alone."""
    tried = tuple(_each(place, only or ("*",), progress))
    by_clause: dict[str, list[CheckReport]] = {}
    for check in tried:
        for clause in check.clauses:
            by_clause.setdefault(clause, []).append(check)
    clauses = tuple(
        _clause(specification.title, clause, by_clause.get(clause.id, []))
        for specification in specifications()
        for clause in specification.clauses
        if not only or clause.id in by_clause
    )
    return Report(of, clauses, tried)


def _each(place: Place, only: Collection[str], progress: Callable[[int], None]) -> Iterator[CheckReport]:
    for done, check in enumerate(checks(only), 1):
        state, reason = _tried(check, place)
        yield CheckReport(check.name, state, check.about, check.clauses, reason)
        progress(done)


def _tried(check: Check, place: Place) -> tuple[State, str | None]:
    if (lack := place.lacks(check)) is not None:
        return "not run", lack
    try:
        check.on(place)
    except Mismatch as error:
        return "failed", str(error)
    except BeliefdError as error:
        return "failed", f"{check.name}: {error.code}: {error.message}"
    return "passed", None


def _clause(title: str, clause: Clause, shown_by: list[CheckReport]) -> ClauseReport:
    states = {check.state for check in shown_by}
    state: State = "failed" if "failed" in states else "passed" if "passed" in states else "not run"
    names = tuple(check.name for check in shown_by)
    return ClauseReport(clause.id, title, clause.section, clause.says, state, names)
