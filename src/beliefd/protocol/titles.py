"""What a session is called in lists: nobody recognises an investigation by its id."""

from typing import Any, Final

from beliefd.kernel.state import Session

LONGEST: Final = 160
SHORT: Final = 40


def session_title(session: Session) -> str:
    """`metadata.title`, by whoever opened it; else whose conversation it is; else what is investigated."""
    if said := session.metadata:
        if title := _words(said.get("title"), LONGEST):
            return title
        client, conversation = _words(said.get("client"), SHORT), _words(said.get("conversation"), SHORT)
        if conversation:
            return f"{client} conversation {conversation}".lstrip()
    return _words(session.ontology.hypothesis_space_id, LONGEST)


def _words(value: Any, most: int) -> str:
    """A text on one line, cut; nothing of what is no text."""
    if not isinstance(value, str):
        return ""
    shown = " ".join(value[: 4 * most].split())
    return shown if len(shown) <= most and len(value) <= 4 * most else f"{shown[: most - 1]}…"
