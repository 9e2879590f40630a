"""Approvals: what waits for a person, who may decide it, and what follows."""
