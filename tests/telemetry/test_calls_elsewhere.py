"""Calls that run elsewhere are in the trace: permits and reports, those of gateways and hooks, time-outs."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from beliefd import telemetry, tracing
from beliefd.policy.presets import preset
from beliefd.testing.world import AGENT, World
from tests.cli.runner import CLEAN
from tests.context.support import HOOK
from tests.hooks.support import event
from tests.mcp.support import ENV, HERE
from tests.substrate.support import ALLOW_ALL, deny, rules, with_tools
from tests.telemetry.receiver import Collector, Told, collecting
from tests.telemetry.test_traces import PARENT

CLIENT = 3
"""How OTLP numbers the kind of a span."""
RULES = with_tools(
    rules(all=ALLOW_ALL, no=deny("drop"), ask=deny("mail", on_fail="ask")),
    look={"executor": "caller"},
    drop={"executor": "caller"},
    mail={"executor": "caller"},
)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as made:
        tracer = telemetry.start(made.url)
        try:
            yield made
        finally:
            telemetry.stop(tracer)


@pytest.fixture
def house() -> Iterator[World]:
    with World(policy=RULES) as house:
        yield house


def ask(house: World, session: str, tool: str, **args: Any) -> Any:
    made = house.root.issue_capability(session, agent_id=AGENT.id, scope={"tools": ["*"]})
    call = {"kind": "tool_call", "tool_id": tool, "args": args, "capability_token": made.token}
    (result,) = house.agent.propose(session, [call], execute="caller").results
    return result


def told(collector: Collector, name: str) -> Told:
    tracing.tracer.close()  # type: ignore[union-attr]  # flushes what is left
    return collector.wait_for(name)


def inside(collector: Collector, one: Told, name: str) -> Told:
    """The span that another one is in, somewhere up."""
    by_id = {each.span_id: each for each in collector.spans}
    while one.name != name:
        one = by_id[one.parent_id]
    return one


def test_a_permit_and_what_is_reported_of_it_are_spans_of_their_decisions(
    collector: Collector, house: World
) -> None:
    session = house.session()
    given = ask(house, session, "look", secret="secret words")
    house.agent.report_outcome(session, given.call_id, "error", error="secret words")
    tracing.tracer.close()  # type: ignore[union-attr]
    permit, report = collector.wait_for("permit look"), collector.wait_for("report look")
    for one, operation in ((permit, "permit"), (report, "report")):
        assert one.attributes["gen_ai.operation.name"] == operation
        assert one.attributes["gen_ai.tool.name"] == "look"
        assert one.attributes["gen_ai.tool.call.id"] == given.call_id
        assert one.attributes["gen_ai.agent.id"] == AGENT.id
    assert (permit.attributes["beliefd.verdict"], permit.failed) == ("allow", False)
    assert (report.attributes["beliefd.status"], report.failed) == ("error", True)
    assert inside(collector, permit, "propose")
    assert inside(collector, report, "report_outcome")
    assert inside(collector, permit, "decide").attributes["beliefd.session.id"] == session
    assert "secret" not in str([one.attributes for one in collector.spans])


def test_a_permit_that_is_not_given_says_why(collector: Collector, house: World) -> None:
    assert ask(house, house.session(), "drop").verdict == "deny"
    permit = told(collector, "permit drop")
    assert (permit.attributes["beliefd.verdict"], permit.attributes["beliefd.reason"]) == ("deny", "DENIED")
    assert "gen_ai.tool.call.id" not in permit.attributes


def test_a_permit_that_a_person_gave_begins_in_a_span_and_ends_in_one(
    collector: Collector, house: World
) -> None:
    session = house.session()
    waits = ask(house, session, "mail")
    house.ann.approve(house.ann.show_approval(waits.approval_id))
    ask(house, session, "mail", other=True)
    house.clock.advance(7 * 86_400.0)
    assert house.expire()
    tracing.tracer.close()  # type: ignore[union-attr]
    collector.wait_for("expire")
    ends = [one for one in collector.spans if one.name == "expire"]
    assert {one.attributes["beliefd.verb"] for one in ends} >= {"EXPIRE_APPROVAL"}
    decided = [one for one in collector.spans if one.name == "decide" and one.parent_id == ends[0].span_id]
    assert len(decided) == 1


def test_a_hook_is_in_the_trace_with_the_permit_that_it_got(collector: Collector) -> None:
    with World(policy=preset("guard")) as house:
        hook = house.person(HOOK)
        hook.hook_event("claude-code", event("claude-code", "prompt", prompt="list the files"))
        hook.hook_event("claude-code", event("claude-code", "before", command="ls"))
    tracing.tracer.close()  # type: ignore[union-attr]
    permits = [one for one in collector.spans if one.name.startswith("permit ")]
    assert permits
    assert inside(collector, permits[0], "hook_event")


@pytest.mark.slow
def test_a_call_through_the_gateway_is_one_tree_from_its_client_to_the_tool(tmp_path: Path) -> None:
    allow = tmp_path / "policy.yaml"
    allow.write_text(
        "constraints: {constraint.all: {v: 1, effect: allow, subject: null}}\n"
        "capabilities: [{name: guarded, principals: ['gateway://*'], scope: {tools: ['*']}}]\n"
    )
    upstream = [sys.executable, str(HERE / "upstream.py"), str(tmp_path / "effects")]

    async def call(url: str) -> Any:
        words = ["-m", "beliefd", "guard", "--name", "test", "--data", str(tmp_path / "guard")]
        words += ["--policy", str(allow), "--otlp", url, "--", *upstream]
        parameters = StdioServerParameters(command=sys.executable, args=words, env={**CLEAN, **ENV})
        with (tmp_path / "stderr").open("w") as errors:
            async with Client(stdio_client(parameters, errlog=errors), mode="legacy") as client:
                meta: Any = {"traceparent": PARENT}
                return await client.call_tool("echo", {"text": "secret"}, meta=meta)

    with collecting() as collector:
        result = asyncio.run(call(collector.url))
        assert not result.is_error, result
        ran = collector.wait_for("execute_tool echo")
        collector.wait_for("tools/call")
    asked = inside(collector, ran, "tools/call")
    assert (asked.trace_id, asked.parent_id) == (PARENT[3:35], PARENT[36:52])
    assert ran.kind == CLIENT
    assert ran.attributes["gen_ai.operation.name"] == "execute_tool"
    assert ran.attributes["gen_ai.tool.name"] == "echo"
    assert ran.attributes["gen_ai.tool.type"] == "function"
    assert ran.attributes["beliefd.upstream"] == "test"
    permit = collector.wait_for("permit echo")
    assert permit.attributes["gen_ai.tool.call.id"] == ran.attributes["gen_ai.tool.call.id"]
    assert permit.attributes["gen_ai.agent.id"] == "gateway://test"
    assert inside(collector, permit, "tools/call") == asked
    assert "secret" not in str([one.attributes for one in collector.spans])
