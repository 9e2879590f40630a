"""Which files a patch changes, in the form that agents write: `*** Update File: path` above its hunks."""

import re
from typing import Final

from beliefd.hooks.shell.effects import Effects
from beliefd.hooks.shell.paths import Places
from beliefd.hooks.shell.words import Word

BEGIN: Final = "*** Begin Patch"
ENDS: Final = ("*** End Patch", "*** End of File")
HEADER: Final = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to): *(\S.*)")
HERE: Final = re.compile(r"\s*apply_patch[ \t]+<<[ \t]*(['\"])(\w+)\1[ \t]*\n(.*\n)\2\s*", re.DOTALL)
"""A shell command that is nothing but a patch. Agents' clients apply it themselves."""


def patch_in(command: str) -> str | None:
    """The patch that a command consists of, if it does: nothing may stand behind where its text ends."""
    found = HERE.fullmatch(command)
    if found is None or found[2] in found[3].split("\n"):
        return None
    return found[3]


def read_patch(text: str, effects: Effects, places: Places) -> None:
    """Tell of every file that it names.

    INVARIANT: a line that a client could take for the head of a file is taken for one, wherever it stands.
    """
    whole = text.strip().replace("\r\n", "\n").split("\n")
    lines = [line.strip() for line in whole]
    if lines[:1] != [BEGIN] or whole != "\n".join(whole).splitlines():  # not all agree on other ends of lines
        effects.not_read("it is no patch that is understood")
    for line in lines[1:]:
        if not line.startswith("***") or line in ENDS:
            continue
        head = HEADER.fullmatch(line)
        if head is None:
            effects.not_read(f"a line of the patch is not understood: `{line[:40]}`")
        else:
            change = effects.deletes if head[1] == "Delete File" else effects.writes
            change(Word(head[2], literal=not head[2].startswith("~")), places)
