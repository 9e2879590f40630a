"""The pages of the console, by method and path."""

from beliefd.console.app import Page
from beliefd.console.pages import card, inbox, sessions
from beliefd.console.pages.moving import home

PAGES: dict[tuple[str, str], Page] = {
    ("GET", "/"): home,
    ("GET", "/inbox"): inbox.waiting,
    ("GET", "/inbox/{approval_id}"): card.shown,
    ("POST", "/inbox/{approval_id}"): card.decide,
    ("GET", "/inbox/{approval_id}/whole"): card.whole,
    ("GET", "/inbox/{approval_id}/edit"): card.edit,
    ("POST", "/inbox/{approval_id}/edit"): card.edited,
    ("GET", "/sessions"): sessions.listed,
    ("GET", "/sessions/{session_id}"): sessions.shown,
    ("GET", "/sessions/{session_id}/audit"): sessions.audit,
    ("GET", "/sessions/{session_id}/verified"): sessions.verified,
}
