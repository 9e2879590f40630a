"""What becomes of an attempt: a refusal, always."""

from typing import Final

from beliefd.kernel.attempts.commands import RecordAttempt
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.scan.guards import HARD_FAILURES
from beliefd.kernel.state import Session
from beliefd.kernel.tables import Rules


def record_attempt(_: Session, command: RecordAttempt, __: Facts) -> Refused:
    """INVARIANT: an attempt changes nothing, and leaves a trace."""
    told = {"operation": command.operation, "body_hash": command.body_hash}
    return refused(command.code, HARD_FAILURES[command.code], command.path, **told)


RULES: Final[Rules] = {RecordAttempt: record_attempt}
