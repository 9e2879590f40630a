"""Where a path leads, by its text alone. Symbolic links cannot be seen."""

import posixpath
import re
from fnmatch import fnmatchcase
from typing import Final

from beliefd.hooks.shell.words import Word
from beliefd.kernel.substrate.shell import UNKNOWN_PATH

Places = frozenset[str]
"""The folders that a command may run in: several, where a `cd` may have failed. `?` is any folder."""

_GLOBS: Final = re.compile(r"\*|\?|\[[!^]?\]?[^\]/]*\]")
_UP_BY_GLOB: Final = re.compile(r"(^|/)\.[^/]*[*?\[]")


def resolved(word: Word, places: Places) -> tuple[str, ...]:
    """What a word names in each folder; `?` where that cannot be told."""
    text = word.text
    if not word.literal or "\0" in text:
        # A home folder is outside all the same, and its name tells more than nothing.
        return (text if text.startswith("~") and "?" not in text else UNKNOWN_PATH,)
    if word.loose and ("{" in text or _UP_BY_GLOB.search(text)):
        return (UNKNOWN_PATH,)
    if text.startswith("/"):
        return (normal(text),)
    return tuple(UNKNOWN_PATH if one == UNKNOWN_PATH else normal(f"{one}/{text}") for one in sorted(places))


def normal(path: str) -> str:
    return "/" + posixpath.normpath(path).lstrip("/")


def inside(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(f"{root.rstrip('/')}/") for root in roots)


def steers(path: str, roots: tuple[str, ...], steering: frozenset[str], *, by_glob: bool) -> bool:
    """Is it something inside the project that programs obey later, on any file system?"""
    below = max((root for root in roots if inside(path, (root,))), key=len, default="")
    parts = [part.casefold() for part in path[len(below) :].split("/") if part]
    globs = [part for part in parts if by_glob and set("*?[") & set(part)]
    return any(part in steering for part in parts) or any(
        fnmatchcase(name, part) for part in globs for name in steering if not name.startswith(".")
    )


def touches(path: str, kept: tuple[str, ...], roots: tuple[str, ...]) -> bool:
    """Is it one of these files, something in one, or a folder below the project that one is in?"""
    if path in roots:
        return False  # what is put there has a name of its own
    parts = path.casefold().split("/")
    return any(
        all(fnmatchcase(name, part) for name, part in zip(one.casefold().split("/"), parts, strict=False))
        for one in kept
    )


def is_whole(path: str, roots: tuple[str, ...]) -> bool:
    """Is it all of a project, or all that stands in it?"""
    return any(not _GLOBS.sub("", path[len(root) :]).strip("/") for root in roots if inside(path, (root,)))
