"""Comparing shown output with real output: ids, hashes, times, ports and secrets are whatever they are."""

import re
from typing import Final

MASKS: Final = (
    (re.compile(r"bd_[0-9a-f]{12}_[\w-]{43}"), "<token>"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"\b[0-9a-f]{16}\b"), "<short hash>"),
    (re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b\d{2}:\d{2}:\d{2}\.\d{3}\b"), "<time of day>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:<port>"),
    (re.compile(r"\b\d+\.\d+s\b"), "<seconds>"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)
ELISION: Final = "..."


def masked(text: str) -> str:
    for pattern, name in MASKS:
        text = pattern.sub(name, text)
    return text.strip("\n")


def matches(shown: str, real: str) -> bool:
    """Is `shown` what was printed? A line `...` stands for any lines, `...` within one for any text."""
    return _pattern(masked(shown)).fullmatch(masked(real) + "\n") is not None


def _pattern(shown: str) -> "re.Pattern[str]":
    lines = []
    for line in shown.splitlines():
        if line.strip() == ELISION:
            lines.append(r"(?:.*\n)*?")
        else:
            lines.append(".*?".join(re.escape(part) for part in line.split(ELISION)) + r"\n")
    return re.compile("".join(lines))
