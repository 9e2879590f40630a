"""Parts of entries that stand beside the ledger: which they are, and what they say while they are kept."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import UNSET

from beliefd.kernel.commands import COMMAND_OF, Command
from beliefd.kernel.doors import speculation_in
from beliefd.kernel.erasures.places import NOTES, paths_of
from beliefd.kernel.erasures.withholding import (
    MARK,
    PAYLOAD,
    Leaf,
    WithheldPart,
    opened_part,
    put_parts,
    withheld_in,
)
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.kernel.policy import Policy
from beliefd.ledger.envelope import UNREADABLE, Entry, Sealed, read

WITHHELD: Final = "withheld"
_MARK: Final = MARK.encode()


def parts_of(entry: Entry, policy: Policy | None) -> tuple[WithheldPart, ...]:
    """What an entry withholds: the digests in the places that the policy names under which it was decided."""
    if policy is None or policy.erasable is UNSET:
        return ()
    payload = msgspec.json.decode(entry.payload)
    return withheld_in(payload, entry.notes, paths_of(policy.erasable, entry.verb))


def withholding(entries: Iterable[Sealed]) -> list[Entry]:
    """Those that may withhold something. Most do not, and one look at their bytes shows that."""
    found = []
    for sealed in entries:
        if _MARK in sealed.record:
            try:
                found.append(read(sealed.record))
            except UNREADABLE:
                continue  # whoever verifies it says so
    return found


def digests_in(entries: Iterable[Sealed], policies: Mapping[str, Policy]) -> set[str]:
    return {
        part.digest
        for entry in withholding(entries)
        for part in parts_of(entry, policies.get(entry.policy_hash))
    }


def opened_parts(parts: Iterable[WithheldPart], contents: Mapping[str, bytes]) -> dict[str, Leaf] | None:
    """The parts by path; None unless all of them are at hand, each as its digest says."""
    found: dict[str, Leaf] = {}
    for part in parts:
        content = contents.get(part.digest)
        opened = None if content is None else opened_part(content, part.digest)
        if opened is None:
            return None
        found[part.path] = opened
    return found


def revealed(
    entry: Entry, parts: Iterable[WithheldPart], contents: Mapping[str, bytes]
) -> tuple[Command, str | None] | None:
    """The command and the notes as they were sent; None if that cannot be known any more."""
    opened = opened_parts(parts, contents)
    if opened is None:
        return None
    document: dict[str, Any] = {PAYLOAD: msgspec.json.decode(entry.payload), NOTES: entry.notes}
    put_parts(document, opened)
    command: Command = msgspec.convert(document[PAYLOAD], COMMAND_OF[entry.verb])
    return command, document[NOTES]


def said_in_withheld(stopped: Refused) -> Refused:
    """A refusal because of what stands in a withheld part; it does not repeat a word of that."""
    text = "what it says stands beside the ledger, and cannot be let through"
    path = (stopped.details or {}).get("path", "$")
    return Refused(code=stopped.code, message=text, details={"path": path, WITHHELD: True})


def _is_of_withheld(entry: Entry) -> bool:
    """Does it say that it was refused because of what stands in its withheld parts?"""
    return isinstance(entry.delta, Refused) and entry.delta.details.get(WITHHELD) is True


def as_with_parts(entry: Entry, decided: Event, policy: Policy) -> Event:
    """What was decided without the withheld parts, or the recorded refusal, if they were the reason for it.

    Only the door reads them, and it is the same under every policy. `policy` is the one that it was decided
    under then.
    """
    if isinstance(decided, Refused) or not _is_of_withheld(entry) or not parts_of(entry, policy):
        return decided
    return entry.delta


def contradicted(entry: Entry, parts: Iterable[WithheldPart], contents: Mapping[str, bytes]) -> str | None:
    """Why parts that are at hand do not go with what was decided, if so."""
    for part in parts:
        content = contents.get(part.digest)
        if content is not None and opened_part(content, part.digest) is None:
            return f"what is kept for `{part.path}` has another digest"
    told = revealed(entry, parts, contents)
    if told is None:
        return None
    stopped = speculation_in(*told) is not None
    # One that was refused for another reason may have parts that the door would have stopped, too.
    if _is_of_withheld(entry) != stopped and (_is_of_withheld(entry) or not isinstance(entry.delta, Refused)):
        return "deciding it again with what it withholds gives another outcome than the one recorded"
    return None
