"""The pages of the console, by method and path."""

from beliefd.console.app import Page
from beliefd.console.pages import access, audit, card, content, inbox, policy, propositions, sessions
from beliefd.console.pages.moving import home

SESSION = "/sessions/{session_id}"
PAGES: dict[tuple[str, str], Page] = {
    ("GET", "/"): home,
    ("GET", "/inbox"): inbox.waiting,
    ("POST", "/inbox/seen"): inbox.seen,
    ("GET", "/inbox/{approval_id}"): card.shown,
    ("POST", "/inbox/{approval_id}"): card.decide,
    ("GET", "/inbox/{approval_id}/whole"): card.whole,
    ("GET", "/inbox/{approval_id}/edit"): card.edit,
    ("POST", "/inbox/{approval_id}/edit"): card.edited,
    ("GET", "/sessions"): sessions.listed,
    ("GET", SESSION): sessions.shown,
    ("GET", f"{SESSION}/work"): sessions.work,
    ("GET", f"{SESSION}/what-if"): sessions.what_if,
    ("GET", f"{SESSION}/why/{{hypothesis:path}}"): sessions.why,
    ("GET", f"{SESSION}/calls/{{call_id}}"): sessions.call,
    ("GET", f"{SESSION}/experiments/{{experiment_id}}"): sessions.experiment,
    ("GET", f"{SESSION}/audit"): sessions.audit,
    ("GET", f"{SESSION}/audit/{{seq}}"): sessions.event,
    ("GET", f"{SESSION}/verified"): sessions.verified,
    ("GET", "/propositions"): propositions.listed,
    ("GET", "/propositions/{claim_id}"): propositions.shown,
    ("GET", "/policy"): policy.shown,
    ("POST", "/policy"): policy.tried,
    ("GET", "/audit"): audit.searched,
    ("GET", "/content/{sha256}"): content.shown,
    ("GET", "/access"): access.shown,
    ("POST", "/access"): access.changed,
}
