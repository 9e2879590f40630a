"""Measurements: receipts that say how an uncertainty was measured, of which words, and from what."""
