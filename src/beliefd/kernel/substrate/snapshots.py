"""Snapshots of F_sparse: which one a proposal was made on, and what has changed since."""

from beliefd.kernel.state import Session
from beliefd.kernel.substrate.state import GENESIS_SNAPSHOT


def changed_since(session: Session, snapshot_id: str | None) -> frozenset[str] | None:
    """Keys written after the snapshot; None if there never was such a snapshot. No id means: the newest."""
    if snapshot_id is None or snapshot_id == session.substrate.state_snapshot_id:
        return frozenset()
    version = 0 if snapshot_id == GENESIS_SNAPSHOT else session.substrate.snapshots.get(snapshot_id)
    if version is None:
        return None
    return frozenset(key for key in session.substrate.written if session.substrate.written[key] > version)
