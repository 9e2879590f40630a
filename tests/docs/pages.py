"""The documentation as data: pages, their fenced blocks, links and headings."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
REFERENCE: Final = DOCS / "reference"
NORMATIVE: Final = ("BELIEF_PROTOCOL.md", "BELIEF_SERVER_SPEC.md", "conformance/README.md")
"""Pages with tests of their own; here only their links are followed."""
AT_THE_ROOT: Final = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
_DROPPED: Final = re.compile(r"[^\w\- ]")


class Block(NamedTuple):
    """A fenced block. Its info string is a language and, after it, words for the tests."""

    page: Path
    line: int
    language: str
    flags: tuple[str, ...]
    text: str

    @property
    def place(self) -> str:
        return f"{name_of(self.page)}:{self.line}"

    @property
    def is_kept(self) -> bool:
        """Is it a file that later blocks use, or an excerpt of an example?"""
        return self.option("file") is not None or self.option("from") is not None

    def option(self, name: str) -> str | None:
        """The value of `name=value` in the info string."""
        found = (flag.partition("=")[2] for flag in self.flags if flag.startswith(f"{name}="))
        return next(found, None)


class Link(NamedTuple):
    page: Path
    target: str


def pages() -> list[Path]:
    return [ROOT / name for name in AT_THE_ROOT] + sorted(DOCS.rglob("*.md"))


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    found = []
    for token in _tokens(page):
        if token.type == "fence":
            language, *flags = token.info.split() or [""]
            line = 1 + (token.map[0] if token.map else 0)
            found.append(Block(page, line, language, tuple(flags), token.content))
        elif token.type == "code_block":
            found.append(Block(page, 1 + (token.map[0] if token.map else 0), "", (), token.content))
    return tuple(found)


def links(page: Path) -> Iterator[Link]:
    for token in _inline(page):
        target = token.attrGet("href") if token.type == "link_open" else token.attrGet("src")
        if target is not None and token.type in ("link_open", "image"):
            yield Link(page, str(target))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Where `#...` can lead on a page, spelt as GitHub does."""
    seen: dict[str, int] = {}
    found = set()
    tokens = _tokens(page)
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open":
            text = "".join(child.content for child in inline.children or ())
            slug = _DROPPED.sub("", text.strip().lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
    return frozenset(found)


def _inline(page: Path) -> Iterator[Token]:
    for token in _tokens(page):
        yield from token.children or ()


@cache
def _tokens(page: Path) -> tuple[Token, ...]:
    return tuple(MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")))
