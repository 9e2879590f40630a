"""The write path: the only way into a ledger."""
