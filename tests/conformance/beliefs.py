"""The operations of the belief protocol that a story can tell."""

BELIEFS = (
    "declare_session",
    "list_sessions",
    "query_belief",
    "eliminate",
    "enter_obligation",
    "request_exit",
    "declare_conclusion",
    "request_termination",
    "batch",
    "audit_trace",
    "verify",
    "export",
    "import_ledger",
    "merge",
    "why",
    "counterfactual",
)
"""The live feed needs a listener."""
