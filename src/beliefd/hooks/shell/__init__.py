"""What a shell command may do, told by reading it: no model, no run, no look at the disk.

The script is parsed as bash parses it. What the parser or this reader does not understand is not guessed: it
counts as unparsed, and somebody is asked. Not seen by reading: symbolic links, aliases and functions of the
user, what variables hold, and what settings (of git, of the shell) make programs do.
"""

from beliefd.hooks.shell.effects import Effects
from beliefd.hooks.shell.options import Doubt
from beliefd.hooks.shell.paths import Places, normal
from beliefd.hooks.shell.walking import Walker
from beliefd.hooks.shell.words import Unparsed, Word
from beliefd.kernel.substrate.shell import UNKNOWN_PATH, ShellFacts

__all__ = ["ShellFacts", "examine", "examine_paths"]


def examine(command: str, cwd: str | None = None, roots: tuple[str, ...] = ()) -> ShellFacts:
    """The facts about a command that is to run in `cwd`. `roots` are the project's folders. Never fails."""
    effects, places = _beginning(cwd, roots)
    try:
        Walker(effects).script(command, places, posix=False)
    except (Unparsed, Doubt) as reason:
        effects.not_read(str(reason))
    except (RecursionError, ValueError, IndexError, StopIteration) as defect:
        # INVARIANT: a defect of the reader is no reason to let something pass.
        effects.not_read(f"it could not be read ({type(defect).__name__})")
    return effects.facts()


def examine_paths(paths: list[str], cwd: str | None, roots: tuple[str, ...]) -> ShellFacts:
    """The same facts about a tool that writes files, by the paths that it is given."""
    effects, places = _beginning(cwd, roots)
    for path in paths:
        effects.writes(Word(path, literal=not path.startswith("~")), places)
    return effects.facts()


def _beginning(cwd: str | None, roots: tuple[str, ...]) -> tuple[Effects, Places]:
    place = normal(cwd) if cwd and cwd.startswith("/") else UNKNOWN_PATH
    return Effects(tuple(normal(root) for root in roots if root.startswith("/"))), frozenset({place})
