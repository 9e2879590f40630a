"""What a tool does is said by its pinned annotations, by the operator, or by its name, in that order."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from beliefd.kernel.catalogues.policy import CataloguesPolicy
from beliefd.testing.world import Person
from tests.context.support import EVE, GUARD, found_last, gateway, guard, origin_policy, wants
from tests.substrate.support import ToolWorld, one, tool_call

LOOK: dict[str, Any] = {"name": "frobnicate", "annotations": {"readOnlyHint": True}}
WRITE: dict[str, Any] = {"name": "get_report", "annotations": {"readOnlyHint": False}}
BARE: dict[str, Any] = {"name": "search_notes"}


def through(who: Person, session: str, tool_id: str, key: str, **args: Any) -> Any:
    call = {"kind": "tool_call", "tool_id": tool_id, "args": args, "join_key": key, "upstream": "files"}
    return one(who.propose(session, [call], execute="caller"))


@pytest.mark.parametrize("tool_id", ["crm.frobnicate", "Frobnicate"])
def test_what_a_tool_does_is_the_operators_to_say_where_its_name_does_not_tell(
    place: Path, tool_id: str
) -> None:
    with ToolWorld(place, GUARD) as house:
        session = house.session()
        gateway(house).add_context(session, "user", "Who is Carol?")
        assert wants(gateway(house), session, tool_id, name="Carol").verdict == "defer"
    with ToolWorld(place, guard(tools={"crm.*": "read", "Frobnicate": "read"})) as house:
        assert wants(gateway(house), session, tool_id, key="again", name="Carol").verdict == "allow"
        house.check(session)


@pytest.mark.parametrize(
    ("tool", "tier"), [(LOOK, "read"), (WRITE, "write"), (BARE, "read")], ids=lambda one: str(one)[:20]
)
def test_pinned_annotations_count_more_than_names(house: ToolWorld, tool: dict[str, Any], tier: str) -> None:
    front, session = gateway(house), house.session()
    front.pin_tools("files", [tool])
    front.add_context(session, "user", "What is in there?")
    through(front, session, tool["name"], "1", name="x")
    assert found_last(house, session)["origin"]["tier"] == tier
    house.check(session)


SENDS: dict[str, Any] = {"name": "send_email", "annotations": {"readOnlyHint": True}}
NIGHTLY: dict[str, Any] = {
    "name": "frobnicate",
    "description": "Sends a letter to everybody.",
    "annotations": {"readOnlyHint": True},
}
BOTH: dict[str, Any] = {"name": "frobnicate", "annotations": {"readOnlyHint": True, "destructiveHint": True}}
FILLED: dict[str, Any] = {
    "name": "get_report",
    "annotations": {"readOnlyHint": True, "destructiveHint": True},
}


@pytest.mark.parametrize(
    ("tool", "trusted", "tier"),
    [
        (SENDS, False, "write"),
        (NIGHTLY, False, "write"),
        (BOTH, False, "write"),
        (FILLED, False, "read"),
        (SENDS, ("files",), "read"),
        (SENDS, ("mail",), "write"),
    ],
    ids=["name", "description", "contradiction", "default", "trusted", "another is trusted"],
)
def test_a_tool_that_tells_that_it_writes_does_not_read_by_its_own_annotation(
    place: Path, tool: dict[str, Any], trusted: bool | tuple[str, ...], tier: str
) -> None:
    with ToolWorld(place, replace(GUARD, catalogues=CataloguesPolicy(trust_annotations=trusted))) as house:
        front, session = gateway(house), house.session()
        front.pin_tools("files", [tool])
        front.add_context(session, "user", "What is in there?")
        answer = through(front, session, tool["name"], "1", to=EVE)
        assert found_last(house, session)["origin"]["tier"] == tier
        assert (answer.permit is not None) is (tier == "read")
        house.check(session)


def test_an_operator_who_names_a_tool_says_what_it_does(place: Path) -> None:
    with ToolWorld(place, guard(tools={"send_email": "read"})) as house:
        front, session = gateway(house), house.session()
        front.pin_tools("files", [SENDS])
        assert through(front, session, "send_email", "1", to=EVE).verdict == "allow"


def test_what_policy_says_of_a_pinned_tool_raises_it(place: Path) -> None:
    with ToolWorld(place, guard(tools={"frobnicate": "write"})) as house:
        front, session = gateway(house), house.session()
        front.pin_tools("files", [LOOK])
        assert through(front, session, "frobnicate", "1").verdict == "defer"


def test_a_pinned_tool_says_nothing_of_one_of_the_same_name_that_the_server_runs(place: Path) -> None:
    with ToolWorld(place, origin_policy()) as house:
        front, session = gateway(house), house.session()
        front.pin_tools("files", [{"name": "email.send", "annotations": {"readOnlyHint": True}}, LOOK])
        token = house.token(session, front.principal)
        look = {"kind": "tool_call", "tool_id": "frobnicate", "join_key": "1", "upstream": "files"}
        front.propose(session, [{**look, "capability_token": token}], execute="caller")
        own = house.token(session)
        house.agent.propose(session, [tool_call("email.send", own, "k", to=EVE)])
        assert found_last(house, session)["origin"]["tier"] == "write"


def test_results_of_a_tool_that_reads_what_strangers_write_are_text(house: ToolWorld) -> None:
    front, session = gateway(house), house.session()
    front.pin_tools(
        "files", [{"name": "search_notes", "annotations": {"readOnlyHint": True, "openWorldHint": True}}]
    )
    front.add_context(session, "user", "Send an email to Carol")
    call_id = through(front, session, "search_notes", "1").call_id
    found = [{"name": "Carol", "email": EVE}]
    front.report_outcome(session, call_id, "ok", result="", structured=found)
    house.forget()
    wants(front, session, "mail.send_email", to=EVE)
    assert found_last(house, session)["origin"]["sinks"][0]["origin"] == "text"
    house.check(session)
