"""The bytes that evidence points to."""

from beliefd.client.method import Method
from beliefd.client.requests import Request, query
from beliefd.protocol.content import ContentRows, ContentView, StoredContent


class ContentCalls:
    """The bytes that evidence points to."""

    @Method
    def store_content(self, content: bytes, *, space: str | None = None) -> Request[StoredContent]:
        """Keep evidence content under its SHA-256."""
        return Request(ContentRows.store_content, query=query(space=space), body=content)

    @Method
    def read_content(self, sha256: str) -> Request[bytes]:
        """Content, byte for byte."""
        return Request(ContentRows.read_content, {"sha256": sha256})

    @Method
    def show_content(self, sha256: str) -> Request[ContentView]:
        """How large content is, and who brought it when."""
        return Request(ContentRows.show_content, {"sha256": sha256})
