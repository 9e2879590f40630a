"""What a DECISION names as its action must be there."""

from msgspec import UNSET

from beliefd.kernel.claims.bundle import ClaimBundle
from beliefd.kernel.claims.judging import findings_of
from beliefd.kernel.claims.tiers import unknown_tools
from beliefd.kernel.errors import Code
from beliefd.kernel.event import Refused, refused
from beliefd.kernel.facts import Facts
from beliefd.kernel.state import Session


def unknown_action(session: Session | None, bundle: ClaimBundle, facts: Facts) -> Refused | None:
    """The refusal of a bundle that decides about what nobody knows; without a session, tools alone count."""
    for place, _, action in unknown_tools(bundle, findings_of(facts).tools or {}):
        return refused(Code.INVALID_REQUEST, action.unknown, f"$.claims[{place}].action.tool")
    if session is None:
        return None
    for place, claim in enumerate(bundle.claims):
        name = UNSET if claim.action is UNSET else claim.action.proposition
        if name is not UNSET and name not in session.intents.propositions:
            path = f"$.claims[{place}].action.proposition"
            return refused(Code.INVALID_REQUEST, f"no proposition `{name}` in this session", path)
    return None
