"""Values that every vocabulary shares: ids, texts, times, tiers, principals (belief-server 1.1)."""

from datetime import UTC, datetime
from enum import IntEnum, StrEnum
from functools import lru_cache
from typing import Annotated, Any, Final, Literal

import msgspec

from beliefd.kernel import patterns
from beliefd.kernel.canonical import MAX_SAFE_INTEGER

PROTOCOL: Final = "belief/1"
"""Version of the wire and ledger format, apart from the package's version."""

MAX_ID_LENGTH: Final = 512

Id = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_ID_LENGTH, pattern=patterns.ID)]
SpaceName = Annotated[str, msgspec.Meta(max_length=64, pattern=patterns.SPACE)]
Upstream = Annotated[str, msgspec.Meta(max_length=64, pattern=patterns.UPSTREAM)]
"""The name of a catalogue."""
DEFAULT_SPACE: Final = "default"
"""Where everything is that says nothing else."""
Object = dict[str, Any]
"""A JSON object that is stored, hashed and handed back, never interpreted."""
ERASABLE: Final = {"erasable": True}
"""Marks members of commands whose texts and numbers no rule and no detector reads: policy may keep those
beside the ledger, and a decision is the same with their digests in their place."""
Said = Annotated[Object, msgspec.Meta(extra=ERASABLE)]
"""An object of which no rule reads a text; it is for people."""
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
Unit = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
Seconds = Annotated[int, msgspec.Meta(ge=1, le=10 * 365 * 24 * 3600)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
Note = Annotated[str, msgspec.Meta(max_length=20_000)]
Remark = Annotated[Note, msgspec.Meta(extra=ERASABLE)]
"""A note of which no rule reads more than whether there is one."""
MAX_NOTES: Final = 2_000
Notes = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NOTES)]
"""What a caller adds to the record of a command, for people. No rule reads it but the door."""
Digest = Annotated[str, msgspec.Meta(pattern=patterns.DIGEST, min_length=32, max_length=128)]
Timestamp = Annotated[str, msgspec.Meta(pattern=patterns.TIMESTAMP, max_length=40)]
ClaimType = Literal["FACT", "INFERENCE", "DECISION"]
Method = Literal["semantic_entropy", "model_disagreement", "confidence_score", "conformal_set"]
JudgeName = Literal["lexical", "embedding", "nli", "llm"]
TierName = Literal["READ_ONLY", "WRITE_LIMITED", "MODIFY", "DELETE", "PRIVILEGE"]


SHOWN: Final = 64
"""How much of a stranger's text an error repeats."""


def shown(text: str) -> str:
    """Foreign text as an error may repeat it: short, and always encodable."""
    text = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return text.encode(errors="replace").decode()


def quoted(text: str, most: int = SHOWN) -> str:
    """Its author's text in one of our sentences: it must not look like ours."""
    if len(text) <= most and text.isascii() and text.isprintable() and " " not in text and "`" not in text:
        return f"`{text}`"  # as names of sources mostly are: nothing of it has to be changed
    plain = " ".join((text if len(text) <= most else f"{text[:most]}...").replace("`", "'").split())
    return f"`{plain}`" if plain.isascii() else f"`{plain.encode(errors='replace').decode()}`"


def nested_deeper(value: Any, limit: int) -> bool:
    """Does a JSON value hold containers in containers more than so many levels deep?"""
    if not isinstance(value, dict | list | tuple):
        return False
    items = value.values() if isinstance(value, dict) else value
    return limit == 0 or any(nested_deeper(item, limit - 1) for item in items)


@lru_cache(1024)
def seconds(timestamp: str) -> float:
    """Seconds since 1970 of an ISO-8601 time with an offset."""
    return datetime.fromisoformat(timestamp).timestamp()


def shown_time(timestamp: str) -> str:
    """A time for people, in the ledger's spelling without parts of seconds."""
    head, dot, rest = timestamp.partition(".")
    return head + rest.lstrip("0123456789") if dot else timestamp


def later(now: str, by_seconds: float) -> str:
    """The time so many seconds after `now`, in the ledger's own spelling; the last or first one there is, if
    that would be beyond it.
    """
    since = seconds(now) + by_seconds
    try:
        moment = datetime.fromtimestamp(since, UTC)
    except (ValueError, OverflowError):
        moment = datetime.max if since > 0 else datetime.min
    return f"{moment.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def refuse_impossible(timestamp: str, field: str) -> None:
    """What looks like a time may still name a thirteenth month."""
    try:
        datetime.fromisoformat(timestamp)
    except ValueError as error:
        told = "an offset is less than a day" if str(error).startswith("offset") else str(error)
        raise ValueError(f"{told}, in field `{field}`") from None


class Role(StrEnum):
    """What a principal is; it comes from the token, never from a body."""

    AGENT = "agent"
    ENCODER = "encoder"
    TOOL = "tool"
    APPROVER = "approver"
    ADMIN = "admin"


PEOPLE: Final = (Role.APPROVER, Role.ADMIN)
"""Roles that people have. All others are programs, which propose and never approve."""


class Tier(IntEnum):
    """Risk tiers with their total order; the wire carries the names."""

    READ_ONLY = 0
    WRITE_LIMITED = 1
    MODIFY = 2
    DELETE = 3
    PRIVILEGE = 4

    # That of an enumeration is written in Python, and tiers are looked up for every claim.
    __hash__ = int.__hash__


TIER_PATTERN: Final = f"^({'|'.join(tier.name for tier in Tier)})$(?!\\n)"


class Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything that crosses the wire: frozen, closed, keyword-only."""


class OntologyBundle(Value, frozen=True):
    """Names the upstream model versions a session reasons under; they are never fetched."""

    hypothesis_space_id: Id
    hypothesis_version: Id
    causal_graph_ref: Id
    causal_graph_version: Id


class Principal(Value, frozen=True):
    """Who speaks. `tier` is the name of a `Tier`, so that ledgers stay readable.

    `owner` is whose credential it is: somebody may hold one for their agent and another for themselves.
    """

    id: Id
    role: Role
    tier: Annotated[str, msgspec.Meta(pattern=TIER_PATTERN)] = Tier.WRITE_LIMITED.name
    owner: Id | msgspec.UnsetType = msgspec.UNSET

    @property
    def person(self) -> str:
        """INVARIANT: whoever must be somebody else is told apart by this, and not by the id."""
        return self.owner or self.id


class Head(Value, frozen=True):
    """A place in a chain: its last event."""

    seq: Count
    event_id: Id
    hash: Id
