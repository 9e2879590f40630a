"""The demo's database pool, and the tools that read and change it."""

from typing import Any

from beliefd.tools.registry import Registry

SESSIONS = 200
IDLE = 163
WAITS_MS = tuple(40.0 + 0.2 * (pow(5, place, 97) % 17 - 8) for place in range(85))
"""How long checkouts waited for a connection, as the pool had measured it."""


class Pool:
    """Two hundred connections, most of them idle inside a transaction."""

    def __init__(self) -> None:
        self.idle = IDLE

    def tools(self, registry: Registry) -> None:
        @registry.tool("pool.idle_sessions", schema=NO_ARGUMENTS)
        def idle_sessions() -> dict[str, int]:
            """Count the sessions that sit idle inside a transaction."""
            return {"idle": self.idle, "of": SESSIONS}

        @registry.tool(
            "pool.end_idle_sessions", schema=NO_ARGUMENTS, tier="DELETE", mutates=True, timeout_ms=5_000
        )
        def end_idle_sessions() -> dict[str, int]:
            """End every session that sits idle inside a transaction."""
            ended, self.idle = self.idle, 0
            return {"ended": ended}

        @registry.tool(
            "pool.drop_table", schema=TABLE, tier="DELETE", capabilities=["destroys_data"], mutates=True
        )
        def drop_table(table: str) -> None:
            """Drop a table."""
            raise AssertionError(f"dropped `{table}`: the rules of the incident were not heeded")


NO_ARGUMENTS: dict[str, Any] = {"type": "object", "additionalProperties": False}
TABLE: dict[str, Any] = {
    "type": "object",
    "properties": {"table": {"type": "string"}},
    "required": ["table"],
    "additionalProperties": False,
}
