"""The Model Context Protocol: a gateway in front of tool servers, and beliefd's own verbs as tools.

All that needs the package `mcp` (the extra of that name) is imported by the command that runs it.
"""
