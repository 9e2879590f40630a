"""Which of the inputs that provenance names are events of the ledger, or content that is kept."""

import re
from collections.abc import Sequence
from typing import Final

from beliefd.kernel.patterns import SHA256
from beliefd.kernel.state import Session
from beliefd.kernel.substrate.provenance import Provenance
from beliefd.kernel.substrate.provenance_rules import MOST_INPUTS, is_recorded
from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import Store
from beliefd.stores.within import Within

_CONTENT: Final = re.compile(SHA256)


async def known_inputs(
    store: Store, session: Session, told: Provenance, unwritten: Sequence[Sealed], within: Within
) -> tuple[str, ...]:
    """Those that the state of the session cannot tell of, in their order.

    INVARIANT: content of another space is not known, so that nobody can ask for it by its hash.
    """
    asked = [name for name in dict.fromkeys(told.inputs[:MOST_INPUTS]) if not is_recorded(session, name)]
    digests = [name for name in asked if _CONTENT.match(name)]
    known = await store.kept_content(digests, within) if digests else set[str]()
    known |= {one.event_id for one in unwritten}
    for name in asked:
        if name not in known and await store.seq_of(session.session_id, name) is not None:
            known.add(name)
    return tuple(name for name in asked if name in known)
