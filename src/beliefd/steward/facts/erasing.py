"""What is found out before something is erased: does the session mention it at all?"""

from collections.abc import Sequence

from beliefd.kernel.erasures.commands import Erase
from beliefd.kernel.erasures.findings import ErasureFindings
from beliefd.kernel.state import Session
from beliefd.ledger.envelope import Sealed
from beliefd.stores.base import Store
from beliefd.stores.citations import Uncited


async def mentioned(
    store: Store, session: Session, command: Erase, unwritten: Sequence[Sealed]
) -> ErasureFindings:
    """INVARIANT: through a session nothing is erased that is none of its business."""
    uncited = Uncited(command.digests)
    uncited.take(entry.record for entry in unwritten)
    head = await store.head(session.session_id)
    if head is not None and uncited.left:
        await store.replay(session.session_id, 0, head.seq, uncited.take)
    return ErasureFindings(unknown=tuple(name for name in command.digests if name in uncited.left))
