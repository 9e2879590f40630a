"""Calls about sessions that are sealed and put away."""

from typing import Unpack

from beliefd.client.method import Method
from beliefd.client.requests import Conditions, Request, command, query
from beliefd.protocol.archives import ArchiveRows, BroughtBack
from beliefd.protocol.beliefs import ArchivedSession, Recorded


class ArchiveCalls:
    """Sessions that are sealed and put away."""

    @Method
    def seal_session(
        self, session_id: str, reason: str = "", **conditions: Unpack[Conditions]
    ) -> Request[Recorded]:
        """Let nothing more be written into a session."""
        return command(ArchiveRows.seal_session, {"session_id": session_id}, {"reason": reason}, **conditions)

    @Method
    def unseal_session(
        self, session_id: str, reason: str = "", **conditions: Unpack[Conditions]
    ) -> Request[Recorded]:
        """Let a sealed session go on."""
        path = {"session_id": session_id}
        return command(ArchiveRows.unseal_session, path, {"reason": reason}, **conditions)

    @Method
    def archive_session(self, session_id: str, place: str, sha256: str) -> Request[ArchivedSession]:
        """Take a sealed ledger out of the store, whose export is kept at `place` in a file with this hash."""
        body = {"place": place, "sha256": sha256}
        return Request(ArchiveRows.archive_session, {"session_id": session_id}, body=body)

    @Method
    def unarchive_session(
        self, session_id: str, ledger: bytes, *, place: str | None = None
    ) -> Request[BroughtBack]:
        """Put an archived ledger back from its file; `place` says where that was found."""
        path = {"session_id": session_id}
        return Request(ArchiveRows.unarchive_session, path, query(place=place), body=ledger)
