"""Which tools there are. A decorator registers a function; an executor of another kind fits the same port."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from beliefd.kernel.canonical import digest
from beliefd.kernel.substrate.schemas import Schema
from beliefd.kernel.substrate.state import ToolCall
from beliefd.kernel.substrate.tools import ToolDefinition
from beliefd.tools import slots as places
from beliefd.tools.threads import in_thread

F = TypeVar("F", bound=Callable[..., Any])


class ToolResult(Struct, frozen=True):
    """A value with what it took; a function may return it instead of a bare value."""

    value: Any
    tokens: int = 0
    cpu_ms: int = 0
    disk_bytes: int = 0


Execute = Callable[[ToolCall], Awaitable[ToolResult]]
"""The port: carry out one call that was let through. Remote tools implement this too."""


class Tool(Struct, frozen=True):
    tool_id: str
    definition: ToolDefinition
    definition_hash: str
    execute: Execute
    schema: Schema

    def argument_errors(self, args: Any) -> tuple[str, ...]:
        return self.schema.errors(args)


class Registry:
    """Tools by id. Registering an id twice is an error: which one would run?"""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}

    def get(self, tool_id: str) -> Tool | None:
        return self._tools.get(tool_id)

    def all(self) -> list[Tool]:
        return [self._tools[tool_id] for tool_id in sorted(self._tools)]

    def add(self, tool_id: str, definition: ToolDefinition, execute: Execute) -> Tool:
        """Register an executor; its calls take places of their callers, as those of functions do."""
        return self._keep(tool_id, definition, _placed(execute))

    def _keep(self, tool_id: str, definition: ToolDefinition, execute: Execute) -> Tool:
        if tool_id in self._tools:
            raise ValueError(f"tool `{tool_id}` is registered already")
        made = Tool(
            tool_id,
            definition,
            digest({"tool_id": tool_id, "definition": msgspec.to_builtins(definition)}),
            execute,
            Schema(definition.schema),
        )
        self._tools[tool_id] = made
        return made

    def tool(self, tool_id: str, **definition: Any) -> Callable[[F], F]:
        """Register a function. Its arguments come from the call by name; `schema` bounds them."""

        def register(function: F) -> F:
            definition.setdefault("description", inspect.getdoc(function) or "")
            self._keep(tool_id, msgspec.convert(definition, ToolDefinition), _python(function))
            return function

        return register


def caller_of(call: ToolCall) -> str:
    """Whose places a call takes: all that one person's agents run counts together."""
    return call.agent_id if call.basis is msgspec.UNSET else call.basis.proposer.person


def _placed(execute: Execute) -> Execute:
    async def placed(call: ToolCall) -> ToolResult:
        with places.slots.held(caller_of(call)):
            return await execute(call)

    return placed


def _python(function: Callable[..., Any]) -> Execute:
    async def threaded(call: ToolCall) -> ToolResult:
        return _as_result(await in_thread(caller_of(call), function, call.args))

    async def awaited(call: ToolCall) -> ToolResult:
        return _as_result(await _shielded(function, call))

    return _placed(awaited) if inspect.iscoroutinefunction(function) else threaded


def _as_result(value: Any) -> ToolResult:
    return value if isinstance(value, ToolResult) else ToolResult(value)


async def _shielded(function: Callable[..., Awaitable[Any]], call: ToolCall) -> Any:
    try:
        return await function(**call.args)
    except (SystemExit, KeyboardInterrupt) as error:
        # Left alone it would end the event loop, and with it the server.
        raise RuntimeError(f"the tool raised {type(error).__name__}") from error


default_registry = Registry()
tool = default_registry.tool
