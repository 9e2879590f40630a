"""What people said yes to and what did not run is shown as that: over HTTP, on the command line, on pages."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from beliefd.cli.views.drawing import view
from beliefd.console.pages import card as card_page
from beliefd.console.pages import inbox
from tests.console.visitor import seen, shown
from tests.substrate.conftest import Build
from tests.substrate.support import ALLOW_ALL, ToolWorld, deny, rules
from tests.substrate.test_asking import ASKS
from tests.substrate.test_asking import ask as asked_here
from tests.substrate.test_http import Web
from tests.substrate.test_permits import RULES, ask, wants

WORDS = "approved, did not run"


def stopped(build: Build) -> tuple[ToolWorld, str]:
    """A yes, and then a capability that was revoked before the call began."""
    house = build(policy=RULES)
    session = house.session()
    token = house.token(session)
    waits = ask(house.agent, session, wants("mail", token, "use-1", to="ana"))
    told = house.ann.approve(house.ann.show_approval(str(waits.approval_id)))
    house.root.revoke_capability(f"{session}/{token.partition('.')[0]}")
    assert told.call is not None
    assert house.agent.begin_call(session, str(told.call.call_id)).status == "stopped"
    return house, str(waits.approval_id)


def degraded(build: Build) -> tuple[ToolWorld, str]:
    """A yes under a policy that lowers the mode instead; its card says so before."""
    house = build(policy=ASKS)
    session = house.session()
    waits = asked_here(house, session, house.token(session))
    house.steward.in_force.adopt(rules(all=ALLOW_ALL, a=deny("email.send", on_fail="degrade")))
    warned = house.ann.show_approval(waits.approval_id)
    assert "lowers the mode" in str(warned.cannot_run)
    assert "lowers the mode" in warned.on_approval
    told = house.ann.approve(waits)
    assert (told.status, house.toolbox.count) == ("approved", 0)
    return house, waits.approval_id


@pytest.mark.parametrize("story", [stopped, degraded])
def test_approved_and_not_run_is_shown_as_what_it_is(
    build: Build, story: Callable[[Build], tuple[ToolWorld, str]]
) -> None:
    house, name = story(build)
    web = Web(house)
    over_http = web.get("approver", f"/v1/approvals/{name}")
    assert (over_http["status"], over_http["came_to"]) == ("approved", WORDS)
    (listed,) = web.get("approver", "/v1/approvals?status=approved")["approvals"]
    assert listed["came_to"] == WORDS
    one, page = house.ann.show_approval(name), house.ann.list_approvals(status="approved")
    for answer in (one, page):
        assert WORDS in drawn(answer)
    assert WORDS in shown(seen(house, card_page.shown, {"approval_id": name}))
    assert WORDS in shown(seen(house, inbox.waiting, query={"status": "approved"}))


def drawn(answer: Any) -> str:
    console = Console(file=io.StringIO(), width=400)
    console.print(view(answer))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()
