"""A policy to start from: everything is denied, and what an upstream offers stands there to be opened."""

import json
import textwrap
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from beliefd.kernel.catalogues.state import OfferedTool
from beliefd.kernel.context.tools import hinted_info
from beliefd.kernel.errors import invalid
from beliefd.kernel.values import Tier
from beliefd.mcp.config import GatewayConfig
from beliefd.mcp.conversation import Conversation, Shared
from beliefd.mcp.routes import Route, table_of
from beliefd.mcp.upstream import Gone
from beliefd.policy.lexicons import ALL, shipped_lexicon
from beliefd.protocol.visible import visible

WIDTH: Final = 100
TIMEOUT_MS: Final = 60_000
HEAD: Final = """\
# A policy to start from. Nothing runs under it: no constraint allows anything yet.
# Take the `#` away before the tools that may run; with `ask` beside `allow`, a person decides each call.
#
# The tiers are what the tools say of themselves (their annotations), unless a name tells that it does more.
# Raise what is more dangerous than it says. A DELETE or PRIVILEGE tool always waits for a person.
v: 1

# Which capabilities the gateway gets: any tool here, so many calls per session.
capabilities:
  - name: gateways
    principals: [gateway://*]
    scope: { tools: ["*"], budgets: { calls: 1000 } }
    expires_in_seconds: 86400

tools:
"""
RULES: Final = """
# What may run. `constraints: {}` allows nothing; put lines from below in the place of the `{}`.
constraints: {}
"""


async def upstream_tools(config: GatewayConfig) -> list[Route]:
    """What the upstreams offer now. Nothing is called, and beliefd is not asked."""
    talk = Conversation("policy-init", Shared(config, None))  # type: ignore[arg-type]
    try:
        table = table_of(await talk.listed(), config)
    except Gone as error:
        raise invalid(str(error)) from None
    finally:
        await talk.close()
    if table.problems:
        raise invalid("; ".join(table.problems))
    return list(table.routes.values())


def tier_of(route: Route) -> Tier:
    """What a tool says of itself. One that says nothing is taken to change things, and so is one that says
    that it reads while its name tells otherwise."""
    annotations = route.tool.annotations
    if annotations is None:
        return Tier.MODIFY
    if annotations.read_only_hint:
        offered = msgspec.convert(route.definition, OfferedTool)
        reads = hinted_info(offered, shipped_lexicon(ALL), trusted=False).tier == "read"
        return Tier.READ_ONLY if reads else Tier.MODIFY
    if annotations.destructive_hint is None:
        return Tier.MODIFY
    return Tier.DELETE if annotations.destructive_hint else Tier.WRITE_LIMITED


def starting_policy(routes: Iterable[Route]) -> str:
    """As text, for people to edit. INVARIANT: as it stands it is a policy, and it allows nothing."""
    # Policy knows a tool by its name alone: of two that share it, the more dangerous one counts.
    by_name: dict[str, Route] = {}
    for route in sorted(routes, key=lambda one: (tier_of(one), one.upstream)):
        by_name[route.tool.name] = route
    named = [by_name[name] for name in sorted(by_name)]
    return HEAD + "".join(map(_tool, named)) + RULES + "".join(map(_constraint, named))


def _tool(route: Route) -> str:
    tier = tier_of(route)
    changes = "false" if tier is Tier.READ_ONLY else "true"
    told = f"executor: caller, tier: {tier.name}, mutates: {changes}, timeout_ms: {TIMEOUT_MS}"
    definition = f"{{ {told} }}"
    return f"  {_quoted(route.tool.name)}: {definition}\n"


def _constraint(route: Route) -> str:
    name = _quoted(route.tool.name)
    said = visible(" ".join((route.tool.description or "").split()))
    lines = textwrap.wrap(
        f"{route.upstream}: {route.tool.name}. {said}", WIDTH, max_lines=2, placeholder=" ..."
    )
    described = "".join(f"# {line}\n" for line in lines)
    key = _quoted(f"constraint.allow.{route.tool.name}")
    allow = f"{{ v: 1, effect: allow, subject: {{ tool_id: {name} }} }}"
    ask_key = _quoted(f"constraint.ask.{route.tool.name}")
    ask = f"{{ v: 1, effect: deny, subject: {{ tool_id: {name} }}, on_fail: ask }}"
    asking = "" if tier_of(route) is Tier.READ_ONLY else f"#  {ask_key}: {ask}\n"
    return f"{described}#  {key}: {allow}\n{asking}"


def _quoted(name: Any) -> str:
    """A name as YAML and JSON both read it."""
    return json.dumps(name)
