"""Calls about the log: checkpoints, and proofs for outsiders."""

from beliefd.client.method import Method
from beliefd.client.requests import Request, query
from beliefd.protocol.log import CheckpointView, ConsistencyProof, InclusionProof, LogRows, LogView


class LogCalls:
    """One tree over all events of a server, for those who do not trust it."""

    @Method
    def log_state(self) -> Request[LogView]:
        """How long the log is, what is covered, and the keys that sign it."""
        return Request(LogRows.log_state)

    @Method
    def log_checkpoint(self) -> Request[CheckpointView]:
        """The newest signed checkpoint."""
        return Request(LogRows.log_checkpoint)

    @Method
    def log_consistency(self, from_size: int, to_size: int | None = None) -> Request[ConsistencyProof]:
        """A proof that the log has only been added to between two sizes."""
        return Request(LogRows.log_consistency, query=query(**{"from": from_size, "to": to_size}))

    @Method
    def audit_proof(
        self, session_id: str, event_id: str | None = None, *, size: int | None = None
    ) -> Request[InclusionProof]:
        """A proof that an event, and all before it in its session, are in the log."""
        asked = query(event_id=event_id, size=size)
        return Request(LogRows.audit_proof, {"session_id": session_id}, asked)

    @Method
    def sign_checkpoint(self) -> Request[CheckpointView]:
        """Sign a checkpoint over everything that was recorded until now."""
        return Request(LogRows.sign_checkpoint, body={})

    @Method
    def add_cosignatures(self, note: str) -> Request[CheckpointView]:
        """Add the signatures of witnesses under a checkpoint."""
        return Request(LogRows.add_cosignatures, body={"note": note})
