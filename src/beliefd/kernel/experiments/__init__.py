"""Experiments: plans frozen before the first draw, runs, and the evidence that they mint."""
