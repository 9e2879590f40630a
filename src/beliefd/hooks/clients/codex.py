"""Codex: the events of Claude Code, and nothing but refusals as an answer."""

from beliefd.hooks.clients.claude_code import ClaudeCode
from beliefd.hooks.events import HookEvent, Replay, Said, blocked


class Codex(ClaudeCode):
    """INVARIANT: it is never told to ask or to wait: it takes that for a broken hook and runs the tool."""

    def answer(self, event: HookEvent, said: Said) -> Replay:
        return Replay() if said.verdict == "pass" else blocked(said.reason)
