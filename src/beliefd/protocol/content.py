"""Content: the bytes that evidence points to, kept under their SHA-256."""

from typing import Annotated, Final

from msgspec import Meta

from beliefd.kernel.errors import Code
from beliefd.kernel.labels import Bringer
from beliefd.protocol.operation import SPACE, Answer, Operation, Vocabulary, reads

CONTENT: Final = "/v1/content/{sha256}"
Sha256 = Annotated[str, Meta(pattern="^[0-9a-fA-F]{64}$", min_length=64, max_length=64)]
NAMED: Final = {"sha256": Sha256}


class StoredContent(Answer, frozen=True):
    """Where stored bytes are to be found: under their digest."""

    sha256: str
    size: int


class ContentView(Answer, frozen=True):
    """What is known of content. Nobody is known of what was stored before that was written down."""

    sha256: str
    size: int
    touched_at: str
    brought: list[Bringer]


class ContentRows(Vocabulary):
    """The bytes that evidence points to"""

    store_content = Operation(
        method="POST",
        path="/v1/content",
        answer=StoredContent,
        status=201,
        body_media="application/octet-stream",
        content="Evidence, byte for byte",
        errors=(Code.NOT_FOUND, Code.QUOTA_EXCEEDED, Code.CONTENT_ERASED),
        query=(SPACE,),
        summary="Keep evidence content under its SHA-256, so that gates can hash it again",
        example="pg_stat_activity: 163 of 200 connections are idle in transaction\n",
    )
    read_content = reads(
        CONTENT,
        bytes,
        "Content, byte for byte, hashed again on its way out; a file to keep, never a page to show",
        media="application/octet-stream",
        path_kinds=NAMED,
        errors=(Code.CONTENT_NOT_FOUND, Code.CONTENT_DAMAGED, Code.CONTENT_ERASED),
    )
    show_content = reads(
        f"{CONTENT}/about",
        ContentView,
        "How large content is, and who brought it when",
        path_kinds=NAMED,
        errors=(Code.CONTENT_NOT_FOUND, Code.CONTENT_ERASED),
    )
