"""The guards that stand before every write: which claim it is about, and whether speculation hides in it.

They raise what the contract calls a hard failure: an error of beliefd that is a `ValueError` as well.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from beliefd.kernel.errors import BeliefdError, Code
from beliefd.kernel.scan.markers import Marker, find_marker
from beliefd.kernel.scan.words import WordList
from beliefd.kernel.values import Id

CLAIM_ID_NAMES: Final = ("claim_id", "claim-id", "proposition_id")
"""INVARIANT: never `entity_id`, which is the evidence's own, and never `hypothesis_id`."""

PERSISTED: Final = "CRITICAL: Attempted to persist speculative evidence"
ANONYMOUS: Final = "CRITICAL: Validation evidence missing claim_id"
HARD_FAILURES: Final = {
    Code.MISSING_CLAIM_ID: ANONYMOUS,
    Code.HYPOTHESIS_IS_NOT_EVIDENCE: "a speculative hypothesis cannot play evidence",
    Code.SPECULATIVE_EVIDENCE: PERSISTED,
    Code.SPECULATIVE_RESIDUE: "speculation was left in an experiment's plan",
    Code.SPECULATIVE_PROPOSAL: "a proposal cannot rest on speculation",
    Code.SPECULATIVE_ASSERTION: "a truth assertion cannot rest on speculation",
}
"""The firewall's own errors, and what each says was attempted. An attempt is recorded, wherever it failed."""


class Stopped(BeliefdError, ValueError):
    """The firewall did not let something pass; `details.path` says what in it."""


def claim_id_of(document: Mapping[str, Any]) -> str:
    """The claim that a document is about, under any of its names."""
    named = {name: document[name] for name in CLAIM_ID_NAMES if document.get(name) not in (None, "")}
    if not named:
        listed = ", ".join(f"`{name}`" for name in CLAIM_ID_NAMES)
        raise Stopped(Code.MISSING_CLAIM_ID, f"{ANONYMOUS}: it is given as one of {listed}", {"path": "$"})
    name, value = next(iter(named.items()))
    if any(other != value for other in named.values()):
        raise Stopped(Code.INVALID_REQUEST, "two names of one claim id disagree", {"path": f"$.{name}"})
    try:
        return msgspec.convert(value, Id)
    except msgspec.ValidationError:
        raise Stopped(Code.INVALID_REQUEST, "a claim id is one line of text", {"path": f"$.{name}"}) from None


def refuse_speculation(document: object, code: Code = Code.SPECULATIVE_EVIDENCE) -> None:
    """Raise with this code, and the path, if there is a marker anywhere in the document."""
    vocabulary = WordList.RESIDUE if code is Code.SPECULATIVE_RESIDUE else WordList.EVIDENCE
    if (marker := find_marker(document, vocabulary)) is not None:
        raise stopped_by(marker, code)


def stopped_by(marker: Marker, code: Code) -> Stopped:
    attempt, found = HARD_FAILURES[code], "cannot be read" if marker.unreadable else "was found"
    details = {"path": marker.path, "found": marker.kind}
    return Stopped(code, f"{attempt}: {marker.found} {found} at `{marker.path}`", details)


def guard_evidence(document: Mapping[str, Any]) -> str:
    """The claim id of what is to become evidence; a missing one is reported before anything else."""
    claim_id = claim_id_of(document)
    refuse_speculation(document)
    return claim_id
