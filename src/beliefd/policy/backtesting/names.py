"""What the formats of recorded runs are called; apart, because the command line names them at once."""

from typing import Final

AUTO: Final = "auto"
LEDGER: Final = "ledger"
RUNS: Final = ("openai-chat", "claude", "codex", "otlp")
FORMATS: Final = (AUTO, LEDGER, *RUNS)
