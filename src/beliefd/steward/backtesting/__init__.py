"""Backtests: what a policy would have decided about what is recorded. Nothing is written."""
