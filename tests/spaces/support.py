"""Two spaces with something of everything in each, and callers who may this or that in one of them."""

from contextlib import aclosing
from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.client.requests import Request
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.state import Change
from beliefd.kernel.values import DEFAULT_SPACE, Principal, Role
from beliefd.ledger.envelope import Sealed
from beliefd.protocol.operations import OPERATIONS, Operation
from beliefd.protocol.rights import Rights, rights_of
from beliefd.steward.call import Call
from beliefd.steward.dispatch import stream
from beliefd.testing.world import AGENT, BY_ROLE, ONTOLOGY, World
from tests.claims.support import bundle, claim
from tests.knowledge.story import PREDICTION

LAB: Final = "lab"
NOWHERE: Final = "00000000-0000-7000-8000-000000000000"
PLACED: Final = [
    one
    for one in OPERATIONS
    if {"session_id", "approval_id", "capability_id"} & set(one.path_names) or one.names_session
]
"""The operations that are about one session."""
WIDE: Final = [one for one in OPERATIONS if one not in PLACED and not one.begins_in_space]
"""Those that are about no session, and bring nothing into a space."""


class Place(Struct, frozen=True):
    """What is in a space. Every text in it has a word that no other place has."""

    space: str
    word: str
    session_id: str
    approval_id: str
    claim_id: str
    sha256: str

    @property
    def traces(self) -> list[str]:
        return [self.word, self.session_id, self.approval_id, self.claim_id, self.sha256]


def filled(world: World, space: str, word: str) -> Place:
    agent, ann = world.agent, world.ann
    session_id = agent.declare_session(
        [f"{word}-1", f"{word}-2"], ONTOLOGY, metadata={"word": word}, space=space
    ).session_id
    change = Change(
        type="create_proposition",
        claim_id=f"claim-{word}",
        statement=f"the {word} pool leaks connections",
        prediction=msgspec.structs.replace(PREDICTION, eliminates_if_supported=()),
    )
    world.submit(session_id, StageIntent(change=change), AGENT)
    for row in world.rows():
        if row.session_id == session_id and row.status == "pending":
            ann.approve(ann.show_approval(row.approval_id))
    ann.reject(agent.submit_claims(session_id, bundle(claim("DELETE", statement=f"remove the {word} table"))))
    waiting = agent.submit_claims(session_id, bundle(claim("DELETE", statement=f"remove the {word} bucket")))
    content = agent.store_content(f"{word} was measured".encode(), space=space)
    assert waiting.approval_id is not None
    return Place(space, word, session_id, waiting.approval_id, f"claim-{word}", content.sha256)


def two_places(world: World) -> tuple[Place, Place]:
    """The place that a caller may see, and the one that is somebody else's."""
    world.root.create_space(LAB)
    return filled(world, DEFAULT_SPACE, "albatross"), filled(world, LAB, "zanzibar")


def with_rights(role: Role, *spaces: str) -> tuple[Principal, Rights]:
    return BY_ROLE[role], rights_of(role, " ".join(spaces))


def request(operation: Operation, place: Place, **other: str) -> Request[Any]:
    """A well-formed request about what is in a place, or about other ids."""
    ids = {
        **msgspec.structs.asdict(place),
        "capability_id": f"{other.get('session_id', place.session_id)}/cap-1",
        "hypothesis": f"{place.word}-1",
        **other,
    }
    body = operation.example
    if isinstance(body, str):
        body = body.encode()
    if operation.names_session:
        body = {**body, "session_id": ids["session_id"]}
    path = {name: ids.get(name, "unknown") for name in operation.path_names}
    return Request(operation, path, body=body)


def answer(world: World, who: tuple[Principal, Rights], asked: Request[Any]) -> Any:
    """What comes of it: an answer, or an error as (code, message, details)."""
    try:
        if asked.operation.media == "text/event-stream":
            return world.run(lambda: _first_chunk(world, who, asked))
        return world.person(*who)._send(asked)
    except BeliefdError as error:
        return error.code, error.message, error.details


async def _first_chunk(world: World, who: tuple[Principal, Rights], asked: Request[Any]) -> bytes:
    """A feed has no end: its beginning says whether it was given."""
    call = Call(principal=who[0], rights=who[1], path=asked.path)
    async with aclosing(stream(world.runtime.handlers, asked.operation, call)) as chunks:
        return await anext(chunks)


def everything(world: World) -> tuple[Any, ...]:
    """All that a store holds."""

    async def read() -> tuple[Any, ...]:
        store = world.store
        ledgers: dict[str, list[Sealed]] = {
            row.session_id: await store.entries(row.session_id) for row in await store.sessions(None, 1000)
        }
        kept = await store.content_before("9999", None, 1000)
        brought = [await store.bringers(one.sha256) for one in kept]
        calibration = await store.calibration("unknown")
        beside = (await store.tokens(), await store.spaces(), await store.adopted(), calibration)
        return ledgers, kept, brought, await store.inbox(None, None, 1000), beside

    return world.run(read)
