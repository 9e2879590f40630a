"""Which approvals an event opens, whatever they are about."""

from beliefd.kernel.approvals.events import ApprovalClosed, ApprovalDecided
from beliefd.kernel.approvals.state import Approval
from beliefd.kernel.catalogues.events import ToolsPinned
from beliefd.kernel.claims.events import BundleGated
from beliefd.kernel.events import Event
from beliefd.kernel.intents.events import IntentStaged
from beliefd.kernel.substrate.events import Arbitrated, CandidateResult


def results_of(event: Event) -> tuple[CandidateResult, ...]:
    """The verdicts on candidates of a proposal that an event holds."""
    if isinstance(event, Arbitrated):
        return event.results
    return (event.result,) if isinstance(event, ApprovalDecided) and event.result is not None else ()


def opened_by(event: Event) -> list[Approval]:
    found: list[Approval | None] = [result.approval for result in results_of(event)]
    if isinstance(event, BundleGated):
        found.append(event.gated.approval)
    elif isinstance(event, ApprovalDecided):
        found += [None if event.gated is None else event.gated.approval, event.opened]
    elif isinstance(event, ApprovalClosed):
        found.append(event.successor)
    elif isinstance(event, IntentStaged):
        found.append(event.approval)
    elif isinstance(event, ToolsPinned):
        found += [offer.approval for offer in event.offers]
    return [one for one in found if one is not None]
