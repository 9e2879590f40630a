"""Final answers as claims: what is not published does not go out."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from beliefd.client.synchronous import Calls
from beliefd.kernel.errors import BeliefdError
from beliefd.kernel.values import Object
from beliefd.protocol.claims import JudgedBundle

METHOD: Final = "confidence_score"


class GatedAnswer(Struct, frozen=True, kw_only=True):
    """`text` is what may be shown: the answer if it was published, else why not."""

    published: bool
    text: str
    decision: str
    approval_id: str | None = None
    bundle: JudgedBundle | None = None


def submit_answer(  # noqa: PLR0913 - one argument per member of a claim
    client: Calls,
    session_id: Callable[[], str],
    text: str,
    claims: Sequence[Object] = (),
    *,
    uncertainty: float = 0.5,
    claim_type: str = "INFERENCE",
    risk_tier: str = "READ_ONLY",
    if_wrong_cost: str = "",
) -> GatedAnswer:
    """INVARIANT: an answer goes out if the gates say so. Whatever fails keeps it back."""
    said = {"method": METHOD, "value": uncertainty}
    whole = {
        "statement": str(text),  # frameworks have kinds of text of their own
        "claim_type": claim_type,
        "uncertainty": said,
        "risk_tier": risk_tier,
        "if_wrong_cost": if_wrong_cost,
    }
    try:
        judged = client.submit_claims(session_id(), {"claims": list(claims) or [whole]})
    except BeliefdError as error:
        return _held_back(f"{error.message} ({error.code.value})", "REFUSE")
    except Exception as error:
        return _held_back(str(error) or type(error).__name__, "REFUSE")
    if judged.decision == "PUBLISH":
        return GatedAnswer(published=True, text=text, decision=judged.decision, bundle=judged)
    why = judged.reason if judged.approval_id is None else f"{judged.reason}; approval `{judged.approval_id}`"
    return _held_back(why, judged.decision, judged)


def _held_back(why: str, decision: str, judged: JudgedBundle | None = None) -> GatedAnswer:
    return GatedAnswer(
        published=False,
        text=f"beliefd: this answer is held back ({decision}): {why}",
        decision=decision,
        approval_id=None if judged is None else judged.approval_id,
        bundle=judged,
    )
