"""The content that decisions rest on: it must still be there when they are written."""

from beliefd.kernel.claims.findings import ClaimFindings
from beliefd.kernel.context.commands import AddContext
from beliefd.kernel.context.findings import ContextFindings
from beliefd.kernel.facts import Findings
from beliefd.kernel.observations.commands import Observe
from beliefd.kernel.observations.findings import ObservationFindings


def content_looked_at(command: object, found: Findings | None) -> tuple[str, ...]:
    """The hashes of content that these findings tell of."""
    if isinstance(found, ClaimFindings):
        return tuple(found.content)
    if isinstance(command, AddContext) and isinstance(found, ContextFindings) and found.kept:
        return () if command.content is None else (command.content,)
    if isinstance(command, Observe) and command.content is not None and not _is_problem(found):
        return (command.content,)
    return ()


def _is_problem(found: Findings | None) -> bool:
    return isinstance(found, ObservationFindings) and found.problem != ""
