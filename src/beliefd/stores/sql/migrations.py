"""The schema of both databases, as a list of migrations that only ever grows."""

from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from beliefd.stores.base import StorageUnavailable


class Dialect(Struct, frozen=True):
    """What the databases say differently. An `id` is text that is compared and ordered as bytes."""

    id: str
    number: str
    blob: str
    counted: str
    without_rowid: str
    keep_ledgers: str
    key_snapshots_by_seq: str
    keep_adoptions: str
    length_of_bytes: str
    now: str
    keep_log: str
    buckets: str
    remove_erased: str
    keep_archives: str
    bar_what_is_on_its_way: str


_SCRIPTS: Final = (
    """
    CREATE TABLE sessions (
        session_id    {id} PRIMARY KEY,
        created_at    TEXT NOT NULL,
        head_seq      {number} NOT NULL,
        head_event_id TEXT NOT NULL,
        head_hash     TEXT NOT NULL
    ){without_rowid};

    CREATE TABLE audit_events (
        session_id {id} NOT NULL,
        seq        {number} NOT NULL,
        event_id   {id} NOT NULL,
        record     TEXT NOT NULL,
        hash       TEXT NOT NULL,
        PRIMARY KEY (session_id, seq)
    );
    CREATE INDEX audit_events_by_id ON audit_events (event_id);

    {keep_ledgers}

    CREATE TABLE snapshots (
        session_id {id} PRIMARY KEY,
        seq        {number} NOT NULL,
        state      {blob} NOT NULL
    );

    CREATE TABLE policies (
        policy_hash {id} PRIMARY KEY,
        document    {blob} NOT NULL
    ){without_rowid};

    CREATE TABLE idempotency (
        principal    {id} NOT NULL,
        key          {id} NOT NULL,
        request_hash TEXT NOT NULL,
        session_id   {id} NOT NULL,
        seq          {number} NOT NULL,
        PRIMARY KEY (principal, key)
    ){without_rowid};

    CREATE TABLE tokens (
        token_id    {id} PRIMARY KEY,
        name        TEXT NOT NULL,
        role        TEXT NOT NULL,
        tier        TEXT NOT NULL,
        secret_hash TEXT NOT NULL UNIQUE,
        created_at  TEXT NOT NULL,
        revoked_at  TEXT
    ){without_rowid};
    """,
    """
    CREATE TABLE inbox (
        approval_id {id} PRIMARY KEY,
        session_id  {id} NOT NULL,
        status      TEXT NOT NULL,
        opened_at   TEXT NOT NULL,
        expires_at  {id},
        told        INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX inbox_by_status ON inbox (status, approval_id);
    CREATE INDEX inbox_by_expiry ON inbox (expires_at) WHERE expires_at IS NOT NULL;

    CREATE TABLE content (
        sha256 {id} PRIMARY KEY,
        bytes  {blob} NOT NULL
    );
    """,
    """
    CREATE TABLE graph_plays (
        relation {id} NOT NULL,
        role     {id} NOT NULL,
        kind     {id} NOT NULL,
        PRIMARY KEY (relation, role, kind)
    ){without_rowid};

    CREATE TABLE graph_nodes (
        kind       {id} NOT NULL,
        session_id {id} NOT NULL,
        id         {id} NOT NULL,
        claim_id   {id} NOT NULL,
        status     {id} NOT NULL,
        document   TEXT NOT NULL,
        PRIMARY KEY (session_id, kind, id)
    );
    CREATE INDEX graph_nodes_by_id ON graph_nodes (kind, id);
    CREATE INDEX graph_nodes_by_status ON graph_nodes (kind, status, id);
    CREATE INDEX graph_nodes_by_claim ON graph_nodes (kind, claim_id, session_id, id);

    -- The database itself refuses a player that may not play its role, and one that is not there.
    CREATE TABLE graph_links (
        relation    {id} NOT NULL,
        session_id  {id} NOT NULL,
        first_role  {id} NOT NULL,
        first_kind  {id} NOT NULL,
        first_id    {id} NOT NULL,
        second_role {id} NOT NULL,
        second_kind {id} NOT NULL,
        second_id   {id} NOT NULL,
        PRIMARY KEY (session_id, relation, first_kind, first_id, second_kind, second_id),
        FOREIGN KEY (relation, first_role, first_kind) REFERENCES graph_plays (relation, role, kind),
        FOREIGN KEY (relation, second_role, second_kind) REFERENCES graph_plays (relation, role, kind),
        FOREIGN KEY (session_id, first_kind, first_id) REFERENCES graph_nodes (session_id, kind, id),
        FOREIGN KEY (session_id, second_kind, second_id) REFERENCES graph_nodes (session_id, kind, id),
        CHECK (first_role <> second_role)
    );
    CREATE INDEX graph_links_by_first ON graph_links (session_id, first_kind, first_id);
    CREATE INDEX graph_links_by_second ON graph_links (session_id, second_kind, second_id);
    CREATE INDEX graph_links_by_target ON graph_links (second_id, relation);
    """,
    """
    CREATE TABLE calibrations (
        name       {id} NOT NULL,
        version    {number} NOT NULL,
        sha256     TEXT NOT NULL,
        created_at TEXT NOT NULL,
        document   {blob} NOT NULL,
        PRIMARY KEY (name, version)
    );
    """,
    """
    {key_snapshots_by_seq}
    """,
    """
    CREATE TABLE adoptions (
        number      {counted},
        policy_hash TEXT NOT NULL,
        document    {blob} NOT NULL,
        adopted_at  TEXT NOT NULL,
        adopted_by  TEXT NOT NULL
    );
    {keep_adoptions}
    """,
    """
    -- What no ledger says stands apart from what can be built anew; the column `told` of `inbox` is history.
    CREATE TABLE inbox_told (approval_id {id} PRIMARY KEY){without_rowid};
    INSERT INTO inbox_told SELECT approval_id FROM inbox WHERE told = 1;
    CREATE INDEX inbox_by_session ON inbox (session_id);
    """,
    """
    -- Who brought content. Of what was stored before this, nobody is known: it has no witness.
    CREATE TABLE content_brought (
        sha256 {id} NOT NULL,
        id     {id} NOT NULL,
        role   TEXT NOT NULL,
        at     TEXT NOT NULL,
        PRIMARY KEY (sha256, id, role)
    ){without_rowid};
    """,
    """
    -- What is known of content without reading it; what nobody is known of counts as brought just now.
    CREATE TABLE content_about (
        sha256     {id} PRIMARY KEY,
        size       {number} NOT NULL,
        touched_at {id} NOT NULL
    ){without_rowid};
    INSERT INTO content_about
        SELECT sha256, {length_of_bytes},
            coalesce((SELECT max(at) FROM content_brought AS b WHERE b.sha256 = content.sha256), {now})
        FROM content;

    -- How much each principal has brought. An item counts once for everybody who brought it.
    CREATE TABLE content_use (
        id    {id} PRIMARY KEY,
        items {number} NOT NULL,
        bytes {number} NOT NULL
    ){without_rowid};
    INSERT INTO content_use
        SELECT brought.id, count(*), sum(size)
        FROM (SELECT DISTINCT id, sha256 FROM content_brought) AS brought
        JOIN content_about ON content_about.sha256 = brought.sha256
        GROUP BY brought.id;
    """,
    """
    -- Whose a token is. Of those made before, it is whoever they are named after.
    ALTER TABLE tokens ADD COLUMN owner TEXT NOT NULL DEFAULT '';
    """,
    """
    -- Because of whom something waits or runs. Rows from before have nobody until they are built anew.
    ALTER TABLE inbox ADD COLUMN principal {id};
    CREATE INDEX inbox_by_principal ON inbox (principal, status) WHERE principal IS NOT NULL;
    """,
    """
    -- What was there before spaces is in the default one. A token that names none may what its role may.
    CREATE TABLE spaces (
        name       {id} PRIMARY KEY,
        created_at TEXT NOT NULL,
        created_by TEXT NOT NULL
    ){without_rowid};
    ALTER TABLE tokens ADD COLUMN spaces TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN space {id} NOT NULL DEFAULT 'default';
    CREATE INDEX sessions_by_space ON sessions (space, session_id);

    ALTER TABLE content_brought RENAME TO content_brought_before;
    CREATE TABLE content_brought (
        sha256 {id} NOT NULL,
        id     {id} NOT NULL,
        role   TEXT NOT NULL,
        space  {id} NOT NULL,
        at     TEXT NOT NULL,
        PRIMARY KEY (sha256, id, role, space)
    ){without_rowid};
    INSERT INTO content_brought SELECT sha256, id, role, 'default', at FROM content_brought_before;
    DROP TABLE content_brought_before;
    """,
    """
    -- Because of whom a session is there, and whether it has ended. Of those from before, nobody is known.
    ALTER TABLE sessions ADD COLUMN declared_by {id} NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN ended INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX sessions_by_declarer ON sessions (declared_by) WHERE ended = 0 AND declared_by <> '';
    """,
    """
    -- What a webhook was told of, as long as it waits: of what ended before, nothing more is told.
    DELETE FROM inbox_told WHERE approval_id NOT IN (SELECT approval_id FROM inbox WHERE status = 'pending');
    """,
    """
    -- What processes on one store do one at a time, and what they use together.
    CREATE TABLE leases (
        name   {id} PRIMARY KEY,
        holder TEXT NOT NULL,
        until  DOUBLE PRECISION NOT NULL
    ){without_rowid};
    CREATE TABLE shared (name {id} PRIMARY KEY, secret {blob} NOT NULL){without_rowid};
    """,
    """
    -- The log: which leaves entries are, by runs of them, and the tiles of the tree over their hashes.
    CREATE TABLE log_runs (
        first_leaf {number} PRIMARY KEY,
        session_id {id} NOT NULL,
        first_seq  {number} NOT NULL,
        length     {number} NOT NULL
    );
    CREATE UNIQUE INDEX log_runs_by_session ON log_runs (session_id, first_seq);
    CREATE TABLE log_tiles (
        place  {id} PRIMARY KEY,
        hashes {blob} NOT NULL
    );
    CREATE TABLE log_checkpoints (
        number  {counted},
        text    {id} NOT NULL UNIQUE,
        size    {number} NOT NULL,
        note    TEXT NOT NULL,
        made_at TEXT NOT NULL
    );
    CREATE INDEX log_checkpoints_by_size ON log_checkpoints (size);
    {keep_log}
    """,
    """
    -- How fast callers go, where several machines share a database.
    {buckets}
    """,
    """
    -- What sessions had erased. Whoever writes such a row removes the content, in the same transaction.
    CREATE TABLE erased (
        session_id {id} NOT NULL,
        sha256     {id} NOT NULL,
        event_id   TEXT NOT NULL,
        PRIMARY KEY (session_id, sha256)
    ){without_rowid};
    CREATE INDEX erased_by_hash ON erased (sha256);
    {remove_erased}
    """,
    """
    -- Sessions whose ledgers are kept elsewhere: where, the hash of each event, and what content they cite.
    ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX sessions_here ON sessions (session_id) WHERE archived = 0;
    CREATE TABLE archived_hashes (
        session_id {id} NOT NULL,
        first_seq  {number} NOT NULL,
        hashes     {blob} NOT NULL,
        PRIMARY KEY (session_id, first_seq)
    );
    CREATE TABLE archived_content (
        session_id {id} NOT NULL,
        sha256     {id} NOT NULL,
        PRIMARY KEY (session_id, sha256)
    ){without_rowid};
    CREATE INDEX archived_content_by_hash ON archived_content (sha256);
    CREATE TABLE archives (
        session_id    {id} PRIMARY KEY REFERENCES sessions (session_id),
        head_seq      {number} NOT NULL,
        head_event_id TEXT NOT NULL,
        head_hash     TEXT NOT NULL,
        place         TEXT NOT NULL,
        file_sha256   TEXT NOT NULL,
        archived_at   TEXT NOT NULL,
        archived_by   TEXT NOT NULL,
        noted         {number} NOT NULL
    );
    {keep_archives}
    """,
    """
    -- What is erased while somebody brings it is not kept either.
    {bar_what_is_on_its_way}
    """,
)


def migrations(dialect: Dialect) -> tuple[str, ...]:
    return tuple(script.format(**asdict(dialect)) for script in _SCRIPTS)


def refuse_future(version: int, what: str) -> None:
    if version > len(_SCRIPTS):
        raise StorageUnavailable(
            f"the {what} has schema version {version}, this beliefd knows {len(_SCRIPTS)};"
            " use a newer beliefd"
        )
