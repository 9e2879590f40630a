"""Looking at what came of a lie: the answer, the ledger, and everything that was published."""

from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import UNSET, Struct

from beliefd import BeliefdError, Client
from beliefd.protocol.claims import JudgedBundle

from .world import World

WITNESSED: Final = "witnessed"
PAGE: Final = 5
"""So few on a page that there are several."""


class Told(Struct):
    """What came of a lie, in a word, and why. `events` are those that the answer names."""

    came: str
    why: str
    events: list[str]
    refused: bool = False


def told(lie: Callable[[World], Any], world: World) -> Told:
    try:
        return _answered(lie(world))
    except BeliefdError as error:
        event_id = (error.details or {}).get("audit_event_id")
        recorded = "not recorded" if event_id is None else "recorded"
        events = [] if event_id is None else [event_id]
        return Told(f"{error.code}, {recorded}", error.message, events, refused=True)


def _answered(answer: Any) -> Told:
    if isinstance(answer, str):
        return Told(answer, "", [])
    if isinstance(answer, list):  # the lines of a batch
        words = [line["decision"] if "decision" in line else line["error"]["code"] for line in answer]
        events = [event for line in answer if (event := _event_of_line(line)) is not None]
        return Told(", ".join(words), f"{len(events)} of {len(answer)} lines are recorded", events)
    if isinstance(answer, JudgedBundle):
        known = [one.state for standing in answer.standings.values() for one in standing.evidence]
        marked = ", as attested" if "attested" in known else "" if known else ", without evidence"
        came = answer.decision + (marked if answer.decision == "PUBLISH" else "")
        return Told(came, answer.reason, [answer.audit_event_id or ""])
    if hasattr(answer, "accepted"):
        return Told("accepted" if answer.accepted else "not accepted", answer.reason, [answer.audit_event_id])
    if hasattr(answer, "results"):
        (one,) = answer.results
        return Told(f"{one.verdict} {one.reason_code}", one.reasons[0].text, [answer.audit_event_id])
    return Told(answer.label, f"{answer.applied_eliminated} fell", [answer.audit_event_id])


def _event_of_line(line: dict[str, Any]) -> str | None:
    found = line if "decision" in line else line["error"]["details"]
    event_id: str | None = found.get("audit_event_id")
    return event_id


def sessions(client: Client) -> Iterator[str]:
    """All sessions of a server, page by page."""
    cursor = None
    while True:
        page = client.list_sessions(cursor=cursor, limit=1)
        yield from (one.session_id for one in page.sessions)
        if (cursor := page.next) is None:
            return


def published(client: Client) -> Iterator[JudgedBundle]:
    """What got out of all sessions, page by page."""
    for session in sessions(client):
        cursor = None
        while True:
            page = client.list_claims(session, cursor=cursor, limit=PAGE)
            yield from (one for one in page.claims if one.decision == "PUBLISH")
            if (cursor := page.next) is None:
                break


def events(client: Client) -> dict[str, dict[str, Any]]:
    """Everything that is on record, by its id."""
    found: dict[str, dict[str, Any]] = {}
    for session in sessions(client):
        since = None
        while True:
            page = client.audit_trace(session, since_event_id=since, limit=PAGE)
            found |= {one["event_id"]: one for one in page.events}
            if (since := page.next) is None:
                break
    return found


def unmarked(bundle: JudgedBundle) -> Iterator[str]:
    """What a published bundle carries that nobody has seen and that it does not say so of."""
    if bundle.proposer != bundle.origin_agent:
        yield f"it was proposed by {bundle.proposer} and speaks as {bundle.origin_agent}"
    for claim in bundle.claims:
        yield from (f"{claim.id}: {problem}" for problem in _of_evidence(bundle, claim))
        yield from (f"{claim.id}: {problem}" for problem in _of_certainty(bundle, claim))


def _of_evidence(bundle: JudgedBundle, claim: Any) -> Iterator[str]:
    standing = bundle.standings.get(claim.id)
    states = () if standing is None else standing.evidence
    if len(states) != len(claim.evidence_pointers):
        yield "a source without a state"
    if any(one.state == "attested" for one in states) and not _says(bundle, claim, "evidence is attested"):
        yield "an attested source without a caveat"
    if not states and not _says(bundle, claim, "the claim names no evidence"):
        yield "no source, and no caveat that says so"


def _of_certainty(bundle: JudgedBundle, claim: Any) -> Iterator[str]:
    standing = bundle.standings.get(claim.id)
    measured = UNSET if standing is None else standing.measured
    if measured is UNSET:
        if claim.uncertainty.measurement_id is not UNSET:
            yield "a measurement that is none"
        alone = "uncertainty is declared only"
        if not (_says(bundle, claim, alone) or _says_of_several(bundle, claim)):
            yield "a declared number without a caveat"
        return
    labels = {measured.label, WITNESSED if measured.cited and measured.cited.label == WITNESSED else ""}
    if WITNESSED not in labels and not _says(bundle, claim, "uncertainty is attested only"):
        yield "answers of its own without a caveat"


def _says(bundle: JudgedBundle, claim: Any, words: str) -> bool:
    """Does a caveat say so of a claim, and the gate that it is from?"""
    by_gate = any(one.claim_id == claim.id and one.reason.startswith(words) for one in bundle.gates)
    return by_gate and any(one.startswith(f"{claim.id}: {words}") for one in bundle.caveats)


def _says_of_several(bundle: JudgedBundle, claim: Any) -> bool:
    told = [one for one in bundle.caveats if one.startswith("uncertainty of ") and "declared only" in one]
    by_gate = {one.reason for one in bundle.gates}
    return any(one in by_gate and ("every claim" in one or f"`{claim.id}`" in one) for one in told)
