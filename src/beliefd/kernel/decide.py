"""decide(state, command, facts) -> event: the one place where anything is allowed or refused.

Pure and total: the same three arguments give the same event, on any machine, at any time.
"""

from typing import Final, cast

from beliefd.kernel.approvals import rules as approvals
from beliefd.kernel.attempts import rules as attempts
from beliefd.kernel.beliefs import rules as beliefs
from beliefd.kernel.beliefs.commands import DeclareSession
from beliefd.kernel.beliefs.events import Declared
from beliefd.kernel.catalogues import rules as catalogues
from beliefd.kernel.claims import rules as claims
from beliefd.kernel.claims.commands import RetractClaims
from beliefd.kernel.commands import Command, verb_of
from beliefd.kernel.context import rules as context
from beliefd.kernel.doors import speculation_in
from beliefd.kernel.erasures import rules as erasures
from beliefd.kernel.erasures.commands import Erase
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused
from beliefd.kernel.events import Event
from beliefd.kernel.experiments import rules as experiments
from beliefd.kernel.experiments.commands import LinkEvidence
from beliefd.kernel.facts import Facts
from beliefd.kernel.intents import rules as intents
from beliefd.kernel.intents.commands import StageIntent
from beliefd.kernel.intents.state import INTENT_LANES
from beliefd.kernel.measurements import rules as measurements
from beliefd.kernel.observations import rules as observations
from beliefd.kernel.scheduling import rules as scheduling
from beliefd.kernel.speculation import rules as speculation
from beliefd.kernel.speculation.lanes import SPECULATIVE
from beliefd.kernel.state import Session, grounded
from beliefd.kernel.substrate import rules as substrate
from beliefd.kernel.system import rules as system
from beliefd.kernel.system.state import SYSTEM
from beliefd.kernel.tables import Rules
from beliefd.kernel.transfers import rules as transfers
from beliefd.kernel.transfers.commands import ReceiveLedger, SealSession, UnsealSession

RULES: Final[Rules] = {
    **beliefs.RULES,
    **claims.RULES,
    **approvals.RULES,
    **substrate.RULES,
    **scheduling.RULES,
    **context.RULES,
    **observations.RULES,
    **measurements.RULES,
    **experiments.RULES,
    **intents.RULES,
    **speculation.RULES,
    **attempts.RULES,
    **system.RULES,
    **catalogues.RULES,
    **transfers.RULES,
    **erasures.RULES,
}

_OF_THE_END: Final = (ReceiveLedger, SealSession, UnsealSession, Erase)
BELIEVING: Final = frozenset({*beliefs.RULES, LinkEvidence, StageIntent, RetractClaims})
"""Commands that change what is believed, some of them for good."""


def is_sealed_against(session: Session, command: Command) -> bool:
    """INVARIANT: nothing is written after a seal but what takes it away; who tries is on record elsewhere."""
    return session.transfers.seal is not None and not isinstance(command, ReceiveLedger | UnsealSession)


def decide(session: Session | None, command: Command, facts: Facts) -> Event:
    if session is None:
        if isinstance(command, DeclareSession):
            return speculation_in(command, facts.notes) or Declared()
        return Refused(code=Code.SESSION_NOT_FOUND, message="the session has not been declared")
    if is_sealed_against(session, command):
        return Refused(
            code=Code.SESSION_SEALED,
            message=f"session `{session.session_id}` is sealed; `{verb_of(command)}` was not applied",
        )
    if session.beliefs.terminated and not isinstance(command, _OF_THE_END):
        # INVARIANT: refused means nothing happened; a closed session stays as it was when it closed. All that
        # can still be said is where it came from, that it is put away, and that texts beside it are gone.
        return Refused(
            code=Code.SESSION_TERMINATED,
            message=f"session `{session.session_id}` is terminated; `{verb_of(command)}` was not applied",
        )
    if isinstance(command, DeclareSession):
        return Refused(code=Code.CONFLICT, message=f"session `{session.session_id}` is declared already")
    if (session.session_id == SYSTEM) != (type(command) in system.RULES):
        return _misplaced(session, command)
    if (problem := speculation_in(command, facts.notes)) is not None:
        return problem
    if _changes_beliefs(command) and (low := beliefs.tier_too_low(facts)) is not None:
        return low
    # INVARIANT: speculation cannot sway the grounded lane, because no rule of that lane is shown any.
    seen = session if type(command) in speculation.RULES else grounded(session)
    return cast(Event, RULES[type(command)](seen, command, facts))


def _changes_beliefs(command: Command) -> bool:
    if isinstance(command, StageIntent):
        return INTENT_LANES[command.change.type] != SPECULATIVE
    return type(command) in BELIEVING


def _misplaced(session: Session, command: Command) -> Refused:
    """INVARIANT: the server's own ledger holds what its operators do, and no other ledger does."""
    if session.session_id == SYSTEM:
        text = f"`{verb_of(command)}` is not for the server's own ledger, which says what its operators did"
    else:
        text = f"`{verb_of(command)}` is for the server's own ledger only"
    return Refused(code=Code.FORBIDDEN, message=text)
