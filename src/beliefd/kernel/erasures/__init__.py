"""Erasures: what stands beside the ledger under salted digests, and what people had taken away there."""
