"""Uncertainty that is measured from raw material: sampled answers, token log-probabilities, class scores."""
