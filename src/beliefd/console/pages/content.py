"""Evidence, byte for byte, as text that does nothing."""

from typing import Final

from beliefd.console.app import Seen, Visitor
from beliefd.protocol.content import ContentView

SHOWN: Final = 20_000


async def shown(visitor: Visitor) -> Seen:
    about: ContentView = await visitor.asker.ask("show_content", visitor.path)
    file = await visitor.asker.ask("read_content", visitor.path)
    begins = bytes(file.content[:SHOWN])
    values = {
        "about": about,
        "words": begins.decode("utf-8", "replace") if file.is_text else begins[:4_000].hex(" "),
        "is_text": file.is_text,
        "is_cut": len(file.content) > len(begins) or (not file.is_text and len(begins) > 4_000),
    }
    return Seen("content.html", values)
