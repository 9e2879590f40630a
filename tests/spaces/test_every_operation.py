"""For every operation there is: whoever lacks the right in a space gets nothing out of it and nothing in."""

from collections.abc import Iterator

import msgspec
import pytest

from beliefd.kernel.errors import Code
from beliefd.kernel.values import DEFAULT_SPACE, Role
from beliefd.protocol.operations import OPERATIONS, Operation
from beliefd.protocol.rights import OF_ROLE, Right
from beliefd.steward.handlers.batch import LINE_VERBS
from beliefd.testing.world import World
from tests.spaces.support import (
    LAB,
    NOWHERE,
    PLACED,
    WIDE,
    Place,
    answer,
    everything,
    request,
    two_places,
    with_rights,
)

DEFAULT_RIGHTS = {role: f"default={','.join(sorted(rights))}" for role, rights in OF_ROLE.items()}
EVERYBODY = [(one, role) for one in OPERATIONS for role in Role if role in one.roles]
placed = pytest.mark.parametrize("operation", PLACED, ids=lambda row: row.name)
beginning = pytest.mark.parametrize(
    "operation", [one for one in OPERATIONS if one.begins_in_space], ids=lambda row: row.name
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World() as made:
        yield made


@pytest.fixture(scope="module")
def places(world: World) -> tuple[Place, Place]:
    return two_places(world)


def role_for(operation: Operation, *preferred: Role) -> Role:
    """A role that the row lets through: then only rights can stop it."""
    able: list[Role] = [role for role in (*preferred, Role.APPROVER, *Role) if role in operation.roles]
    return able[0]


@pytest.mark.parametrize(
    ("operation", "role"),
    [(one, role) for one, role in EVERYBODY if one in PLACED],
    ids=lambda one: getattr(one, "name", None),
)
def test_what_one_may_not_see_answers_like_what_is_not_there(
    world: World, places: tuple[Place, Place], operation: Operation, role: Role
) -> None:
    """INVARIANT: same code, same words, same details; whoever may everything elsewhere is no exception."""
    _, hidden = places
    who = with_rights(role, DEFAULT_RIGHTS[role])
    before = everything(world)
    seen = answer(world, who, request(operation, hidden))
    absent = {"session_id": NOWHERE, "approval_id": NOWHERE, "capability_id": f"{NOWHERE}/cap-1"}
    unseen = answer(world, who, request(operation, hidden, **absent))
    assert seen[0] in (Code.SESSION_NOT_FOUND, Code.APPROVAL_NOT_FOUND), seen
    named = hidden.approval_id if "approval_id" in operation.path_names else hidden.session_id
    assert msgspec.json.encode(seen).replace(named.encode(), NOWHERE.encode()) == msgspec.json.encode(unseen)
    assert everything(world) == before


@placed
def test_whoever_only_reads_writes_nothing_not_even_a_refusal(
    world: World, places: tuple[Place, Place], operation: Operation
) -> None:
    who = with_rights(role_for(operation), f"{LAB}=read")
    before = everything(world)
    came = answer(world, who, request(operation, places[1]))
    if operation.needs is Right.READ:
        assert not (isinstance(came, tuple) and came[0] in (Code.FORBIDDEN, Code.SESSION_NOT_FOUND)), came
    else:
        assert came[:2] == (
            Code.FORBIDDEN,
            f"{operation.name} takes the right to `{operation.needs}` in space `{LAB}`",
        )
    assert everything(world) == before


@pytest.mark.parametrize(
    "operation", [one for one in PLACED if one.needs is Right.APPROVE], ids=lambda row: row.name
)
def test_a_person_who_may_propose_decides_nothing(
    world: World, places: tuple[Place, Place], operation: Operation
) -> None:
    before = everything(world)
    came = answer(world, with_rights(Role.APPROVER, f"{LAB}=propose,read"), request(operation, places[1]))
    assert came[0] is Code.FORBIDDEN
    assert everything(world) == before


def test_what_decides_takes_the_right_to_approve() -> None:
    deciding = {one.name for one in OPERATIONS if one.needs is Right.APPROVE}
    assert deciding == {"decide_approval", "give_grant", "revoke_grant", "set_mode", "resume"}
    assert not [verb for verb in LINE_VERBS if "APPROV" in verb or "GRANT" in verb], "a batch only proposes"


@pytest.mark.parametrize(
    "operation", [one for one in WIDE if one.needs is not Right.READ], ids=lambda row: row.name
)
def test_what_is_about_no_session_is_asked_by_all_and_done_by_administrators_of_everything(
    world: World, places: tuple[Place, Place], operation: Operation
) -> None:
    before = everything(world)
    for rights in (f"{LAB}=admin", f"default=admin {LAB}=admin", "*=read"):
        came = answer(
            world, with_rights(role_for(operation, Role.ADMIN), rights), request(operation, places[1])
        )
        assert came[:2] == (
            Code.FORBIDDEN,
            f"{operation.name} takes the right to `{operation.needs}` in every space",
        )
    assert everything(world) == before


@pytest.mark.parametrize(
    ("operation", "role"),
    [(one, role) for one, role in EVERYBODY if one in WIDE and one.needs is Right.READ],
    ids=lambda one: getattr(one, "name", None),
)
def test_nothing_of_another_space_is_in_any_answer(
    world: World, places: tuple[Place, Place], operation: Operation, role: Role
) -> None:
    """Lists, the inbox, the graph, content, checks: what names no session tells of none that is hidden."""
    shown, hidden = places
    who = with_rights(role, DEFAULT_RIGHTS[role])
    told = msgspec.json.encode(answer(world, who, request(operation, shown))).decode()
    assert not [trace for trace in hidden.traces if trace in told]
    if operation.path_names:
        names = {"claim_id": "unknown", "sha256": "0" * 64}
        secret = msgspec.json.encode(answer(world, who, request(operation, hidden))).decode()
        unknown = msgspec.json.encode(answer(world, who, request(operation, hidden, **names))).decode()
        for name, value in names.items():
            secret = secret.replace(getattr(hidden, name), value)
        assert secret == unknown
    whole = msgspec.json.encode(answer(world, with_rights(Role.ADMIN), request(operation, hidden))).decode()
    if operation.name in ("list_sessions", "list_approvals", "list_propositions", "list_spaces"):
        assert hidden.word in whole or hidden.space in whole, "there is something to hide"


@beginning
def test_nothing_begins_in_a_space_without_the_right_to(
    world: World, places: tuple[Place, Place], operation: Operation
) -> None:
    role = role_for(operation, Role.AGENT)
    most = max(OF_ROLE[role], key=list(Right).index)
    before = everything(world)
    told = f"{operation.name} takes the right to `{operation.needs}` in "
    for space, rights, expected in (
        (LAB, DEFAULT_RIGHTS[role], (Code.NOT_FOUND, f"no space `{LAB}` that you may see")),
        ("unknown", DEFAULT_RIGHTS[role], (Code.NOT_FOUND, "no space `unknown` that you may see")),
        ("unknown", f"*={most}", (Code.NOT_FOUND, "no space `unknown` that you may see")),
        (LAB, f"{LAB}=read", (Code.FORBIDDEN, told + place_of(operation, LAB))),
        (DEFAULT_SPACE, "default=read", (Code.FORBIDDEN, told + place_of(operation, DEFAULT_SPACE))),
    ):
        asked = request(operation, places[0])
        if isinstance(asked.body, dict):
            asked = msgspec.structs.replace(asked, body={**asked.body, "space": space})
        else:
            asked = msgspec.structs.replace(asked, query={"space": space})
        assert answer(world, with_rights(role, rights), asked)[:2] == expected
    assert everything(world) == before


def place_of(operation: Operation, space: str) -> str:
    """What comes from elsewhere is taken in by who may everything."""
    return "every space" if operation.needs is Right.ADMIN else f"space `{space}`"
