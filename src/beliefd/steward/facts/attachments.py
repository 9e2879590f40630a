"""What comes with a command and is no part of it."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from beliefd.kernel.state import Session
from beliefd.steward.facts.call_facts import Proof
from beliefd.steward.facts.measuring import NOTHING_SAMPLED, Sampled
from beliefd.stores.base import Token
from beliefd.uncertainty.sampling import Drawn


class Attachments(Struct, frozen=True):
    """Where a command came from, what proves the tokens in it, what the server's own model answered, and how
    many bytes it came in, if that is known. `token` is a row that is to be written with the event. A command
    is turned away without an event unless `still` holds of the state that it is decided on; `judged` refuses,
    right before it is decided, for whom may ask for it no longer."""

    origin: str | None = None
    proofs: tuple[Proof | None, ...] = ()
    drawn: Drawn | None = None
    size: int = 0
    token: Token | None = None
    still: Callable[[Session], bool] | None = None
    judged: Callable[[], None] | None = None
    sampled: Sampled = NOTHING_SAMPLED


NO_ATTACHMENTS: Final = Attachments()
