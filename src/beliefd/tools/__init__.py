"""Tools that agents may ask for: registered Python functions, run only inside the audited envelope."""

from beliefd.tools.registry import Registry, Tool, ToolResult, default_registry, tool

__all__ = ["Registry", "Tool", "ToolResult", "default_registry", "tool"]
