"""How a session becomes the snapshot that callers see, and what of it is listed."""

import math
from collections.abc import Iterable, Iterator
from heapq import nsmallest
from itertools import dropwhile, islice
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from beliefd.kernel.beliefs.state import Beliefs, Obligation
from beliefd.kernel.parts import InOrder
from beliefd.kernel.transfers.state import Foreign
from beliefd.kernel.values import Head
from beliefd.protocol.beliefs import SURVIVORS_PAGE, BeliefSnapshot, ObligationView, RestsOn, Shortened
from beliefd.protocol.titles import session_title
from beliefd.protocol.wire import is_longer

if TYPE_CHECKING:
    from beliefd.kernel.concluded import Resting
    from beliefd.kernel.state import Session

LISTED = 1_000
"""So many obligations and so many conclusions a snapshot lists that is asked for."""
LISTED_SHORT = 100
METADATA_SHORT = 4 * 1024
"""The same, and bytes of metadata, for a snapshot that comes with the answer to a verb."""


class Listed(Struct, frozen=True):
    """Which page of obligations, newest first, and of conclusions, by name, is asked for."""

    obligations_before: str | None = None
    conclusions_after: str | None = None


def rests_on(beliefs: Beliefs) -> RestsOn:
    return RestsOn(witnessed=beliefs.witnessed, attested=beliefs.eliminations - beliefs.witnessed)


def conclusions_rest_on(names: Iterable[str], resting: "Resting") -> dict[str, RestsOn]:
    counts = ((name, resting.by_name[name]) for name in names if name in resting.by_name)
    return {name: RestsOn(witnessed=seen, attested=unseen) for name, (seen, unseen) in counts}


def snapshot_of(
    session: "Session",
    head: Head,
    limit: int = SURVIVORS_PAGE,
    after: str | None = None,
    due: Foreign | None = None,
    listed: Listed | None = None,
) -> BeliefSnapshot:
    """`due` says where it came from, if only the server's own ledger knows that yet. `listed` are the pages
    of a snapshot that is asked for; one that comes with another answer is kept short."""
    beliefs, survivors = session.beliefs, session.beliefs.survivors
    page = survivors.page(limit + 1, after)
    more = len(page) > limit
    obligations, conclusions, shortened = _listed(session, listed)
    return BeliefSnapshot(
        session_id=session.session_id,
        ontology=session.ontology,
        survivors=page[:limit],
        n_survivors=survivors.count,
        n_hypotheses=len(survivors.universe.ids),
        survivors_next=page[limit - 1] if more and limit else None,
        entropy_proxy=math.log2(survivors.count) if survivors.count > 1 else 0.0,
        status=beliefs.status,
        terminated=beliefs.terminated,
        active_obligation_id=beliefs.active_obligation_id,
        obligations=[
            ObligationView(
                obligation_id=oid,
                min_total_eliminations=beliefs.obligations[oid].min_total_eliminations,
                eliminations_since_entry=beliefs.eliminations - beliefs.obligations[oid].entered_at,
                active=beliefs.obligations[oid].active,
            )
            for oid in obligations
        ],
        conclusions=conclusions,
        metadata={} if shortened is not None and shortened.metadata else session.metadata,
        audit_head_event_id=head.event_id,
        seq=head.seq,
        survivors_hash=survivors.digest,
        rests_on=rests_on(beliefs if due is None else replace(beliefs, witnessed=0)),
        foreign=due or session.transfers.foreign,
        seal=session.transfers.seal,
        shortened=shortened,
        title=session_title(session),
    )


def _listed(session: "Session", listed: Listed | None) -> tuple[list[str], dict[str, int], Shortened | None]:
    """The obligations and conclusions that a snapshot lists, and what it leaves out."""
    beliefs = session.beliefs
    if not (beliefs.obligations or beliefs.conclusions or session.metadata):
        return [], {}, None
    before = None if listed is None else listed.obligations_before
    obligations, earlier = _newest(beliefs.obligations, LISTED_SHORT if listed is None else LISTED, before)
    if listed is None:
        conclusions, following = _last_if_many(beliefs), None
    else:
        conclusions, following = _by_name(beliefs.conclusions, listed.conclusions_after)
    no_metadata = listed is None and is_longer(session.metadata, METADATA_SHORT)
    found = (len(obligations), len(conclusions))
    if found == (len(beliefs.obligations), len(beliefs.conclusions)) and not no_metadata:
        return obligations, conclusions, None
    return (
        obligations,
        conclusions,
        Shortened(
            n_obligations=len(beliefs.obligations),
            obligations_next=earlier,
            n_conclusions=len(beliefs.conclusions),
            conclusions_next=following,
            metadata=no_metadata,
        ),
    )


def _newest(names: InOrder[Obligation], most: int, before: str | None) -> tuple[list[str], str | None]:
    """The newest of them, entered before a given one, in order; and the first of these if there are older."""
    back: Iterator[str] = reversed(names)
    if before is not None:
        back = islice(dropwhile(lambda name: name != before, back), 1, None)
    found = list(islice(back, most + 1))
    return found[:most][::-1], found[most - 1] if len(found) > most else None


def _last_if_many(beliefs: Beliefs) -> dict[str, int]:
    """All conclusions, or only the one accepted last: every answer to a verb would sort them anew."""
    last = beliefs.last_conclusion
    if len(beliefs.conclusions) <= LISTED_SHORT or last is None:
        return beliefs.conclusions
    return {last: beliefs.conclusions[last]}


def _by_name(conclusions: dict[str, int], after: str | None) -> tuple[dict[str, int], str | None]:
    if after is None and len(conclusions) <= LISTED:
        return conclusions, None
    found = nsmallest(LISTED + 1, (name for name in conclusions if after is None or name > after))
    page = {name: conclusions[name] for name in found[:LISTED]}
    return page, found[LISTED - 1] if len(found) > LISTED else None


def snapshot_in(answer: object) -> BeliefSnapshot | None:
    """The session that an answer shows, if it shows one."""
    return answer if isinstance(answer, BeliefSnapshot) else getattr(answer, "snapshot", None)
