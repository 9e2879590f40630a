"""Codex: the events of Claude Code, and nothing but refusals as an answer."""

from beliefd.hooks.clients.claude_code import ClaudeCode
from beliefd.hooks.clients.told import FlatEvents


class Codex(FlatEvents):
    """INVARIANT: it is never told to ask or to wait: it takes that for a broken hook and runs the tool."""

    moments = ClaudeCode.moments
