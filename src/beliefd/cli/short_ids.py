"""Ids that people shorten: the beginning or the end of one is enough where no other has it, and the number of
an event.

Only ids that the server makes are looked up, and only if what was given is no whole one.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, get_args

from beliefd.kernel.errors import invalid

if TYPE_CHECKING:
    from beliefd.client.synchronous import Calls

WHOLE: Final = re.compile(r"(?:[a-z]+-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:-\d+)?")
PART: Final = re.compile(r"(?:[a-z]+-)?[0-9a-f-]{4,}")
NUMBER: Final = re.compile(r"#?([1-9][0-9]{0,6})")
"""An event by its place in the ledger, as `audit show` prints it. The end of an id, as shown, is longer."""
SHOWN: Final = 8
"""Characters from the end of an id, where lists show it short: ids that were made together begin alike."""
LOOKED_AT: Final = 20_000
NAMED: Final = 10
PAGE: Final = 500
Given = dict[str, Any]
Listing = Callable[["Calls", Given, str | None], tuple[list[str], str | None]]
"""One page of ids past a cursor, and the next cursor."""


def short(name: str) -> str:
    """What a list shows of an id, and every command takes for it; `-0` and the like stay with it."""
    return name if WHOLE.fullmatch(name) is None else _end(name)


def _end(name: str) -> str:
    numbered = re.fullmatch(r"(.+-[0-9a-f]{12})(-\d+)?", name)
    whole, number = (name, None) if numbered is None else numbered.groups()
    return f"{whole[-SHOWN:]}{number or ''}"


def _sessions(calls: "Calls", _: Given, after: str | None) -> tuple[list[str], str | None]:
    page = calls.list_sessions(cursor=after, limit=PAGE)
    return [*(one.session_id for one in page.sessions), *(one.session_id for one in page.broken)], page.next


def _approvals(calls: "Calls", _: Given, after: str | None) -> tuple[list[str], str | None]:
    """What waits comes first; a cursor is the status that is being looked at and the cursor in it."""
    from beliefd.kernel.approvals.state import ApprovalStatus

    statuses: list[str] = list(get_args(ApprovalStatus))
    status, _space, cursor = (after or "").partition(" ")
    status = status or statuses[0]
    page = calls.list_approvals(status=status, cursor=cursor or None, limit=PAGE)
    found = [one.approval_id for one in page.approvals]
    if page.next is not None:
        return found, f"{status} {page.next}"
    following = statuses[statuses.index(status) + 1 :]
    return found, following[0] if following else None


def _events(calls: "Calls", given: Given, after: str | None) -> tuple[list[str], str | None]:
    page = calls.audit_trace(given["session_id"], since_event_id=after, limit=PAGE)
    return [one["event_id"] for one in page.events], page.next


def _calls(calls: "Calls", given: Given, after: str | None) -> tuple[list[str], str | None]:
    """Calls are listed nowhere but in the ledger, and named by the events that let them through."""
    page = calls.audit_trace(given["session_id"], since_event_id=after, limit=PAGE)
    return list(dict.fromkeys(_named_calls([one["delta"] for one in page.events]))), page.next


def _named_calls(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(name := value.get("call_id"), str):
            yield name
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _named_calls(one)


def _listed(operation: str, members: str, name: str) -> Listing:
    """What a session holds, by the operation that lists it."""

    def listing(calls: "Calls", given: Given, after: str | None) -> tuple[list[str], str | None]:
        page = getattr(calls, operation)(given["session_id"], cursor=after, limit=PAGE)
        return [str(getattr(one, name)) for one in getattr(page, members)], page.next

    return listing


LISTINGS: Final[dict[str, Listing]] = {
    "session_id": _sessions,
    "approval_id": _approvals,
    "experiment_id": _listed("list_experiments", "experiments", "experiment_id"),
    "bundle_id": _listed("list_claims", "claims", "id"),
    "intent_id": _listed("list_intents", "intents", "intent_id"),
    "observation_id": _listed("list_observations", "observations", "observation_id"),
    "measurement_id": _listed("list_measurements", "measurements", "measurement_id"),
    "capability_id": _listed("list_capabilities", "capabilities", "capability_id"),
    "run_id": _listed("list_evidence", "evidence", "execution_id"),
    "call_id": _calls,
    "event_id": _events,
    "since": _events,
    "if_match": _events,
}
"""By the names of arguments and options. Sessions come first: the others are looked up in them."""


OF_EVENTS: Final = frozenset(name for name, listing in LISTINGS.items() if listing is _events)
OPTIONS: Final = OF_EVENTS | {"session_id"}
ANYWHERE: Final = frozenset({"session_id", "approval_id"})


def may_be_short(text: Any) -> bool:
    return isinstance(text, str) and bool(PART.fullmatch(text)) and not WHOLE.fullmatch(text)


def shortened(given: Given, named: Container[str]) -> list[str]:
    """What may hold a part of an id. `named` are arguments; an option may hold a name of one's own."""
    asked = [name for name in LISTINGS if name in named or name in OPTIONS]
    of_session = [name for name in asked if may_be_short(given.get(name)) or _number(given, name)]
    return [name for name in of_session if name in ANYWHERE or given.get("session_id")]


def resolved(calls: "Calls", given: Given, names: list[str]) -> Given:
    """The arguments with whole ids. What fits no id stays as it is: the server says that there is none."""
    made = dict(given)
    for name in names:
        made[name] = whole_id(calls, made, name)
    return made


def whole_sessions(calls: "Calls", sessions: Iterable[str]) -> tuple[str, ...]:
    """The whole ids of several sessions."""
    name = "session_id"
    return tuple(whole_id(calls, {name: one}, name) if may_be_short(one) else one for one in sessions)


def whole_events(calls: "Calls", session_id: str, events: Iterable[str]) -> tuple[str, ...]:
    """The whole ids of several events of a session; each may be named by its number, too."""
    name, asked = "event_id", [{"session_id": session_id, "event_id": one} for one in events]
    return tuple(whole_id(calls, one, name) if name in shortened(one, ()) else one[name] for one in asked)


def _number(given: Given, name: str) -> int | None:
    """The place of an event in the ledger, where it is named by that."""
    found = NUMBER.fullmatch(str(given.get(name))) if name in OF_EVENTS else None
    return None if found is None else int(found[1])


def whole_id(calls: "Calls", given: Given, name: str) -> str:
    part: str = given[name]
    if (number := _number(given, name)) is not None:
        return next(islice(_ids(calls, given, name), number - 1, None), part)
    return only(part, _ids(calls, given, name), name)


def only(part: str, ids: Iterable[str], name: str) -> str:
    """The one of these ids that has this part; the part itself if none does."""
    found = list(islice(_fitting(ids, part), NAMED + 1))
    if part in found or not found:
        return part
    if len(found) > 1:
        more = ", and more" if len(found) > NAMED else ""
        candidates = ", ".join(f"`{one}`" for one in sorted(found)[:NAMED])
        raise invalid(f"`{part}` is part of several ids: {candidates}{more}", name)
    return found[0]


def _fitting(ids: Iterable[str], part: str) -> Iterator[str]:
    """Each once: what is listed twice, because it was decided meanwhile, is one."""
    seen: set[str] = set()
    for one in ids:
        bare = one.partition("-")[2] if one[:1].isalpha() and one.partition("-")[0].isalpha() else one
        if one not in seen and (one.startswith(part) or one.endswith(part) or bare.startswith(part)):
            seen.add(one)
            yield one


def _ids(calls: "Calls", given: Given, name: str) -> Iterator[str]:
    after: str | None = None
    looked_at = 0
    while looked_at < LOOKED_AT:
        ids, after = LISTINGS[name](calls, given, after)
        yield from ids
        looked_at += len(ids) + 1
        if after is None:
            return
