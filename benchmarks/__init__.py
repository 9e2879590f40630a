"""Figures side by side with peers, from one run: `python -m benchmarks`, or `make bench`."""
