"""Who has spoken in a session: names that a question may ask by, and the error for one that is not there."""

from collections.abc import Iterable
from typing import Final

from msgspec import UNSET

from beliefd.kernel.beliefs.commands import Eliminate, Merge
from beliefd.kernel.commands import Command
from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.experiments.commands import LinkEvidence
from beliefd.kernel.values import shown

KNOWN: Final = 20
"""How many names an error lists; the rest are counted."""


class Speakers:
    """The sources and principals of a ledger, command by command."""

    def __init__(self) -> None:
        self.sources: set[str] = set()
        self.principals: set[str] = set()

    def meet(self, actor: str, command: Command) -> None:
        self.principals.add(actor)
        if isinstance(command, Eliminate):
            self.sources.add(command.source_id)
        elif isinstance(command, LinkEvidence):
            self.sources.add(command.run_id)
        elif isinstance(command, Merge):
            self.sources.update(one.source_id for one in command.eliminations)
            self.principals.update(one.actor for one in command.eliminations if one.actor is not UNSET)

    def check_sources(self, named: Iterable[tuple[str, str]]) -> None:
        """`named` are names, each with the path that it is given under."""
        _check(named, self.sources, "source")

    def check_principals(self, named: Iterable[tuple[str, str]]) -> None:
        _check(named, self.principals, "principal")


def _check(named: Iterable[tuple[str, str]], known: set[str], what: str) -> None:
    """A name that nobody has here is a typing error: as an answer it would look like an acquittal."""
    for path, name in named:
        if name not in known:
            listed = sorted(known)[:KNOWN]
            told = ", ".join(f"`{shown(one)}`" for one in listed) or "none"
            more = f" and {len(known) - KNOWN} more" if len(known) > KNOWN else ""
            raise BeliefdError(
                Code.INVALID_REQUEST,
                f"no {what} `{shown(name)}` has spoken in this session; known: {told}{more}",
                {"path": path, "known": listed, "count": len(known)},
            )
