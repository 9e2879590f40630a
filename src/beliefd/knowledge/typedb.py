"""The graph in TypeDB 3.12 or newer: a copy that is fed from the ledgers and knows how far it has come.

`typedb-driver` is an extra and is imported when a connection is asked for.
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct

from beliefd.extras import install
from beliefd.knowledge import typedb_queries as queries
from beliefd.knowledge.graph import GraphRows
from beliefd.knowledge.schema import SESSION

SCHEME: Final = "typedb"
DEFAULT_PORT: Final = 1729
DEFAULT_USER: Final = "admin"
ROWS_PER_QUERY: Final = 500


class GraphUnavailable(Exception):
    """TypeDB cannot be reached, does not take what it was sent, or has another ledger's copy."""


class Address(Struct, frozen=True):
    """Where a database is: `typedb://user@host:port/database`, with `?tls=off` for plain text."""

    host: str
    database: str
    user: str
    password: str | None
    tls: bool


class Cursor(Struct, frozen=True):
    """The last event of a ledger that is in the copy."""

    seq: int
    hash: str


def parse_address(text: str) -> Address:
    """Raises ValueError for what is no address."""
    parts = urlsplit(text)
    options = parse_qs(parts.query)
    tls = options.pop("tls", ["on"])
    database = unquote(parts.path.lstrip("/"))
    if parts.scheme != SCHEME or not parts.hostname or not database or "/" in database:
        raise ValueError(f"`{_shown(text)}` is no address; use `typedb://user@host:{DEFAULT_PORT}/database`")
    if options or tls not in (["on"], ["off"]):
        raise ValueError(f"`{parts.query}` is not understood; the one option is `tls=off`")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Address(
        host=f"{host}:{parts.port or DEFAULT_PORT}",
        database=database,
        user=unquote(parts.username or DEFAULT_USER),
        password=None if parts.password is None else unquote(parts.password),
        tls=tls == ["on"],
    )


def schema() -> str:
    return files("beliefd.knowledge").joinpath("schema.tql").read_text()


class TypeDBGraph:
    """One database. Not safe for several threads at a time; nor need it be."""

    def __init__(self, driver: Any, kinds: Any, database: str) -> None:
        self._driver = driver
        self._kinds = kinds
        self._database = database

    @classmethod
    def open(cls, address: Address, password: str) -> "TypeDBGraph":
        """Connect, make the database if it is not there, and define the schema (which may be done again)."""
        try:
            from typedb.driver import Credentials, DriverOptions, DriverTlsConfig, TransactionType, TypeDB
        except ModuleNotFoundError:
            raise GraphUnavailable(f"TypeDB needs an extra: {install('typedb')}") from None
        tls = DriverTlsConfig.enabled_with_native_root_ca() if address.tls else DriverTlsConfig.disabled()
        with _told(address.host):
            driver = TypeDB.driver(address.host, Credentials(address.user, password), DriverOptions(tls))
        graph = cls(driver, TransactionType, address.database)
        try:
            graph.define()
        except BaseException:
            graph.close()
            raise
        return graph

    def define(self) -> None:
        with _told(self._database):
            if not self._driver.databases.contains(self._database):
                self._driver.databases.create(self._database)
        with self._transaction(self._kinds.SCHEMA) as transaction:
            transaction.query(schema()).resolve()
            transaction.commit()

    def cursor(self, session_id: str) -> Cursor | None:
        """How far the ledger of a session is in the copy.

        INVARIANT: nodes of one ledger have keys of one form: with two, each of them would be there twice.
        """
        given = [{"session_id": session_id}]
        with self._transaction(self._kinds.READ) as transaction:
            answer = transaction.query(queries.READ_CURSOR, given_rows=given).resolve()
            found = list(answer.as_concept_documents())
            answer = transaction.query(queries.READ_SESSION_KEY, given_rows=given).resolve()
            keys = {str(one["key"]) for one in answer.as_concept_documents()}
        if keys - {queries.node_key(SESSION, session_id, session_id)}:
            raise GraphUnavailable(
                f"`{self._database}` has keys of an earlier version for this ledger; export to a new database"
            )
        return Cursor(seq=int(found[0]["seq"]), hash=str(found[0]["hash"])) if found else None

    def ping(self) -> None:
        """Raises GraphUnavailable if nothing can be read."""
        with self._transaction(self._kinds.READ) as transaction:
            transaction.query(queries.READ_CURSOR, given_rows=[{"session_id": ""}]).resolve()

    def write(self, session_id: str, rows: GraphRows, cursor: Cursor) -> None:
        """Add or change rows and move the cursor, in one transaction.

        INVARIANT: the cursor never says more than is there. What is written twice is there once.
        """
        moved = {"session_id": session_id, "last_seq": cursor.seq, "event_hash": cursor.hash}
        with self._transaction(self._kinds.WRITE) as transaction:
            for query, given in _queries(rows):
                for start in range(0, len(given), ROWS_PER_QUERY):
                    transaction.query(query, given_rows=given[start : start + ROWS_PER_QUERY]).resolve()
            transaction.query(queries.PUT_CURSOR, given_rows=[moved]).resolve()
            transaction.commit()

    @contextmanager
    def _transaction(self, kind: Any) -> Iterator[Any]:
        with _told(self._database), self._driver.transaction(self._database, kind) as transaction:
            yield transaction

    def close(self) -> None:
        self._driver.close()


def _queries(rows: GraphRows) -> Iterator[tuple[str, list[queries.Row]]]:
    """Nodes first: links find their players by key."""
    nodes: dict[str, list[queries.Row]] = defaultdict(list)
    for node in rows.nodes:
        nodes[node.kind].append(queries.node_row(node))
    for kind, given in nodes.items():
        yield queries.put_node(kind), given
    links: dict[tuple[str, str, str], list[queries.Row]] = defaultdict(list)
    for link in rows.links:
        links[link.relation, link.first_kind, link.second_kind].append(queries.link_row(link))
    for which, given in links.items():
        yield queries.put_link(*which), given


@contextmanager
def _told(place: str) -> Iterator[None]:
    """What the driver raises, in our words and on one line."""
    from typedb.common.exception import TypeDBDriverException

    try:
        yield
    except TypeDBDriverException as error:
        raise GraphUnavailable(f"TypeDB at `{place}`: {' '.join(str(error).split())}") from error


def _shown(text: str) -> str:
    """An address without its password."""
    before, at, rest = text.rpartition("@")
    return f"{before.partition('://')[0]}://...@{rest}" if at else text
