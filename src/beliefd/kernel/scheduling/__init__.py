"""Modes that are set, interrupts, and episodes with budgets: when a session may act at all."""
