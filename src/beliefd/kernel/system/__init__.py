"""The server's own ledger: who has tokens, which policy was adopted, what came in from elsewhere."""
