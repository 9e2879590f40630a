"""Hypotheses and how they fall: survivors, obligations, conclusions, termination (belief-server)."""
