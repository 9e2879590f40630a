"""Recorded ledgers decided again under another policy, each command on the state that it was recorded on."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from beliefd.kernel.approvals.events import ApprovalDecided
from beliefd.kernel.commands import Command
from beliefd.kernel.decide import decide
from beliefd.kernel.events import Event
from beliefd.kernel.evolve import begin, evolve
from beliefd.kernel.facts import Facts
from beliefd.kernel.policy import Policy
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.arbitration import findings_of
from beliefd.kernel.substrate.events import Arbitrated, CallStopped, CandidateResult
from beliefd.kernel.substrate.modes import mode_at
from beliefd.kernel.substrate.proposals import CallCandidate, Candidate
from beliefd.kernel.substrate.renewing import renewed
from beliefd.kernel.substrate.rulebook import rulebook
from beliefd.kernel.substrate.situation import Situation
from beliefd.kernel.substrate.tools import CallFinding, StartFindings
from beliefd.ledger.chain import policy_hash
from beliefd.ledger.envelope import UNREADABLE, Entry, LedgerBroken, Sealed, command_of, declaration, read
from beliefd.ledger.replay import NOT_FOLDED, facts_of
from beliefd.ledger.withheld import as_with_parts
from beliefd.policy.backtesting.unknowns import Unknown, settled, undecided
from beliefd.policy.explaining.trials import action_on
from beliefd.steward.backtesting.facts import Refreshed, Refreshing, candidates_of
from beliefd.steward.backtesting.outcomes import Outcome, outcomes
from beliefd.steward.backtesting.tally import UNDECIDABLE, Tally
from beliefd.steward.facts.caller_tools import DeclaredTools
from beliefd.wanted import check_wanted


class Trial:
    """A policy that is tried. What is worked out for it is kept for all ledgers."""

    def __init__(self, policy: Policy) -> None:
        self.policy, self.name = policy, policy_hash(policy)
        self.rules = rulebook(policy, self.name)
        self.constraints = {one.key: one for one in self.rules.constraints}
        self._declared = DeclaredTools(policy)
        self._from: dict[str, Refreshing] = {}

    def refreshing(self, name: str, was: Policy) -> Refreshing:
        if name not in self._from:
            self._from[name] = Refreshing(was, self.policy, self._declared)
        return self._from[name]


class LedgerTrial:
    """One ledger. It is folded as it was: every difference is the policy's doing, and none follows another.

    INVARIANT: nothing is held but the state that the recorded events lead to.
    """

    def __init__(self, trial: Trial, policies: Mapping[str, Policy], tally: Tally, after: int = 0) -> None:
        self._trial = trial
        self._policies = policies
        self._tally = tally
        self._after = after
        self.session: Session | None = None
        self.seq = 0

    def take(self, entries: Sequence[Sealed], limit: int | None = None) -> None:
        """Decide the next entries again, as many as `limit` lets; those up to `after` are only folded."""
        for sealed in entries:
            if limit is not None and self._tally.decisions >= limit:
                return
            check_wanted()
            try:
                self._next(read(sealed.record))
            except UNREADABLE as error:
                raise LedgerBroken(sealed.seq, sealed.event_id, f"it cannot be read: {error}") from None
            except NOT_FOLDED as error:
                raise LedgerBroken(sealed.seq, sealed.event_id, f"it does not follow: {error!r}") from None
            self.seq = sealed.seq

    def _next(self, entry: Entry) -> None:
        if self.session is None:
            self.session = begin(entry.session_id, declaration(entry))
            return
        if entry.seq > self._after:
            self._again(self.session, entry)
        self.session = evolve(self.session, entry.delta)

    def _again(self, session: Session, entry: Entry) -> None:
        was = self._policies.get(entry.policy_hash)
        if was is None:
            raise LedgerBroken(entry.seq, entry.event_id, f"policy `{entry.policy_hash}` is not known")
        command, trial = command_of(entry), self._trial
        refreshed = trial.refreshing(entry.policy_hash, was).of(session, command, entry.facts, entry.actor.id)
        facts = replace(facts_of(entry, trial.policy), policy_hash=trial.name, findings=refreshed.findings)
        before = outcomes(command, entry.delta)
        if refreshed.whole:
            after = [_undecidable(one, None, refreshed.whole) for one in before]
        else:
            event = as_with_parts(entry, decide(session, command, facts), was)
            after = outcomes(command, event)
            if any(refreshed.gaps):
                after = self._doubted(session, command, facts, event, after, refreshed)
        self._tally.take(entry, command, before, after)

    def _doubted(
        self,
        session: Session,
        command: Command,
        facts: Facts,
        event: Event,
        after: list[Outcome],
        refreshed: Refreshed,
    ) -> list[Outcome]:
        """What came out, but for the verdicts that hang on what is not known."""
        results = _results(event)
        candidates = candidates_of(session, command)
        found = []
        for at, outcome in enumerate(after):
            gap = refreshed.gaps[at] if at < len(refreshed.gaps) else Unknown()
            result = results[at] if at < len(results) else None
            is_open = bool(gap) and at < len(candidates)
            why = self._open(session, candidates[at], facts, result, gap, at) if is_open else None
            found.append(outcome if why is None else _undecidable(outcome, *why))
        return found

    def _open(
        self,
        session: Session,
        candidate: Candidate,
        facts: Facts,
        result: CandidateResult | None,
        gap: Unknown,
        at: int,
    ) -> tuple[str, str] | None:
        findings = facts.findings
        told = (findings.call,) if isinstance(findings, StartFindings) else findings_of(facts)
        finding = told[at] if at < len(told) else None
        if isinstance(candidate, CallCandidate) and (finding is None or finding.definition is None):
            return None
        mode = mode_at(session, facts.policy, facts.now)
        situation = Situation(renewed(session, facts, mode).session, facts, mode)
        action = action_on(situation, candidate, finding or CallFinding())
        open_ = undecided(self._trial.rules, action, situation.state, gap)
        if result is not None and settled(result, open_, self._trial.constraints):
            return None
        return (open_[0].constraint, open_[0].why) if open_ else None


def _undecidable(outcome: Outcome, constraint: str | None, why: str) -> Outcome:
    return Outcome(UNDECIDABLE, outcome.tool, constraint, (why,))


def _results(event: Event) -> Sequence[CandidateResult]:
    if isinstance(event, Arbitrated):
        return event.results
    if isinstance(event, ApprovalDecided) and event.result is not None:
        return (event.result,)
    return (event.result,) if isinstance(event, CallStopped) else ()
