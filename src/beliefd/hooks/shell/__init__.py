"""What a shell command may do, told by reading it: no model, no run, no look at the disk.

The script is parsed as bash parses it. What the parser or this reader does not understand is not guessed: it
counts as unparsed, and somebody is asked. Not seen by reading: symbolic links, aliases and functions of the
user, what variables hold, and what settings (of git, of the shell) make programs do.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from beliefd.hooks.shell.effects import Effects
from beliefd.hooks.shell.options import Doubt
from beliefd.hooks.shell.patches import patch_in, read_patch
from beliefd.hooks.shell.paths import Places, normal, resolved
from beliefd.hooks.shell.table import TABLE
from beliefd.hooks.shell.walking import Walker
from beliefd.hooks.shell.words import Unparsed, Word
from beliefd.kernel.substrate.shell import UNKNOWN_PATH, ShellFacts

__all__ = ["ShellFacts", "examine", "examine_patch", "examine_paths", "paths_in"]

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def examine(
    command: str,
    cwd: str | None = None,
    roots: tuple[str, ...] = (),
    others: Mapping[str, Any] | None = None,
    kept: tuple[str, ...] = (),
) -> ShellFacts:
    """The facts about a command that is to run in `cwd`. `roots` are the project's folders. Never fails.

    `others` are further arguments of the tool that runs it: a folder, or what is known to change nothing.
    What is `kept` is nobody's project, wherever it is: rules, ledgers and keys of the one who asks.
    """
    effects, places = _beginning(cwd, roots, kept)
    places = _beside(others or {}, effects, places)
    if (patch := patch_in(command)) is not None:
        read_patch(patch, effects, places)
        return effects.facts()
    try:
        Walker(effects).script(command, places, posix=False)
    except (Unparsed, Doubt) as reason:
        effects.not_read(str(reason))
    except (RecursionError, ValueError, IndexError, StopIteration) as defect:
        # INVARIANT: a defect of the reader is no reason to let something pass.
        effects.not_read(f"it could not be read ({type(defect).__name__})")
    return effects.facts()


def examine_patch(
    patch: str,
    cwd: str | None,
    roots: tuple[str, ...],
    others: Mapping[str, Any],
    kept: tuple[str, ...] = (),
) -> ShellFacts:
    """The same facts about a tool that is given a patch."""
    effects, places = _beginning(cwd, roots, kept)
    read_patch(patch, effects, _beside(others, effects, places))
    return effects.facts()


def _beside(others: Mapping[str, Any], effects: Effects, places: Places) -> Places:
    """Further arguments of the tool; where it may run because of them."""
    for name, value in others.items():
        if name in TABLE.arguments.folders and isinstance(value, str):
            places |= frozenset(resolved(Word(value, literal=not value.startswith("~")), places))
        elif name not in TABLE.arguments.harmless and value is not None:
            effects.not_read(f"what argument `{name[:40]}` changes is not known")
    return places


def examine_paths(
    paths: list[str], cwd: str | None, roots: tuple[str, ...], kept: tuple[str, ...] = ()
) -> ShellFacts:
    """The same facts about a tool that writes files, by the paths that it is given."""
    effects, places = _beginning(cwd, roots, kept)
    for path in paths:
        effects.writes(Word(path, literal=not path.startswith("~")), places)
    return effects.facts()


def paths_in(value: Any) -> Iterator[Any]:
    """What stands under a name that says it is a path, however deep; it may be no text."""
    if isinstance(value, dict):
        for name, inner in value.items():
            words = [word.lower() for word in _WORD.findall(str(name))]
            if set(words[-1:]) & TABLE.arguments.paths:
                yield from inner if isinstance(inner, list) else [inner]
            else:
                yield from paths_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from paths_in(inner)


def _beginning(cwd: str | None, roots: tuple[str, ...], kept: tuple[str, ...]) -> tuple[Effects, Places]:
    place = normal(cwd) if cwd and cwd.startswith("/") else UNKNOWN_PATH
    return Effects(tuple(normal(root) for root in roots if root.startswith("/")), kept), frozenset({place})
