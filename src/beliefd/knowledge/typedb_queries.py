"""The queries that are sent to TypeDB. Only names out of our schema stand in them; values travel as rows.

INVARIANT: no value is ever part of a query's text. A `given` stage says which values come with it.
"""

import json
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from beliefd.knowledge import schema as say
from beliefd.knowledge.graph import LinkRow, NodeRow

Row = dict[str, Any]


class Column(Struct, frozen=True):
    """An attribute, its value type, and the path in an artifact's document that it comes from."""

    attribute: str
    type: str = "string"
    path: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        return self.attribute.replace("-", "_")


_STATEMENT: Final = Column("statement", "string", ("statement",))
_EVIDENCE: Final = (
    Column("outcome", "string", ("outcome",)),
    Column("fragile", "boolean", ("fragile",)),
    Column("confidence-score", "double", ("confidence",)),
    Column("error-level", "double", ("error_level",)),
    Column("model", "string", ("model",)),
)
COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    say.SESSION: (),
    say.PROPOSITION: (
        _STATEMENT,
        Column("epistemic-status", "string", ("status",)),
        Column("revision", "integer", ("revision",)),
        Column("quarantined", "boolean", ("quarantined",)),
    ),
    say.EXPERIMENT: (
        Column("template", "string", ("template",)),
        Column("spec-hash", "string", ("spec_hash",)),
    ),
    say.RUN: (),
    say.TESTED_DATA: (),
    say.REJECTED_WORDS: (),
    say.VALIDATION_EVIDENCE: _EVIDENCE,
    say.NEGATIVE_EVIDENCE: _EVIDENCE,
    say.INTENT: (Column("intent-type", "string", ("change", "type")),),
    say.SPECULATIVE_HYPOTHESIS: (Column("statement", "string", ("alternative", "statement")),),
    say.SPECULATIVE_CLAIM: (_STATEMENT,),
}
"""What each kind owns beside what all own; always present, so that no row has a hole."""

READ_CURSOR: Final = """\
given $session_id: string;
match
  $cursor isa ledger-cursor, has session-id == $session_id, has last-seq $seq, has event-hash $hash;
fetch { "seq": $seq, "hash": $hash };
"""
READ_SESSION_KEY: Final = """\
given $session_id: string;
match
  $session isa session, has session-id == $session_id, has node-key $key;
fetch { "key": $key };
"""
PUT_CURSOR: Final = """\
given $session_id: string, $last_seq: integer, $event_hash: string;
put
  $cursor isa ledger-cursor, has session-id == $session_id;
update
  $cursor has last-seq == $last_seq, has event-hash == $event_hash;
"""


def put_node(kind: str) -> str:
    """Make the node if it is not there, and give it what it has now: twice is as good as once."""
    columns = _columns(kind)
    given = ", ".join(f"${column.variable}: {column.type}" for column in columns)
    owned = ",\n    ".join(f"has {column.attribute} == ${column.variable}" for column in columns)
    return f"""\
given $node_key: string, {given};
put
  $node isa {kind}, has node-key == $node_key;
update
  $node
    {owned};
"""


def put_link(relation: str, first_kind: str, second_kind: str) -> str:
    roles = say.RELATIONS[relation]
    return f"""\
given $first_key: string, $second_key: string;
match
  $first isa {first_kind}, has node-key == $first_key;
  $second isa {second_kind}, has node-key == $second_key;
put
  $link isa {relation}, links ({roles.first}: $first, {roles.second}: $second);
"""


def node_row(node: NodeRow) -> Row:
    found = {
        "session_id": node.session_id,
        "artifact_id": node.id,
        "artifact_status": node.status,
        "document": node.document.decode(),
        "claim_id": node.claim_id,
    }
    document = msgspec.json.decode(node.document)
    for column in COLUMNS[node.kind]:
        found[column.variable] = _value(document, column)
    named = {column.variable: found[column.variable] for column in _columns(node.kind)}
    return {"node_key": node_key(node.kind, node.session_id, node.id), **named}


def link_row(link: LinkRow) -> Row:
    return {
        "first_key": node_key(link.first_kind, link.session_id, link.first_id),
        "second_key": node_key(link.second_kind, link.session_id, link.second_id),
    }


def node_key(kind: str, session_id: str, name: str) -> str:
    """One string for three, such that no other three make the same.

    INVARIANT: the kind is in it. A key is unique over all kinds, and a claim may be named like a run.
    """
    return json.dumps([kind, session_id, name], ensure_ascii=False, separators=(",", ":"))


def _columns(kind: str) -> Iterable[Column]:
    common = ["session-id", "artifact-id", "artifact-status", "document"]
    if kind != say.SESSION:
        common.append("claim-id")
    return (*(Column(name) for name in common), *COLUMNS[kind])


def _value(document: Any, column: Column) -> Any:
    for step in column.path:
        document = document[step]
    if column.type == "double":
        return float(document)  # canonical JSON writes 1.0 as 1
    if column.type == "string":
        # The driver hands strings over as C does, where NUL is the end. The document has it escaped.
        return document.replace("\x00", "\ufffd")
    return document
