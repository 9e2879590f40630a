"""Handlers of evidence: what completed runs say of a claim, alone and together."""

from beliefd.kernel.firewall.artifacts import (
    Evidence,
)
from beliefd.kernel.firewall.commands import LinkEvidence
from beliefd.kernel.firewall.events import EvidenceLinked
from beliefd.kernel.firewall.guards import CLAIM_ID_NAMES, guard_evidence
from beliefd.kernel.firewall.promotion import counted, standing
from beliefd.protocol import firewall_answers as answers
from beliefd.protocol.firewall_operations import EvidenceRequest
from beliefd.protocol.wire import bind, convert
from beliefd.steward.call import Call
from beliefd.steward.handlers.shared import as_recorded, page
from beliefd.steward.policies import PolicyInForce
from beliefd.steward.write.positions import Positions
from beliefd.steward.write.submitting import Submit, submit_for


class EvidenceHandlers:
    """Evidence from completed runs."""

    def __init__(self, positions: Positions, submit: Submit, in_force: PolicyInForce) -> None:
        self._positions = positions
        self._submit = submit
        self._in_force = in_force

    async def link_evidence(self, call: Call) -> answers.LinkedEvidence:
        """INVARIANT: which claim it is about is asked first, then whether speculation hides in it."""
        body = as_recorded(call.body)
        claim_id = guard_evidence(body)
        named = {name: value for name, value in body.items() if name not in CLAIM_ID_NAMES}
        asked = convert(bind({**named, "claim_id": claim_id}, call.path), EvidenceRequest)
        command = LinkEvidence(claim_id=asked.claim_id, run_id=asked.run_id, role=asked.role)
        outcome = await submit_for(self._submit, call.session_id, command, call)
        event = outcome.event
        assert isinstance(event, EvidenceLinked)  # noqa: S101 - what is not refused was linked
        pieces = counted(outcome.session, asked.claim_id)
        return answers.LinkedEvidence(
            evidence=event.evidence,
            applied_eliminated=list(event.eliminated),
            ignored_eliminated=list(event.ignored),
            warrants=standing(pieces, self._in_force.policy.firewall.alpha).status,
            audit_event_id=outcome.head.event_id,
        )

    async def list_evidence(self, call: Call) -> answers.EvidencePage:
        session = (await self._positions.existing(call.session_id)).session
        held: list[Evidence] = [session.evidence[name] for name in session.evidence]
        shown, after = page(held, call, lambda one: one.evidence_id)
        return answers.EvidencePage(evidence=shown, next=after)

    async def list_discoveries(self, call: Call) -> answers.Discoveries:
        """INVARIANT: every completed run of a claim weighs in, not only the one that came out best."""
        from beliefd.experiments.sequential import e_bh, e_value

        session = (await self._positions.existing(call.session_id)).session
        worth: dict[str, list[float]] = {}
        for name in sorted(session.evidence):
            piece: Evidence = session.evidence[name]
            speaks = piece.outcome == "support" and piece.solid
            worth.setdefault(piece.claim_id, []).append(e_value(piece.error_level) if speaks else 0.0)
        found = [
            answers.Discovery(claim_id=claim_id, e_value=sum(values) / len(values), runs=len(values))
            for claim_id, values in sorted(worth.items())
        ]
        alpha = self._in_force.policy.firewall.alpha
        kept = set(e_bh([one.e_value for one in found], alpha))
        return answers.Discoveries(
            alpha=alpha,
            discovered=[one for place, one in enumerate(found) if place in kept],
            others=[one for place, one in enumerate(found) if place not in kept],
        )
