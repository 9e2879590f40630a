"""Before a command is decided, what policy names of it goes beside the ledger, and digests into its place."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import UNSET, Struct

from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.canonical import NotCanonical
from beliefd.kernel.commands import VERB_OF, Command
from beliefd.kernel.erasures.commands import MAX_ERASED
from beliefd.kernel.erasures.places import NOTES, paths_of
from beliefd.kernel.erasures.withholding import (
    MARK,
    PAYLOAD,
    Leaf,
    WithheldPart,
    opened_part,
    part_at,
    put_parts,
    sealed_part,
    withhold,
)
from beliefd.kernel.errors import BeliefdError, Code, invalid
from beliefd.kernel.policy import Policy, recorded
from beliefd.kernel.values import DEFAULT_SPACE, Principal
from beliefd.ledger.envelope import Entry, payload_of
from beliefd.steward.environment import Environment
from beliefd.steward.facts.hashing import sha256_of
from beliefd.steward.keeping import keep
from beliefd.stores.base import Store

MAX_PARTS: Final = MAX_ERASED
"""So many parts one command may have. Each is a write of its own, and its digest is longer than most numbers:
without a bound, a list of a few bytes per item would take minutes, and a record many times its size. One
erasure takes as many."""


class Withheld(Struct, frozen=True):
    """A command as it is decided and recorded, and what stands beside the ledger of it."""

    command: Command
    notes: str | None
    parts: tuple[WithheldPart, ...]
    policy: Policy


def may_withhold(policy: Policy, command: Command) -> bool:
    """Does policy name parts of such commands? Of most policies this is one look."""
    return policy.erasable is not UNSET and bool(paths_of(policy.erasable, VERB_OF[type(command)]))


async def withheld(
    store: Store,
    environment: Environment,
    policy: Policy,
    session_id: str,
    command: Command,
    notes: str | None,
    who: Principal,
) -> Withheld:
    """INVARIANT: every part is kept before its digest is written, and the append says that it rests on it."""
    payload, found = payload_of(command), dict[str, Leaf]()
    names: dict[str, str] = {}

    def hide(part: Leaf) -> str:
        if len(found) == MAX_PARTS:
            text = f"policy keeps more than {MAX_PARTS} texts and numbers of it beside the ledger; send fewer"
            raise invalid(text, "$")
        name = str(len(found))
        found[name] = part
        return name

    try:
        hidden, places = withhold(
            payload, notes, paths_of(policy.erasable or {}, VERB_OF[type(command)]), hide
        )
        contents = {name: sealed_part(environment.new_salt(), part) for name, part in found.items()}
    except NotCanonical as error:
        raise invalid(error.message, error.path) from None
    space = await _space(store, session_id, command) if places else DEFAULT_SPACE
    for name, content in contents.items():
        names[name] = await sha256_of(content)
        now = environment.now()
        await keep(store, policy.content, now, who, names[name], content, space)
    parts = tuple(WithheldPart(path=one.path, digest=names[one.digest]) for one in places)
    document: dict[str, Any] = {PAYLOAD: payload, NOTES: hidden}
    put_parts(document, {one.path: MARK + one.digest for one in parts})
    told: Command = msgspec.convert(document[PAYLOAD], type(command)) if parts else command
    return Withheld(told, document[NOTES], parts, policy)


async def _space(store: Store, session_id: str, command: Command) -> str:
    if isinstance(command, DeclareSession):
        return command.space or DEFAULT_SPACE
    return await store.space_of(session_id) or DEFAULT_SPACE


async def policy_of(store: Store, entry: Entry) -> Policy | None:
    """The policy that an entry was decided under, if it is known."""
    document = await store.policy(entry.policy_hash)
    return None if document is None else recorded(msgspec.json.decode(document))


async def as_it_was_withheld(
    store: Store, parts: Iterable[WithheldPart], command: Command, notes: str | None
) -> tuple[dict[str, Any], str | None]:
    """The payload and notes of a command as an entry would have recorded them: parts that are the same get
    the digests that they have there.

    Raises CONFLICT if that cannot be known any more, because they were erased.
    """
    payload = payload_of(command)
    document: dict[str, Any] = {PAYLOAD: payload, NOTES: notes}
    same: dict[str, Leaf] = {}
    for part in parts:
        content = await store.content(part.digest)
        if content is None:
            text = "what the Idempotency-Key was used for has been erased in part; use a new key"
            raise BeliefdError(Code.CONFLICT, text, {"path": "Idempotency-Key"})
        told = part_at(document, part.path)
        if told is not None and opened_part(content, part.digest) == told:
            same[part.path] = MARK + part.digest
    put_parts(document, same)
    return document[PAYLOAD], document[NOTES]
