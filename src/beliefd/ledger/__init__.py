"""One append-only hash chain a session: canonical bytes, sealing, verification, replay, transfer."""
