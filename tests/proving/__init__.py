"""Proofs about policies."""
