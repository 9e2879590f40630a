"""Proofs about policies: what no call can get, and what an update lets through, for all calls at once."""
