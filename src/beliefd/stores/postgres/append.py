"""An append to PostgreSQL: one statement and therefore one transaction and one round trip.

It moves the head of the session from the expected place, and writes everything else only if the head moved.
Of two appends at one head the second waits for the row, finds it changed and writes nothing.
"""

from functools import cache
from typing import Final

from beliefd.ledger.envelope import head_of
from beliefd.stores.base import Append
from beliefd.stores.postgres.database import DURABLY
from beliefd.stores.postgres.projections import put_rows, row_parameters

_WRITE: Final = """
, written AS (
    INSERT INTO audit_events (session_id, seq, event_id, record, hash)
    SELECT moved.session_id, entry.*
    FROM moved, unnest($5::bigint[], $6::text[], $7::text[], $8::text[]) AS entry
), ruled AS (
    INSERT INTO policies (policy_hash, document)
    SELECT policy.* FROM moved, unnest($9::text[], $10::bytea[]) AS policy
    ON CONFLICT DO NOTHING
), used AS (
    INSERT INTO idempotency (principal, key, request_hash, session_id, seq)
    SELECT use.* FROM moved, unnest($11::text[], $12::text[], $13::text[], $14::text[], $15::bigint[]) AS use
), cached AS (
    INSERT INTO snapshots (session_id, seq, state)
    SELECT moved.session_id, $16::bigint, $17::bytea FROM moved WHERE $16::bigint IS NOT NULL
    ON CONFLICT (session_id, seq) DO UPDATE SET state = excluded.state
)
"""
_COUNT: Final = f"\nSELECT count(*), {DURABLY} FROM moved\n"

# INVARIANT: events are written only by the statement that moved their session's head from the expected place.
_BEGIN: Final = f"""
WITH moved AS (
    INSERT INTO sessions (session_id, head_seq, head_event_id, head_hash, created_at, space, declared_by)
    SELECT $1::text, $2::bigint, $3::text, $4::text, $18::text, $19::text, $20::text{{rest}}
    ON CONFLICT DO NOTHING
    RETURNING session_id
){_WRITE}"""
_CONTINUE: Final = f"""
WITH moved AS (
    UPDATE sessions SET head_seq = $2, head_event_id = $3, head_hash = $4, ended = greatest(ended, $20::int)
    WHERE session_id = $1 AND head_seq = $18 AND head_hash = $19 AND archived = 0{{rest}}
    RETURNING session_id
){_WRITE}"""  # noqa: S608 - made of constants


# The lock on the table is taken before the snapshot: who waited for a removal sees what it removed.
_KEPT: Final = """ {joined} NOT EXISTS (
        SELECT FROM unnest(${number}::text[]) AS needed (sha256)
        WHERE NOT EXISTS (SELECT FROM content WHERE content.sha256 = needed.sha256)
    )"""


def append_statement(batch: Append) -> tuple[str, list[object]]:
    """The statement and its parameters; it answers with 1 if the head moved, with 0 if it had before."""
    parameters = _parameters(batch)
    for name, rows in batch.projected.items():
        parameters += row_parameters(name, rows)
    if batch.rests_on:
        parameters.append(list(batch.rests_on))
    return _statement(batch.expected is None, tuple(batch.projected), bool(batch.rests_on)), parameters


@cache
def _statement(begins: bool, projections: tuple[str, ...], rests: bool) -> str:
    """Few appends change a projection or rest on content; the others' statement does not mention it."""
    statement, first = (_BEGIN if begins else _CONTINUE), 21
    for name in projections:
        parts, first = put_rows(name, first, "moved, ")
        statement += parts
    kept = _KEPT.format(joined="WHERE" if begins else "AND", number=first) if rests else ""
    return statement.replace("{rest}", kept) + _COUNT


def _parameters(batch: Append) -> list[object]:
    head = head_of(batch.entries[-1])
    before = batch.expected
    # Sorted, so that two appends with the same keys wait for each other in one direction only.
    used = sorted(batch.used_keys, key=lambda one: (one.principal, one.key))
    return [
        batch.session_id,
        head.seq,
        head.event_id,
        head.hash,
        [entry.seq for entry in batch.entries],
        [entry.event_id for entry in batch.entries],
        [entry.record.decode() for entry in batch.entries],
        [entry.hash for entry in batch.entries],
        [policy_hash for policy_hash, _ in batch.policies],
        [document for _, document in batch.policies],
        [one.principal for one in used],
        [one.key for one in used],
        [one.request_hash for one in used],
        [one.session_id for one in used],
        [one.seq for one in used],
        None if batch.saved_state is None else batch.saved_state.seq,
        None if batch.saved_state is None else batch.saved_state.state,
        *(
            (batch.created_at, batch.space, batch.declared_by)
            if before is None
            else (before.seq, before.hash, int(batch.ends))
        ),
    ]
