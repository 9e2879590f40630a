"""Values out of what is recorded or stored: found by a JSON pointer, or in a column of CSV."""

import csv
import io
import math
import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import UNSET

from beliefd.kernel.observations.commands import MAX_VALUES, Observe
from beliefd.kernel.observations.findings import ObservationFindings
from beliefd.kernel.state import Session
from beliefd.kernel.strict_json import Unreadable, loads
from beliefd.kernel.substrate.events import OutcomeRecorded
from beliefd.kernel.values import shown
from beliefd.steward.entries import entry_of
from beliefd.steward.facts.reported import with_result
from beliefd.steward.offload import in_pool
from beliefd.stores.base import Store
from beliefd.stores.within import Within

LARGEST: Final = 1e150
INDEX: Final = re.compile("0|[1-9][0-9]{0,8}")
MOST_CHOICES: Final = 1_000
MOST_VISITED: Final = 100_000
Path = tuple[str, ...]
Taken = tuple[tuple[float, ...], int]
"""Values, and among how many lists of numbers they were chosen."""
NOT_STORED: Final = "no content is stored under this hash; store it first"


class NotThere(Exception):
    """There are no values where they were said to be, and the path of what said so."""

    def __init__(self, problem: str, path: str) -> None:
        super().__init__(problem)
        self.path = path


async def observation_findings(
    store: Store, session: Session, command: Observe, within: Within
) -> ObservationFindings | None:
    """What stands at the named place; None where there is no such place, which the rule says better."""
    try:
        if command.content is not None:
            return await _in_content(store, command.content, command, within)
        call = session.substrate.calls.get(command.call_id or "")
        if call is None or call.status != "ok" or call.outcome is None:
            return ObservationFindings()
        entry = await entry_of(store, session.session_id, call.outcome)
        event = entry.delta
        assert isinstance(event, OutcomeRecorded)  # noqa: S101 - the state names the event that made it
        event = await with_result(store, event, within)
        values, choices = await in_pool("parse", _taken, event.result, command)
        return ObservationFindings(
            values=values,
            source_hash=call.result_hash or "",
            choices=choices,
            recorded_at=entry.ts,
            elsewhere=session.transfers.holds(entry.seq) or UNSET,
        )
    except NotThere as error:
        return ObservationFindings(problem=str(error), path=error.path)


async def _in_content(store: Store, sha256: str, command: Observe, within: Within) -> ObservationFindings:
    content = await store.content(sha256, within)
    if content is None:
        raise NotThere(NOT_STORED, "$.content")
    find = _in_json if command.column is None else _in_column
    values, choices = await in_pool("parse", find, content, command)
    brought = tuple(await store.bringers(sha256, within))
    return ObservationFindings(values=values, source_hash=sha256, choices=choices, brought=brought)


def _in_json(content: bytes, command: Observe) -> Taken:
    try:
        document = loads(content)
    except Unreadable as error:
        told = f"the content is not JSON ({error}); name a `column` if it is CSV"
        raise NotThere(told, "$.content") from None
    return _taken(document, command)


def _taken(document: Any, command: Observe) -> Taken:
    return _pointed_at(document, command), max(1, lists_in(document))


def lists_in(document: Any) -> int:
    """How many lists of numbers could be chosen, or single numbers that are in none: pairs of a list and a
    way from its items to a number."""
    found: set[tuple[Path, Path]] = set()
    waiting: list[tuple[Any, Path, tuple[int, ...]]] = [(document, (), ())]
    for _ in range(MOST_VISITED):
        if not waiting or len(found) >= MOST_CHOICES:
            break
        value, path, lists = waiting.pop()
        if isinstance(value, dict | list):
            inside = (*lists, len(path)) if isinstance(value, list) else lists
            items = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [(item, (*path, str(step)), inside) for step, item in items]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found |= {(path[:at], path[at + 1 :]) for at in lists} or {(path, ())}
    return len(found)


def _in_column(content: bytes, command: Observe) -> Taken:
    """The numbers of a column by its name in the first line. Empty cells are left out: they say nothing."""
    try:
        lines = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        names = next(lines, [])
        if names.count(command.column or "") != 1:
            how = "several such columns" if command.column in names else "no such column"
            hint = "; if it is JSON, give a `pointer`" if content.lstrip()[:1] in (b"{", b"[") else ""
            raise NotThere(f"there is {how}; there are {_named(names)}{hint}", "$.column")
        return _column(lines, names.index(command.column or ""))
    except (UnicodeDecodeError, csv.Error) as error:
        raise NotThere(f"the content cannot be read as CSV: {error}", "$.content") from None


def _column(lines: Iterable[list[str]], at: int) -> Taken:
    """INVARIANT: no more is read than may be taken, however many rows and columns there are."""
    found: list[float] = []
    choices = 1
    for line, cells in enumerate(lines, 2):
        if line == 2:
            choices = max(1, sum(map(_is_number, cells)))
        cell = cells[at].strip() if at < len(cells) else ""
        if not cell:
            continue
        if not _is_number(cell):
            raise NotThere(f"row {line} holds `{shown(cell)}`, which is no finite number", "$.column")
        found.append(_number(float(cell), "$.column"))
        if len(found) > MAX_VALUES:
            raise NotThere(f"there are more than {MAX_VALUES} values", "$.column")
    return _bounded(found, "$.column"), choices


def _is_number(cell: Any) -> bool:
    try:
        return math.isfinite(float(cell))
    except (TypeError, ValueError):
        return False


def _pointed_at(document: Any, command: Observe) -> tuple[float, ...]:
    place = _at(document, command.pointer, "$.pointer")
    if not isinstance(place, list):
        if command.each:
            raise NotThere("`each` leads on from the items of a list, and there is none", "$.pointer")
        if _through_list(document, command.pointer):
            # INVARIANT: nobody takes the values that suit out of a list: all of it is data, or none.
            raise NotThere("a single number of a list is not taken: point at the whole list", "$.pointer")
        return (_number(place, "$.pointer"),)
    _bounded(place, "$.pointer")
    path = "$.each" if command.each else "$.pointer"
    found = []
    for index, item in enumerate(place):
        try:
            found.append(_number(_at(item, command.each, "$.each"), path))
        except NotThere as error:
            hint = "; `each` leads from an item to its number" if not command.each else ""
            raise NotThere(f"item {index}: {error}{hint}", error.path) from None
    return tuple(found)


def _through_list(document: Any, pointer: str) -> bool:
    steps = pointer.split("/")
    return any(isinstance(_at(document, "/".join(steps[:n]), ""), list) for n in range(1, len(steps)))


def _bounded(found: list[Any], path: str) -> tuple[Any, ...]:
    """INVARIANT: how many there are is known before anything is done with them."""
    if not found:
        raise NotThere("there is no value", path)
    if len(found) > MAX_VALUES:
        raise NotThere(f"there are {len(found)} values, more than {MAX_VALUES}", path)
    return tuple(found)


def _at(document: Any, pointer: str, path: str) -> Any:
    """RFC 6901. A step that leads nowhere is named."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict) and name in document:
            document = document[name]
        elif isinstance(document, list) and INDEX.fullmatch(name) and int(name) < len(document):
            document = document[int(name)]
        else:
            raise NotThere(f"there is nothing at step `{shown(name)}`; there is {_there(document)}", path)
    return document


def _there(value: Any) -> str:
    """What stands at a place, in the words of JSON."""
    if isinstance(value, dict):
        return f"an object with {_named(list(value))}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return {bool: "true or false", str: "a text", type(None): "null"}.get(type(value), "a number")


def _named(names: list[str]) -> str:
    return ", ".join(f"`{shown(name)}`" for name in names[:20]) or "none"


def _number(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotThere(f"a number was expected, and there is {_there(value)}", path)
    if not math.isfinite(value) or abs(value) > LARGEST:
        raise NotThere(f"numbers past {LARGEST:g} cannot be averaged", path)
    return float(value)
