"""decide(state, command, facts) -> event: the one place where anything is allowed or refused.

Pure and total: the same three arguments give the same event, on any machine, at any time.
"""

from collections.abc import Callable
from typing import Any, Final

from beliefd.kernel.beliefs import rules
from beliefd.kernel.claims import deciding
from beliefd.kernel.claims import rules as claims
from beliefd.kernel.commands import (
    Command,
    DecideApproval,
    DeclareConclusion,
    DeclareSession,
    Eliminate,
    EnterObligation,
    ExpireApproval,
    GiveGrant,
    Merge,
    RequestExit,
    RequestTermination,
    RevokeGrant,
    SubmitClaims,
    WithdrawApproval,
    verb_of,
)
from beliefd.kernel.errors import Code
from beliefd.kernel.events import Declared, Event, Refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.firewall import intents
from beliefd.kernel.firewall import rules as firewall
from beliefd.kernel.firewall.commands import (
    DesignExperiment,
    LinkEvidence,
    RecordRun,
    Speculate,
    StageIntent,
    StartRun,
)
from beliefd.kernel.state import Session, grounded
from beliefd.kernel.substrate import arbitration, memory, permits
from beliefd.kernel.substrate.proposals import (
    IssueCapability,
    Propose,
    RecordOutcome,
    Remember,
    RevokeCapability,
)

RULES: dict[type, Callable[[Session, Any, Facts], Event]] = {
    Eliminate: rules.eliminate,
    EnterObligation: rules.enter_obligation,
    RequestExit: rules.request_exit,
    DeclareConclusion: rules.declare_conclusion,
    RequestTermination: rules.request_termination,
    Merge: rules.merge,
    SubmitClaims: claims.submit_claims,
    DecideApproval: deciding.decide_approval,
    WithdrawApproval: deciding.withdraw_approval,
    ExpireApproval: deciding.expire_approval,
    GiveGrant: claims.give_grant,
    RevokeGrant: claims.revoke_grant,
    Propose: arbitration.propose,
    RecordOutcome: permits.record_outcome,
    IssueCapability: permits.issue_capability,
    RevokeCapability: permits.revoke_capability,
    Remember: memory.remember,
    Speculate: firewall.speculate,
    DesignExperiment: firewall.design_experiment,
    StartRun: firewall.start_run,
    RecordRun: firewall.record_run,
    LinkEvidence: firewall.link_evidence,
    StageIntent: intents.stage_intent,
}
SPECULATES: Final = (Speculate,)
"""The verbs of the speculative lane; all others are decided without seeing what is in it."""


def decide(session: Session | None, command: Command, facts: Facts) -> Event:
    if session is None:
        if isinstance(command, DeclareSession):
            return Declared()
        return Refused(code=Code.SESSION_NOT_FOUND, message="the session has not been declared")
    if session.terminated:
        # INVARIANT: refused means nothing happened; a closed session stays as it was when it closed.
        return Refused(
            code=Code.SESSION_TERMINATED,
            message=f"session `{session.session_id}` is terminated; `{verb_of(command)}` was not applied",
        )
    if isinstance(command, DeclareSession):
        return Refused(code=Code.CONFLICT, message=f"session `{session.session_id}` is declared already")
    # INVARIANT: speculation cannot sway the grounded lane, because no rule of that lane is shown any.
    seen = session if isinstance(command, SPECULATES) else grounded(session)
    return RULES[type(command)](seen, command, facts)
