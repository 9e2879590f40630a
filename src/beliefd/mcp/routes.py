"""Which tool a name means: an explicit table, in which no two names can be taken for each other."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, Final

import mcp_types as types
import msgspec
from msgspec import Struct

from beliefd.kernel.catalogues.state import OfferedTool
from beliefd.kernel.values import nested_deeper
from beliefd.mcp.config import GatewayConfig

PLAIN: Final = re.compile(r"[\x21-\x7e]{1,128}")
"""INVARIANT: names are plain ASCII: a letter of another script that looks the same is another name."""


TOLD: Final = 100
"""So many tools are named in an error."""
DEPTH: Final = 50
"""Deeper nested values are not recorded, and a definition has some levels around it."""


class Route(Struct, frozen=True):
    """Where a name leads. `tool` is what the client is shown: only what is pinned of the definition."""

    shown: str
    upstream: str
    tool: types.Tool

    @property
    def definition(self) -> dict[str, Any]:
        """What is pinned."""
        return definition_of(self.tool)


def definition_of(tool: types.Tool) -> dict[str, Any]:
    told = {
        "name": tool.name,
        "description": tool.description or "",
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": tool.annotations and tool.annotations.model_dump(by_alias=True, exclude_none=True),
    }
    return {name: value for name, value in told.items() if value is not None}


def as_shown(route: Route) -> types.Tool:
    """INVARIANT: what is not pinned is not shown: titles, icons and `_meta` could change under it."""
    tool = route.tool
    return types.Tool(
        name=route.shown,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=tool.annotations,
    )


class Table(Struct, frozen=True):
    """The routes, and what is wrong with names that have none."""

    routes: dict[str, Route]
    problems: tuple[str, ...]


def table_of(listed: Mapping[str, Iterable[types.Tool]], config: GatewayConfig) -> Table:
    found: list[Route] = []
    problems: list[str] = []
    for upstream, tools in listed.items():
        wanted = config.upstreams[upstream].tools
        by_name: dict[str, types.Tool] = {}
        for tool in tools:
            if tool.name in by_name:
                problems.append(f"upstream `{upstream}` lists the tool `{tool.name}` twice")
            by_name[tool.name] = tool
        if wanted is None and len(config.upstreams) > 1:
            # INVARIANT: whose tool a name means is written down, not found out from who lists it today.
            problems.append(_needs_table(upstream, by_name))
            continue
        names = {name: name for name in by_name} if wanted is None else wanted
        for shown, name in names.items():
            if name not in by_name:
                problems.append(f"upstream `{upstream}` has no tool `{name}`")
            elif not _can_be_pinned(by_name[name]):
                problems.append(f"upstream `{upstream}` has a tool whose definition cannot be kept: {name!a}")
            elif not (PLAIN.fullmatch(shown) and PLAIN.fullmatch(name)):
                problems.append(f"upstream `{upstream}` has a tool whose name is not plain ASCII: {shown!a}")
            else:
                found.append(Route(shown, upstream, by_name[name]))
    return _without_twins(found, problems)


def _needs_table(upstream: str, names: Iterable[str]) -> str:
    """What to write, as it would show all tools by their own names."""
    plain = [name for name in names if PLAIN.fullmatch(name)]
    rows = [f"{json.dumps(name)}: {json.dumps(name)}" for name in plain[:TOLD]]
    table = "{" + ", ".join(rows + ["..."] * (len(plain) > TOLD)) + "}"
    return f"`$.upstreams.{upstream}` needs `tools` beside other upstreams; for all its own: `tools: {table}`"


def _can_be_pinned(tool: types.Tool) -> bool:
    """One definition that beliefd could not take must not keep all others from being pinned."""
    definition = definition_of(tool)
    try:
        msgspec.convert(definition, OfferedTool)
    except msgspec.ValidationError:
        return False
    return not nested_deeper(definition, DEPTH)


def _without_twins(found: list[Route], problems: list[str]) -> Table:
    """Of names that differ in case alone, or not at all, none has a route."""
    groups: dict[str, list[Route]] = {}
    for route in found:
        groups.setdefault(_folded(route.shown), []).append(route)
    routes = {}
    for group in groups.values():
        if len(group) == 1:
            routes[group[0].shown] = group[0]
            continue
        places = " and ".join(f"`{route.upstream}` (`{route.shown}`)" for route in group)
        problems.append(f"two tools can be taken for each other: {places}; give them names in `tools`")
    return Table(routes, tuple(problems))


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()
