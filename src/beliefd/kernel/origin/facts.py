"""What is known about a call from where its values came: recorded with the decision, read by rules."""

from typing import Final, Literal

from msgspec import UNSET, UnsetType

from beliefd.kernel.origin.lexicon import Class
from beliefd.kernel.origin.tools import Tier
from beliefd.kernel.values import Id, Value, quoted

Origin = Literal["user", "system", "own", "directory", "named_field", "field", "named_text", "text", "model"]
ORIGINS: Final[tuple[Origin, ...]] = (
    "user", "system", "own", "directory", "named_field", "field", "named_text", "text", "model",
)  # fmt: skip
RANK: Final = {origin: at for at, origin in enumerate(ORIGINS)}
"""Best first."""
ObjectOrigin = Literal["user", "own", "named", "queried", "listed", "text", "model"]
Commanded = Literal["none", "named", "other"]
Trust = Literal["trusted", "field", "sole", "foreign", "refused"]


class ValueFact(Value, frozen=True):
    """One value of a call: the argument's name, the value (shortened), its origin and where that is."""

    argument: str
    value: str
    origin: Origin | ObjectOrigin
    where: str
    shape: str = "word"
    external: bool = False
    trust: Trust = "trusted"


def reason(one: ValueFact) -> str:
    """`recipient` and the value, with where it is from, for whoever decides."""
    return f"{one.argument} {quoted(one.value)} is from {one.where}"


class CallFacts(Value, frozen=True):
    """Facts about one call. The flags at the end are what the default rules read.

    `user_spoke`: the session was told a text of the user. `sink_in_text`: of whom it goes to without being
    trusted, somebody stands in what was read, so that it is not the model's own. `place_foreign`: all of
    these are places to write to, and nobody's address. Of addresses that it reads at, `closed`: all were seen
    outside what strangers write; `host_known`: their hosts are known, and nothing new is asked there. Of whom
    it goes to, `conamed`: the user names them all, and no other known address is called so; `candidates`: so
    many values of the kind are where one is from, at most. Entries without these are older, or of calls with
    no such values.
    """

    tool_id: Id
    tier: Tier
    action: Class
    hard: bool
    intended: bool
    sinks: tuple[ValueFact, ...] = ()
    links: tuple[ValueFact, ...] = ()
    payload: tuple[ValueFact, ...] = ()
    objects: tuple[ValueFact, ...] = ()
    orders: tuple[ValueFact, ...] = ()
    commanded: Commanded = "none"
    sourced: bool = False
    delegated: bool = False
    granted: bool = False
    selector: bool = False
    described: bool = False
    plural: bool = False
    links_wanted: bool = False
    secret: bool = False
    nth: int = 0
    mentions: int = 0
    fresh: bool = False
    crowded: bool = False
    truncated: bool = False
    sink_trust: Trust | Literal["none"] = "none"
    sink_foreign: bool = False
    url_known: bool = True
    object_foreign: bool = False
    link_foreign: bool = False
    payload_foreign: bool = False
    over_quota: bool = False
    reasons: tuple[str, ...] = ()
    user_spoke: bool | UnsetType = UNSET
    sink_in_text: bool | UnsetType = UNSET
    place_foreign: bool | UnsetType = UNSET
    closed: bool | UnsetType = UNSET
    host_known: bool | UnsetType = UNSET
    conamed: bool | UnsetType = UNSET
    candidates: int | UnsetType = UNSET
