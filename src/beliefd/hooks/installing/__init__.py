"""Where clients keep their hooks, and how beliefd's are put there, taken away and found."""

from typing import Final

from beliefd.hooks.installing.codex import TRUST, CodexSettings
from beliefd.hooks.installing.files import ClineFiles, OpenCodePlugin
from beliefd.hooks.installing.settings import JsonSettings
from beliefd.hooks.installing.switches import MANAGED_CLAUDE, SettingsFile, Switch
from beliefd.hooks.installing.writing import Installation

AROUND_TOOLS: Final = ("PreToolUse", "PostToolUse")
OFF: Final = (Switch("disableAllHooks", off=True),)
OFF_IN_GEMINI: Final = (
    Switch("hooksConfig.enabled", off=False),
    Switch("hooksConfig.disabled", off="beliefd"),
)
OFF_IN_CODEX: Final = (Switch("features.hooks", off=False), Switch("features.codex_hooks", off=False))
INSTALLATIONS: Final[dict[str, Installation]] = {
    "claude-code": JsonSettings(
        "claude-code",
        user="~/.claude/settings.json",
        home_variable="CLAUDE_CONFIG_DIR",
        project=".claude/settings.json",
        events=(*AROUND_TOOLS, "PostToolUseFailure", "UserPromptSubmit"),
        matched=(*AROUND_TOOLS, "PostToolUseFailure"),
        fields={"timeout": 30, "onFailure": "block"},
        settings=(
            SettingsFile("~/.claude/settings.json", OFF),
            SettingsFile(".claude/settings.json", OFF),
            SettingsFile(".claude/settings.local.json", OFF),
            *(
                SettingsFile(path, (*OFF, Switch("allowManagedHooksOnly", off=True)))
                for path in MANAGED_CLAUDE
            ),
        ),
    ),
    "codex": CodexSettings(
        "codex",
        user="~/.codex/hooks.json",
        home_variable="CODEX_HOME",
        project=".codex/hooks.json",
        events=(*AROUND_TOOLS, "UserPromptSubmit"),
        matched=AROUND_TOOLS,
        fields={"timeout": 30},
        settings=(
            SettingsFile("~/.codex/config.toml", OFF_IN_CODEX),
            SettingsFile(".codex/config.toml", OFF_IN_CODEX),
        ),
        advice=f"{TRUST}: it skips those that nobody trusted",
    ),
    "gemini": JsonSettings(
        "gemini",
        user="~/.gemini/settings.json",
        project=".gemini/settings.json",
        events=("BeforeTool", "AfterTool", "BeforeAgent"),
        matched=("BeforeTool", "AfterTool"),
        fields={"name": "beliefd", "timeout": 30_000},
        settings=(
            SettingsFile("~/.gemini/settings.json", OFF_IN_GEMINI),
            SettingsFile(".gemini/settings.json", OFF_IN_GEMINI),
            SettingsFile("/etc/gemini-cli/settings.json", OFF_IN_GEMINI),
        ),
    ),
    "cursor": JsonSettings(
        "cursor",
        user="~/.cursor/hooks.json",
        project=".cursor/hooks.json",
        events=("preToolUse", "postToolUse", "postToolUseFailure", "beforeSubmitPrompt"),
        fields={"timeout": 30, "failClosed": True},
        typed=False,
        nested=False,
        beside={"version": 1},
    ),
    "vscode": JsonSettings(
        "vscode",
        user="~/.copilot/hooks/beliefd.json",
        project=".github/hooks/beliefd.json",
        events=(*AROUND_TOOLS, "UserPromptSubmit"),
        fields={"timeout": 30},
        nested=False,
    ),
    "cline": ClineFiles(),
    "opencode": OpenCodePlugin(),
}
