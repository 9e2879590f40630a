"""VS Code: like Claude Code, with a person in front of it who is not asked by a hook."""

from beliefd.hooks.clients.codex import Codex


class VsCode(Codex):
    """Its hooks are described as those of Claude Code; waiting is a refusal that names the approval."""
